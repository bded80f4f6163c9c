"""Preparation speed on made-up text with Zipf's word frequencies: lines a second, against bare SentencePiece encoding."""

import argparse
import tempfile
import time
from pathlib import Path

import sentencepiece
from measuring import best, print_result, write_zipf_corpus

from mtkit.config.schema import Config
from mtkit.data.preparation import prepare


def bare_encoding(folder: Path, model: Path) -> float:
    """Pairs a second of nothing but SentencePiece on both sides, without checks, cleaning or files."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    sides = [(folder / f"train.{language}").read_text(encoding="utf-8").split("\n")[:-1] for language in ("en", "de")]
    begin = time.perf_counter()
    for lines in sides:
        for start in range(0, len(lines), 10_000):
            processor.encode(lines[start : start + 10_000])
    return len(sides[0]) / (time.perf_counter() - begin)


def main() -> None:
    """Prints one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_zipf_corpus(folder, options.pairs)
        config = Config.model_validate(
            {
                "data": {
                    "train": {"source": str(folder / "train.en"), "target": str(folder / "train.de")},
                    "validation": {"source": str(folder / "validation.en"), "target": str(folder / "validation.de")},
                    "test": {"hub_split": ""},
                },
                "cleaning": {"max_ratio": 1000.0},
                "vocabulary": {"size": 16_000},
            }
        )
        whole, bare = [], []
        for _ in range(options.rounds):
            begin = time.perf_counter()
            prepare(config, folder / "data", workers=options.workers, overwrite=True)
            whole.append(options.pairs / (time.perf_counter() - begin))
            bare.append(bare_encoding(folder, folder / "data" / "vocabulary.model"))
        print_result(
            "prepare",
            pairs_per_second={"mtkit": round(best(whole)), "bare_encoding": round(best(bare))},
            ratio=round(best(whole) / best(bare), 3),
            pairs=options.pairs,
            workers=options.workers,
        )


if __name__ == "__main__":
    main()
