"""Preparation on made-up text with Zipf's word frequencies: lines a second by stage, growth, memory of all processes.

The text is written first, 100 thousand pairs and as many as asked for (4.5 million are the size of WMT14: 1.4 GB, and
half an hour on two cores). Then `mtkit prepare` runs on both as a user would run it, and bare SentencePiece encodes the
same lines with the same vocabulary on as many processes.
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
from dataclasses import dataclass
from pathlib import Path

import sentencepiece
from measuring import fail, print_result, write_zipf_corpus

SMALL = 100_000
BARE = 200_000
"""Pairs that bare SentencePiece encodes, at most."""


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
    rates = re.findall(r"^(cleaning|encoding) train: [\d,]+ lines, ([\d,]+) lines/s$", told, flags=re.MULTILINE)
    return Measured(
        seconds, cpu_of_children() - cpu, {stage: int(rate.replace(",", "")) for stage, rate in rates}, round(peak[0], 1)
    )


def bare_share(model: str, files: tuple[str, str], first: int, count: int) -> float:
    """Seconds that SentencePiece alone takes for both sides of `count` pairs from line `first` on."""
    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    sides = []
    for file in files:
        with Path(file).open(encoding="utf-8", newline="\n") as stream:
            sides.append([line.rstrip("\n") for number, line in enumerate(stream) if first <= number < first + count])
    begin = time.perf_counter()
    for lines in sides:
        for start in range(0, count, 10_000):
            processor.encode(lines[start : start + 10_000])
    return time.perf_counter() - begin


def bare_rate(folder: Path, workers: int, pairs: int) -> float:
    """Pairs a second of nothing but SentencePiece on `workers` processes, without checks, cleaning or files."""
    count = min(pairs, BARE) // workers
    files = (str(folder / "train.en"), str(folder / "train.de"))
    model = str(folder / "data" / "vocabulary.model")
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        seconds = pool.starmap(bare_share, [(model, files, number * count, count) for number in range(workers)])
    return workers * count / max(seconds)


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
        bare = bare_rate(folder, options.workers, options.pairs)
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
            lines_per_second=large.stages | {"bare_encoding": round(bare)},
            encoding_ratio=round(large.stages["encoding"] / bare, 3),
            all_processes_mb=large.peak_mb,
            all_processes_mb_small=small.peak_mb,
        )


if __name__ == "__main__":
    main()
