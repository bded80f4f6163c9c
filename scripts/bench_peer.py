"""Training speed against a peer from PyPI: `mtkit train` and `eole train` on the same tokens, in turns, on the CPU.

Both run as commands with the same number of threads, which wait without spinning (OMP_WAIT_POLICY=PASSIVE: the cores may be
shared). The vocabulary is mtkit's; eole reads its pieces and the same pairs, segmented. Speeds are real target tokens a
second, end token included and padding not, without start-up, validation and checkpoints. `mtkit` is the paper's model,
`mtkit_like_eole` the one that eole has (DIFFERENCES says what is left). The target tokens of eole's batches vary by 16 % of
their mean, so its rate over 24 updates is good to 3 %.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
import yaml
from measuring import Speed, best, print_result, run, write_zipf_corpus
from peer_eole import DIFFERENCES, PEER, PRECISIONS, WINDOW, eole_speed, peer_python, peer_versions, write_for_peer

from mtkit.data.folder import PreparedData
from mtkit.support.lines import raw_lines

HELD_BACK = 200  # lines of a given text that validate
SIZES: dict[str, dict[str, int | float]] = {
    "tiny": {"d_model": 128, "d_ff": 256, "heads": 4, "encoder_layers": 4, "decoder_layers": 4, "dropout": 0.3},
    "base": {"d_model": 512, "d_ff": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "dropout": 0.1},
}
TOKENS = {"tiny": 4096, "base": 2048}  # padded, of an update on each side


def usable_precisions() -> list[str]:
    """All, or without bfloat16 where torch has no fast products for it on this CPU: they take 10 to 100 times as long."""
    return list(PRECISIONS) if torch.ops.mkldnn._is_mkldnn_bf16_supported() else ["float32"]


def write_corpus(folder: Path, source: Path | None, target: Path | None) -> None:
    """train and validation of both languages: of the given text, or made up with as many pairs and words as Multi30k."""
    if source is None or target is None:
        write_zipf_corpus(folder, pairs=29_000, words_a_line=12, alike=True)
        return
    for path, language in ((source, "en"), (target, "de")):
        lines = [line + b"\n" for line in raw_lines(path)]
        (folder / f"train.{language}").write_bytes(b"".join(lines[:-HELD_BACK]))
        (folder / f"validation.{language}").write_bytes(b"".join(lines[-HELD_BACK:]))


def mtkit_config(folder: Path, updates: int) -> Path:
    """The file with the config of `mtkit prepare`, and what all of mtkit's runs share."""
    splits = ("train", "validation")
    text = {split: {"source": str(folder / f"{split}.en"), "target": str(folder / f"{split}.de")} for split in splits}
    never = {"validation": {"interval": 10**6, "bleu": False}, "checkpoints": {"interval": 10**6}}
    config = {
        "data": {**text, "test": {"hub_split": ""}, "folder": str(folder / "data")},
        "cleaning": {"max_ratio": 1000.0},
        "vocabulary": {"size": 10_000, "soft_limit": True},
        "training": {"updates": updates + WINDOW, "log_interval": WINDOW, "label_smoothing": 0.1, **never},
    }
    path = folder / "mtkit.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def mtkit_speed(config: Path, model: Mapping[str, object], tokens: int, precision: str, threads: int) -> Speed:
    """One run of `mtkit train`."""
    settings = {f"model.{name}": value for name, value in model.items()}
    settings |= {"training.update_tokens": tokens, "training.micro_batch_tokens": tokens, "training.precision": precision}
    overrides = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    with tempfile.TemporaryDirectory(dir=config.parent) as runs:
        place = Path(runs) / "run"
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "mtkit",
            "train",
            "--config",
            config,
            "--run",
            place,
            "--device",
            "cpu",
        ]
        run("mtkit train", [*command, *overrides], threads)
        records = [json.loads(line) for line in (place / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steady = [record for record in records if "target_tokens" in record][1:]
    return Speed(sum(record["target_tokens"] for record in steady), sum(record["seconds"] for record in steady))


def measured(python: Path, data: PreparedData, size: str, precision: str, options: argparse.Namespace) -> dict[str, object]:
    """The best rates of all three, in turns, and their ratios."""
    model, tokens, config = SIZES[size], TOKENS[size], data.folder.parent / "mtkit.yaml"
    like_eole = {**model, "norm_placement": "pre", "feedforward_dropout": model["dropout"]}
    speeds: dict[str, list[Speed]] = {"eole": [], "mtkit": [], "mtkit_like_eole": []}
    for _ in range(options.rounds):
        speeds["eole"].append(eole_speed(python, data, model, tokens, precision, options.updates, options.threads))
        speeds["mtkit"].append(mtkit_speed(config, model, tokens, precision, options.threads))
        speeds["mtkit_like_eole"].append(mtkit_speed(config, like_eole, tokens, precision, options.threads))
    fastest = {name: best(speed.target_tokens / speed.seconds for speed in found) for name, found in speeds.items()}
    return {
        "target_tokens_per_second": {name: round(rate) for name, rate in fastest.items()},
        "ratio": round(fastest["mtkit"] / fastest["eole"], 3),
        "ratio_like_eole": round(fastest["mtkit_like_eole"] / fastest["eole"], 3),
        "target_tokens_per_update": {name: found[0].target_tokens // options.updates for name, found in speeds.items()},
        "padded_tokens_per_update": tokens,
        "threads": options.threads,
        "load_average": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Prints a JSON line about the peer, and one for each size and precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, help="English text, plain or .gz; without --source and --target: made up")
    parser.add_argument("--target", type=Path, help="German text, line by line")
    parser.add_argument("--folder", type=Path, default=Path("build/peer"), help="where the peer's environment is made, once")
    parser.add_argument("--peer-python", type=Path, help="an interpreter that has the peer, instead")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, help="default: both, or what this CPU can do")
    parser.add_argument(
        "--updates", type=int, default=24, help=f"measured updates of a run, rounded up to a multiple of {WINDOW}"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if (options.source is None) != (options.target is None):
        parser.error("give both --source and --target, or neither")
    for path in (options.source, options.target, options.peer_python):
        if path is not None and not path.is_file():
            parser.error(f"{path}: no such file")
    options.updates = -(-options.updates // WINDOW) * WINDOW
    options.precisions = options.precisions or usable_precisions()
    options.folder.mkdir(parents=True, exist_ok=True)
    python = options.peer_python or peer_python(options.folder.resolve())
    print_result(
        "train peer",
        torch=torch.__version__,
        peer=peer_versions(python),
        precisions=options.precisions,
        OMP_WAIT_POLICY="PASSIVE",
        differences=DIFFERENCES,
    )
    with tempfile.TemporaryDirectory(dir=options.folder.resolve()) as name:
        folder = Path(name)
        write_corpus(folder, options.source, options.target)
        config = mtkit_config(folder, options.updates)
        run("mtkit prepare", [sys.executable, "-m", "mtkit", "prepare", "--config", config], options.threads)
        data = PreparedData.open(folder / "data")
        write_for_peer(data, folder)
        for size in options.sizes:
            for precision in options.precisions:
                print_result(f"train {size} {precision} against {PEER}", **measured(python, data, size, precision, options))


if __name__ == "__main__":
    main()
