"""Write the demo corpus: generated English-German sentence pairs in three splits.

    python scripts/demo_corpus --output DIR [--seed N]

In: a seed. Out: DIR/train, validation and test, each with an .en and a .de file, one sentence a line, UTF-8, LF. The corpus
is generated from the lexicon and the patterns in this folder: it contains no text that anybody wrote as a translation.
"""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from splits import build_corpus


def main() -> int:
    parser = argparse.ArgumentParser(prog="demo_corpus", description="Write a generated English-German corpus.")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder to write the six files to")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another seed, another corpus (default 1)")
    arguments = parser.parse_args()
    corpus = build_corpus(arguments.seed)
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
        for split in ("train", "validation", "test"):
            pairs = getattr(corpus, split)
            _write_lines(arguments.output / f"{split}.en", (pair.english for pair in pairs))
            _write_lines(arguments.output / f"{split}.de", (pair.german for pair in pairs))
            print(f"{split}: {len(pairs)} pairs", file=sys.stderr)
    except OSError as error:
        print(f"Error: cannot write to {arguments.output}: {error.strerror}; choose another --output", file=sys.stderr)
        return 2
    return 0


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """The whole file or none: written beside its name, then renamed."""
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


if __name__ == "__main__":
    sys.exit(main())
