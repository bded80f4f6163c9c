"""Preparation on made-up text with Zipf's word frequencies: lines a second by stage, growth, memory of all processes.

The text is written first, 100 thousand pairs and as many as asked for (4.5 million are the size of WMT14: 1.4 GB, and
half an hour on two cores). Then `mtkit prepare` runs on both as a user would run it. At last its second pass and bare
SentencePiece encode the same lines with the same vocabulary on as many processes, in turn.
"""

import argparse
import multiprocessing
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import sentencepiece
from measuring import fail, print_result, write_zipf_corpus

from mtkit.config.loader import load_config
from mtkit.data import stages
from mtkit.data.corpus import open_corpora
from mtkit.data.duplicates import HeldOut
from mtkit.data.splits import Split
from mtkit.data.vocabularies import Vocabularies

SMALL = 100_000
COMPARED = 200_000
"""Pairs that mtkit's second pass and bare SentencePiece both encode, at most."""

ROUNDS = 3

SIDES = ("source", "target")


@dataclass(frozen=True)
class Measured:
    """One run of `mtkit prepare`."""

    seconds: float
    cpu_seconds: float  # of all processes: what other work on the machine hardly changes
    stages: dict[str, int]  # lines a second, as mtkit tells
    peak_mb: float  # of all processes together: what each has alone, and its share of what they share


def tree_memory(pid: int) -> float:
    """Megabytes of a process and all that it started (proportional set size)."""
    total = 0.0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1e3
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        children = [child for file in threads for child in file.read_text().split()] or children
    except OSError:  # it has just ended
        return total
    return total + sum(tree_memory(int(child)) for child in children)


@dataclass(frozen=True)
class Span:
    """How long something took."""

    seconds: float
    cpu_seconds: float  # of this process and all its children

    @classmethod
    def of(cls, work: Callable[[], object]) -> "Span":
        """That of a call."""
        begin, cpu = time.perf_counter(), time.process_time() + cpu_of_children()
        work()
        return cls(time.perf_counter() - begin, time.process_time() + cpu_of_children() - cpu)


def fastest(rounds: Sequence[Span]) -> Span:
    """The least of each: what disturbs a measurement only ever slows it."""
    return Span(min(one.seconds for one in rounds), min(one.cpu_seconds for one in rounds))


def cpu_of_children() -> float:
    """Seconds of all child processes that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def prepare(folder: Path, workers: int) -> Measured:
    """Runs the command on the text in `folder`."""
    config = folder / "bench.yaml"
    config.write_text(
        f"data:\n  train: {{source: {folder}/train.en, target: {folder}/train.de}}\n"
        f"  validation: {{source: {folder}/validation.en, target: {folder}/validation.de}}\n"
        "  test: {hub_split: ''}\ncleaning: {max_ratio: 1000.0}\nvocabulary: {size: 37000, soft_limit: true}\n"
    )
    command = [sys.executable, "-m", "mtkit", "prepare", "--config", str(config), "--output", str(folder / "data")]
    command += ["--workers", str(workers), "--overwrite"]
    begin, cpu = time.perf_counter(), cpu_of_children()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    peak = [0.0]

    def watch() -> None:
        while process.poll() is None:
            peak[0] = max(peak[0], tree_memory(process.pid))
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert process.stderr is not None
    told = process.stderr.read()
    watcher.join()
    seconds = time.perf_counter() - begin
    if process.returncode:
        fail(f"mtkit prepare failed with exit code {process.returncode}", told)
    rates = re.findall(r"^(cleaning|encoding) train: [\d,]+ lines, ([\d,.]+) lines/s$", told, flags=re.MULTILINE)
    return Measured(
        seconds,
        cpu_of_children() - cpu,
        {stage: round(float(rate.replace(",", ""))) for stage, rate in rates},
        round(peak[0], 1),
    )


def encoding_spans(folder: Path, workers: int, pairs: int) -> tuple[Span, Span]:
    """Of mtkit's second pass, and of nothing but SentencePiece, over the same cleaned lines.

    Both with `workers` processes, their start included; in turn, so that other work on the machine disturbs both.
    """
    config = load_config(str(folder / "bench.yaml"), [f"data.train.{side}={folder}/head.{side}" for side in SIDES])
    for side, language in zip(SIDES, ("en", "de"), strict=True):
        with (folder / f"train.{language}").open("rb") as text, (folder / f"head.{side}").open("wb") as head:
            head.writelines(islice(text, min(pairs, COMPARED)))
    corpus = open_corpora(config.data)["train"]
    vocabularies = Vocabularies.load(folder / "data", shared=True)
    work = folder / "work"
    work.mkdir()

    def split() -> Split:
        return Split(config, corpus, work, work / "work", HeldOut())

    (work / "work").mkdir()
    stages.PAUSE, pause = 0.0, stages.PAUSE  # so that what is cleaned is kept
    split().clean((), workers)
    stages.PAUSE = pause
    cleaned = work / "work" / "train.en", work / "work" / "train.de"
    ours, bare = [], []
    for _ in range(ROUNDS):
        for commit in (work / "work").glob("encoding*"):
            commit.unlink()
        fresh = split()
        ours.append(Span.of(partial(fresh.encode, vocabularies, workers)))
        model = folder / "data" / "vocabulary.model"
        bare.append(Span.of(partial(bare_encoding, model, cleaned, len(corpus), workers)))
    return fastest(ours), fastest(bare)


def bare_share(model: Path, files: Sequence[Path], first: int, count: int) -> None:
    """SentencePiece alone encodes both sides of `count` pairs from line `first` on."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as stream:
            lines = (line.rstrip("\n") for line in islice(stream, first, first + count))
            while chunk := list(islice(lines, 10_000)):
                processor.encode(chunk)


def bare_encoding(model: Path, files: Sequence[Path], pairs: int, workers: int) -> None:
    """The same by `workers` processes, each its share, without checks, cleaning or files to write."""
    shares = [(model, files, pairs * number // workers, -(-pairs // workers)) for number in range(workers)]
    if workers == 1:
        bare_share(*shares[0])
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.starmap(bare_share, shares)


def main() -> None:
    """Prints one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=SMALL)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--words", type=int, default=1_000_000, help="different words that the text is made of, at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measured: dict[int, Measured] = {}
        for pairs in sorted({min(SMALL, options.pairs), options.pairs}):
            folder = Path(name) / str(pairs)
            print(f"writing {pairs:,} pairs", file=sys.stderr)
            write_zipf_corpus(folder, pairs, words=options.words)
            print(f"preparing {pairs:,} pairs", file=sys.stderr)
            measured[pairs] = prepare(folder, options.workers)
        large, small = measured[options.pairs], measured[min(measured)]
        print("encoding with and without mtkit", file=sys.stderr)
        ours, bare = encoding_spans(folder, options.workers, options.pairs)
        compared = min(options.pairs, COMPARED)
        growth = (large.cpu_seconds / small.cpu_seconds) / (options.pairs / min(measured))
        print_result(
            "prepare",
            pairs=options.pairs,
            workers=options.workers,
            seconds=round(large.seconds, 1),
            seconds_small=round(small.seconds, 1),
            cpu_seconds=round(large.cpu_seconds, 1),
            cpu_seconds_small=round(small.cpu_seconds, 1),
            cpu_time_against_linear_growth=round(growth, 3),
            lines_per_second=large.stages,
            compared_lines_per_second={"encoding": round(compared / ours.seconds), "bare": round(compared / bare.seconds)},
            encoding_ratio=round(bare.seconds / ours.seconds, 3),
            encoding_cpu_ratio=round(bare.cpu_seconds / ours.cpu_seconds, 3),
            all_processes_mb=large.peak_mb,
            all_processes_mb_small=small.peak_mb,
        )


if __name__ == "__main__":
    main()
