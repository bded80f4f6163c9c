"""What the benchmarks share: a corpus of made-up words, commands that are measured, peak memory, one JSON line on stdout."""

import json
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
LETTERS = "enisratdhulcgmobwfkzpv"


def zipf_words(count: int, random: np.random.Generator) -> list[str]:
    """`count` words of 2 to 11 letters, as likely to be short as in a text."""
    lengths = random.integers(2, 12, size=count)
    letters = "".join(np.array(list(LETTERS))[random.integers(0, len(LETTERS), size=lengths.sum())])
    ends = np.cumsum(lengths).tolist()
    return [letters[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def write_zipf_corpus(
    folder: Path, pairs: int, words_a_line: int = 25, seed: int = 1, alike: bool = False, words: int = 50_000
) -> None:
    """train.en and train.de with `pairs` lines of words whose frequencies follow Zipf's law, and 200 for validation.

    The two sides of a pair have lengths of their own or, if `alike`, the same one: a translation's is like its source's.
    `words` is how many different ones there are at most. Takes little memory, whatever the number of pairs.
    """
    random = np.random.default_rng(seed)
    vocabulary = zipf_words(words, random)
    folder.mkdir(parents=True, exist_ok=True)
    for split, lines in (("train", pairs), ("validation", 200)):
        with (folder / f"{split}.en").open("w") as source, (folder / f"{split}.de").open("w") as target:
            for start in range(0, lines, 50_000):
                count = min(50_000, lines - start)
                lengths = random.poisson(words_a_line, size=count).clip(1, 100)
                _write_lines(source, vocabulary, lengths, random)
                if not alike:
                    lengths = random.poisson(words_a_line, size=count).clip(1, 100)
                _write_lines(target, vocabulary, lengths, random)


def _write_lines(stream: TextIO, vocabulary: Sequence[str], lengths: NDArray[np.int64], random: np.random.Generator) -> None:
    """A line with each of these numbers of words."""
    drawn = iter(map(vocabulary.__getitem__, (random.zipf(1.3, size=lengths.sum()) % len(vocabulary)).tolist()))
    stream.writelines(" ".join(islice(drawn, length)) + "\n" for length in lengths.tolist())


@dataclass(frozen=True)
class Speed:
    """What a training run did after its start-up."""

    target_tokens: int
    seconds: float


def fail(cause: str, log: str = "") -> NoReturn:
    """The end of the log and the cause on stderr; exit code 1."""
    sys.exit("\n".join([*(f"  | {line}" for line in log.splitlines()[-20:]), f"Error: {cause}"]))


def run(name: str, command: Sequence[str | Path], threads: int = 1) -> str:
    """All that the command printed, with so many threads, on the CPU. Ends the benchmark if the command fails.

    Threads wait without spinning (OMP_WAIT_POLICY=PASSIVE): the cores may be shared.
    """
    settings = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
    print(f"{name} …", file=sys.stderr)
    environment, pipe = {**os.environ, **settings}, subprocess.PIPE
    try:
        done = subprocess.run(command, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        fail(f"{name} cannot be started: {error}")
    if done.returncode:
        fail(f"{name} failed with exit code {done.returncode}", done.stdout)
    return done.stdout


def peer_environment(folder: Path, peer: str, *more: str) -> Path:
    """The interpreter of an environment with `peer` (and `more`) and mtkit's torch, made in `folder` if it is not there."""
    place = folder / f"venv-{peer}"
    python, ready = place / "bin" / "python", place / "ready"
    if not ready.exists():
        pin = re.search(r"^torch==\S+", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
        assert pin, "constraints.txt pins torch"
        run("making the peer's environment", [sys.executable, "-m", "venv", "--clear", place])
        install: list[str | Path] = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
        run(f"installing {peer}", [*install, peer, pin[0], *more])
        ready.touch()
    return python


def peak_memory_mb() -> float:
    """Largest resident size of this process so far, and of its largest child, in MB."""
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return round(max(own, children) / unit, 1)


def print_result(bench: str, **figures: object) -> None:
    """One line for the reader and for the next tool."""
    machine = {"machine": platform.machine(), "python": platform.python_version()}
    print(json.dumps({"bench": bench, **figures, "peak_memory_mb": peak_memory_mb(), **machine}), flush=True)


def best(rates: Iterable[float]) -> float:
    """The fastest of several rounds: what disturbs a measurement only ever slows it."""
    return max(rates)
