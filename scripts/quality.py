"""Quality of what the trainer makes: recipes trained with several seeds, held against the last recording of the same.

    python scripts/quality.py [--recipe demo multi30k] [--seeds 1 2 3] [--set training.updates=200 …] [--record]

Each recipe is prepared, trained once a seed and evaluated with mtkit's own commands. The table tells mean and standard
deviation over the seeds, the difference from the last recording, its p-value (Welch's t-test, two-sided) and how large a
difference so many seeds can show at all. --record adds a line a recipe to scripts/quality.jsonl, which belongs into the
commit that changes the trainer. Only recordings with the same options and test text are compared. What was interrupted goes
on where it stopped, but only with the very same sources: --folder is one of its own for each state of them.
"""

import argparse
import hashlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".jsonl")
METRICS = ("bleu", "chrf")
LEVEL = 0.05

DRAWS = 400_000
"""Of Student's t, from which p-values are read: their error is below 0.001."""


@dataclass(frozen=True)
class Measurement:
    """A recipe trained with several seeds. What must be equal for two to be compared is in `kind`."""

    recipe: str
    options: tuple[str, ...]  # --set
    test: Mapping[str, str]  # fingerprints of the test text
    signatures: Mapping[str, str]  # by metric, with test set and line count
    scores: Mapping[str, tuple[float, ...]]  # by metric, of each seed
    seeds: tuple[int, ...]
    seconds: tuple[float, ...]  # of training, of each seed; of a run that was resumed, the rest
    date: str
    commit: str | None
    machine: str

    @property
    def kind(self) -> str:
        """Equal for measurements of the same thing."""
        return json.dumps([self.recipe, sorted(self.options), dict(self.test), dict(self.signatures)], sort_keys=True)


def welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Two-sided p-value of samples with the same mean (Welch 1947), and the difference of means that p = LEVEL needs."""
    errors = [statistics.variance(sample) / len(sample) for sample in (one, other)]
    difference, error = abs(statistics.mean(one) - statistics.mean(other)), math.sqrt(sum(errors))
    if error == 0:
        return (0.0 if difference else 1.0), 0.0
    freedom = sum(errors) ** 2 / sum(each**2 / (len(s) - 1) for each, s in zip(errors, (one, other), strict=True))
    draws = np.abs(np.random.default_rng(1).standard_t(freedom, DRAWS))
    return float(np.mean(draws >= difference / error)), float(np.quantile(draws, 1 - LEVEL)) * error


def last_recorded(path: Path, kind: str) -> Measurement | None:
    """The newest recording of that kind; None if there is none. Ends the program if a line is damaged."""
    found = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
        try:
            fields = json.loads(line)
            for name in ("options", "seeds", "seconds"):
                fields[name] = tuple(fields[name])
            measurement = Measurement(**fields | {"scores": {name: tuple(v) for name, v in fields["scores"].items()}})
        except (ValueError, TypeError, KeyError):
            sys.exit(f"Error: {path}:{number}: not a recording: mend or delete the line")
        found = measurement if measurement.kind == kind else found
    return found


def table(now: Sequence[Measurement], before: Sequence[Measurement | None]) -> str:
    """A row for each recipe and metric."""
    head = ("recipe", "metric", "seeds", "mean", "deviation", "recorded", "difference", "p", "shows from", "")
    rows: list[tuple[str, ...]] = [head]
    for one, last in zip(now, before, strict=True):
        for metric, scores in one.scores.items():
            deviation = f"{statistics.stdev(scores):.2f}" if len(scores) > 1 else "–"
            row = [one.recipe, metric, str(len(scores)), f"{statistics.mean(scores):.2f}", deviation]
            if last is None:
                rows.append((*row, "none", "", "", "", "nothing to compare with"))
                continue
            recorded = last.scores[metric]
            difference = statistics.mean(scores) - statistics.mean(recorded)
            row += [f"{statistics.mean(recorded):.2f}", f"{difference:+.2f}"]
            if min(len(scores), len(recorded)) < 2:
                rows.append((*row, "", "", "one seed shows nothing"))
                continue
            p, needed = welch(scores, recorded)
            verdict = "not significant" if p >= LEVEL else "better" if difference > 0 else "WORSE"
            rows.append((*row, f"{p:.3f}", f"{needed:.2f}", verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def mtkit(*arguments: str | Path) -> str:
    """stdout of the command; stderr is passed on. Ends the program if the command fails."""
    command = [sys.executable, "-m", "mtkit", *map(str, arguments)]
    print("$ mtkit", *arguments, file=sys.stderr, flush=True)
    settings = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ | settings, check=False)
    if done.returncode:
        sys.exit(f"Error: mtkit {arguments[0]} failed with exit code {done.returncode}")
    return done.stdout


def prepared(recipe: str, folder: Path, files: Sequence[str]) -> Path:
    """The prepared data of the recipe, made if it is not there."""
    data = folder / f"{recipe}-data"
    if not (data / "report.json").exists():
        if recipe == "demo":
            subprocess.run([sys.executable, ROOT / "scripts" / "demo_corpus", "--output", "data/demo-corpus"], check=True)
        mtkit("prepare", "--config", f"{recipe}.yaml", "--output", data, *files)
    return data


def measure(recipe: str, seeds: Sequence[int], options: Sequence[str], folder: Path, files: Sequence[str]) -> Measurement:
    """Trains and evaluates the recipe with each seed."""
    data = prepared(recipe, folder, files)
    chosen = [part for option in options for part in ("--set", option)]
    scores: dict[str, list[float]] = {metric: [] for metric in METRICS}
    seconds, signatures, test = [], {}, {}
    for seed in seeds:
        run = folder / f"{recipe}-seed-{seed}"
        if (run / "provenance.json").exists():
            check_origin(run)
        begin = time.monotonic()
        again = ["--resume"] if run.exists() else []
        settings = ["--set", f"training.seed={seed}", *chosen]
        mtkit("train", "--config", f"{recipe}.yaml", "--data", data, "--run", run, *settings, *again)
        seconds.append(round(time.monotonic() - begin, 1))
        wanted = f"evaluation.metrics=[{', '.join(METRICS)}]"
        told = mtkit("evaluate", "--model", run, "--format", "json", "--set", wanted, "--set", "evaluation.resamples=0")
        for score in json.loads(told)["systems"][0]["scores"]:
            scores[score["metric"]].append(score["value"])
            signatures[score["metric"]] = f"{score['signature']} | {score['test_set']}, {score['sentences']} lines"
        test = json.loads((run / "provenance.json").read_text(encoding="utf-8"))["test"]
    return Measurement(
        recipe=recipe,
        options=tuple(options),
        test=test,
        signatures=signatures,
        scores={metric: tuple(values) for metric, values in scores.items()},
        seeds=tuple(seeds),
        seconds=tuple(seconds),
        date=time.strftime("%Y-%m-%d"),
        commit=commit(),
        machine=f"{platform.machine()}, {os.cpu_count()} cores",
    )


def own_folder() -> Path:
    """Where data and runs of the sources as they stand are kept: another trainer must never take them for its own."""
    done = subprocess.run(["git", "diff", "HEAD", "--", "mtkit", "scripts"], cwd=ROOT, capture_output=True, check=False)
    changes = f"-{hashlib.sha256(done.stdout).hexdigest()[:8]}" if done.stdout else ""
    return Path("runs/quality") / f"{(commit() or 'unknown').rstrip('+')}{changes}"


def check_origin(run: Path) -> None:
    """Ends the program if the run was trained by other sources than those checked out."""
    trained = json.loads((run / "provenance.json").read_text(encoding="utf-8")).get("commit")
    now = (commit() or "").rstrip("+")
    if trained and now and not trained.startswith(now):
        sys.exit(f"Error: {run} was trained at commit {trained[:12]}, now is {now}: delete it or name another --folder")


def commit() -> str | None:
    """The commit that is checked out, with a + if files differ from it; None where there is none."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None


def main() -> None:
    """Prints the table; progress goes to stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", nargs="+", default=["demo", "multi30k"], metavar="NAME", help="shipped configs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument("--set", action="append", default=[], dest="options", metavar="OPTION=VALUE", help="for train")
    parser.add_argument("--folder", type=Path, default=own_folder(), help="where data and runs are kept (%(default)s)")
    parser.add_argument("--multi30k", type=Path, metavar="FOLDER", help="its files (data/task1/raw), instead of the hub")
    parser.add_argument("--record", action="store_true", help=f"add the measurement to {RECORD.name}")
    arguments = parser.parse_args()
    if len(set(arguments.seeds)) < len(arguments.seeds):
        sys.exit("Error: --seeds: a seed that comes twice tells nothing new")
    now, before = [], []
    for recipe in arguments.recipe:
        files = []
        if recipe == "multi30k" and arguments.multi30k:
            for split, name in (("train", "train"), ("validation", "val"), ("test", "test_2016_flickr")):
                for side, language in (("source", "en"), ("target", "de")):
                    files += ["--set", f"data.{split}.{side}={arguments.multi30k / name}.{language}.gz"]
        now.append(measure(recipe, arguments.seeds, arguments.options, arguments.folder, files))
        before.append(last_recorded(RECORD, now[-1].kind))
        if arguments.record:
            with RECORD.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(now[-1])) + "\n")
    print(table(now, before))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted: the same command goes on with the runs that are in --folder", file=sys.stderr)
        sys.exit(130)
