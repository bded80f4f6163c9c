"""The bench of quality: what it says of two samples of seeds, what it compares, and that it reads what it has written."""

import json
import math
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import quality

MEASUREMENT = quality.Measurement(
    recipe="demo",
    options=("training.updates=40",),
    test={"source_sha256": "ab", "target_sha256": "cd"},
    signatures={"bleu": "nrefs:1|version:2.6.0 | test of demo, 500 lines"},
    scores={"bleu": (90.0, 91.0, 92.0)},
    seeds=(1, 2, 3),
    seconds=(1.0, 1.0, 1.0),
    date="2026-01-01",
    commit="0123456789ab",
    machine="x86_64, 2 cores",
)


def with_scores(*values: float) -> quality.Measurement:
    return replace(MEASUREMENT, scores={"bleu": values})


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        # With equal variances and 3 + 3 seeds there are 4 degrees of freedom, for which Student's t has a closed form:
        # p = 1 - u (3 - u^2) / 2 with u = t / sqrt(t^2 + 4).
        ((90.0, 91.0, 92.0), (90.0, 91.0, 92.0), 1.0),
        ((90.0, 91.0, 92.0), (91.0, 92.0, 93.0), 0.2879),
        ((90.0, 91.0, 92.0), (93.0, 94.0, 95.0), 0.0213),
        ((5.0, 5.0, 5.0), (5.0, 5.0, 5.0), 1.0),
        ((5.0, 5.0, 5.0), (6.0, 6.0, 6.0), 0.0),
    ],
)
def test_p_values(one: tuple[float, ...], other: tuple[float, ...], p: float) -> None:
    found, _ = quality.welch(one, other)
    assert found == pytest.approx(p, abs=0.002)
    assert quality.welch(other, one)[0] == found
    t = abs(sum(one) - sum(other)) / 3 / math.sqrt(2 / 3)
    u = t / math.sqrt(t * t + 4)
    if one[0] != one[1]:
        assert found == pytest.approx(1 - u * (3 - u * u) / 2, abs=0.002)


def test_what_so_many_seeds_can_show() -> None:
    _, needed = quality.welch((90.0, 91.0, 92.0), (90.0, 91.0, 92.0))
    assert needed == pytest.approx(2.776 * math.sqrt(2 / 3), abs=0.02)  # the 97.5 % quantile of t with 4 degrees
    shifted = tuple(value + needed for value in (90.0, 91.0, 92.0))
    assert quality.welch((90.0, 91.0, 92.0), shifted)[0] == pytest.approx(0.05, abs=0.001)


def test_the_table() -> None:
    before = with_scores(80.0, 81.0, 82.0)
    head, better, worse, same, new, single = quality.table(
        [MEASUREMENT, with_scores(70.0, 71.0, 72.0), before, MEASUREMENT, with_scores(90.0)],
        [before, before, before, None, before],
    ).splitlines()
    assert head.split() == ["recipe", "metric", "seeds", "mean", "deviation", "recorded", "difference", "p", "shows", "from"]
    assert better.split() == ["demo", "bleu", "3", "91.00", "1.00", "81.00", "+10.00", "0.000", "2.27", "better"]
    assert worse.split()[6:] == ["-10.00", "0.000", "2.27", "WORSE"]
    assert same.endswith("+0.00       1.000  2.27        not significant")
    assert new.endswith("nothing to compare with")
    assert single.endswith("one seed shows nothing")


def test_only_the_same_is_compared_and_the_newest_counts(tmp_path: Path) -> None:
    path = tmp_path / "quality.jsonl"
    assert quality.last_recorded(path, MEASUREMENT.kind) is None
    others = [
        replace(MEASUREMENT, options=()),
        replace(MEASUREMENT, recipe="multi30k"),
        replace(MEASUREMENT, test={"source_sha256": "ef"}),
        replace(MEASUREMENT, signatures={"bleu": "nrefs:1|version:3.0"}),
    ]
    newest = with_scores(1.0, 2.0, 3.0)
    lines = [json.dumps(asdict(one)) + "\n" for one in (MEASUREMENT, newest, *others)]
    path.write_text("".join(lines))
    found = quality.last_recorded(path, MEASUREMENT.kind)
    assert found == newest  # machine, date and commit do not matter
    assert quality.last_recorded(path, replace(MEASUREMENT, machine="other", date="", commit=None).kind) == newest


@pytest.mark.parametrize("line", ["{", "[]", '{"recipe": "demo"}', "3"])
def test_a_damaged_recording_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "quality.jsonl"
    path.write_text(json.dumps(asdict(MEASUREMENT)) + "\n" + line + "\n")
    with pytest.raises(SystemExit, match=r"quality\.jsonl:2: not a recording"):
        quality.last_recorded(path, MEASUREMENT.kind)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_no_trainer_takes_the_runs_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "ROOT", tmp_path)
    trainer = tmp_path / "mtkit" / "trainer.py"
    trainer.parent.mkdir()
    git(tmp_path, "init", "--quiet")
    folders: list[Path] = []
    commits: list[str] = []
    for content in ("one", "two"):
        trainer.write_text(content)
        if folders:
            folders.append(quality.own_folder())  # changed, not committed
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "--message", content)
        folders.append(quality.own_folder())
        commits.append(str(quality.commit()))
        assert quality.own_folder() == folders[-1]
    assert len(set(folders)) == 3
    run = tmp_path / "run"
    run.mkdir()
    (run / "provenance.json").write_text(json.dumps({"commit": commits[1]}))
    quality.check_origin(run)
    (run / "provenance.json").write_text(json.dumps({"commit": commits[0]}))
    with pytest.raises(SystemExit, match=rf"run was trained at commit {commits[0]}, now is {commits[1]}: delete it"):
        quality.check_origin(run)


def test_what_is_recorded_in_the_repository_can_be_read() -> None:
    quality.last_recorded(quality.RECORD, "")
