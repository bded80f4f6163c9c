"""Scores of another tool: taken for the very lines they were made of, averaged, compared, and refused otherwise."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mtkit.config.schema import Evaluation
from mtkit.evaluation.comparison import System, compare
from mtkit.evaluation.imported import imported_metric, lines_sha256
from mtkit.evaluation.scores import Scorer
from mtkit.support.errors import UserError

GOOD = [f"Zeile {number}." for number in range(40)]
BAD = [f"zeile {number}" for number in range(40)]
NAMES_TAKEN = ("bleu", "BLEU", "chrF2", "chrF2++", "TER", "tokenised-bleu")


def write(path: Path, **changes: Any) -> Path:
    systems = [
        {"name": "good.de", "sha256": lines_sha256(GOOD), "scores": [0.8 + 0.001 * number for number in range(40)]},
        {"name": "bad.de", "sha256": lines_sha256(BAD), "scores": [0.5 + 0.001 * number for number in range(40)]},
    ]
    content = {"metric": "comet", "signature": "wmt22-comet-da|unbabel-comet:2.2.7", "systems": systems} | changes
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def scorer(path: Path) -> Scorer:
    made = Scorer([GOOD], Evaluation(metrics=("bleu",), resamples=200, trials=200), test_set="lawn")
    made.add(*imported_metric(path))
    return made


def test_it_is_a_metric_like_the_others(tmp_path: Path) -> None:
    made = scorer(write(tmp_path / "comet.json"))
    bleu, comet = made.score(GOOD, "good.de", intervals=True)
    assert (bleu.metric, comet.metric) == ("bleu", "comet")
    assert comet.value == pytest.approx(0.8195)
    assert str(comet).startswith("comet = 0.8195 | wmt22-comet-da|unbabel-comet:2.2.7 | lawn, 40 lines | 0.81")
    sentences = made.sentence_scores(GOOD)[1]
    assert sentences.signature == "wmt22-comet-da|unbabel-comet:2.2.7"
    assert sentences.values[:2] == pytest.approx((0.8, 0.801))


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_systems_are_compared_by_it(lower_is_better: bool, tmp_path: Path) -> None:
    made = scorer(write(tmp_path / "comet.json", lower_is_better=lower_is_better))
    _, comet = compare([System("bad.de", BAD), System("good.de", GOOD)], made)
    worse, better = comet.standings
    assert better.difference is not None
    assert better.difference.delta == pytest.approx(0.3)
    assert better.difference.significant
    assert (worse.rank, better.rank) == ((1, 2) if lower_is_better else (2, 1))


def test_the_sha256_is_that_of_a_file_of_the_lines(tmp_path: Path) -> None:
    file = tmp_path / "out.de"
    file.write_text("".join(f"{line}\n" for line in GOOD))
    assert lines_sha256(GOOD) == hashlib.sha256(file.read_bytes()).hexdigest()


def test_scores_of_another_translation_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "comet.json")
    with pytest.raises(UserError, match=r"comet\.json: has no comet of the translation with sha256 .*, but of good\.de \("):
        scorer(path).score([*GOOD[:-1], "Zeile 39!"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"signature": ""}, "signature: "),
        ({"metric": "a b"}, "metric: "),
        ({"systems": [{"name": "a", "sha256": "b", "scores": [float("nan")]}]}, r"systems\.0\.scores\.0: "),
        *(
            ({"systems": [{"name": "a", "sha256": "b", "scores": [value]}]}, r"systems\.0\.scores\.0: ")
            for value in ("much", "0.5", True, None)
        ),
        *(({"metric": name}, f"metric: .*{re.escape(name)} is the name of a score of sacreBLEU's") for name in NAMES_TAKEN),
        ({"version": 3}, "version: "),
    ],
)
def test_what_is_no_file_of_scores_is_refused_by_name(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"comet\.json: not a file of scores such as scripts/comet\.sh writes: {told}"):
        imported_metric(write(tmp_path / "comet.json", **changes))


def test_files_that_are_not_there_or_no_json(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json: cannot be read \(No such file or directory\)"):
        imported_metric(tmp_path / "none.json")
    (tmp_path / "half.json").write_text('{"metric": ')
    with pytest.raises(UserError, match=r"half\.json: not a file of scores"):
        imported_metric(tmp_path / "half.json")


def test_too_few_scores_are_refused(tmp_path: Path) -> None:
    systems = [{"name": "good.de", "sha256": lines_sha256(GOOD), "scores": [0.5] * 39}]
    with pytest.raises(UserError, match=r"comet\.json: good\.de has 39 scores for 40 lines"):
        scorer(write(tmp_path / "comet.json", systems=systems)).score(GOOD)


def test_two_opinions_of_one_translation_are_refused(tmp_path: Path) -> None:
    twice = [{"name": name, "sha256": lines_sha256(GOOD), "scores": [0.5] * 40} for name in ("good.de", "copy.de")]
    (score,) = scorer(write(tmp_path / "same.json", systems=twice)).score(GOOD)[1:]
    assert score.value == 0.5
    other = [twice[0], twice[1] | {"scores": [0.5] * 39 + [0.6]}]
    with pytest.raises(UserError, match=r"two\.json: has different scores of one translation, as good\.de and copy\.de: "):
        scorer(write(tmp_path / "two.json", systems=other)).score(GOOD)


def test_two_metrics_of_one_name_are_refused(tmp_path: Path) -> None:
    made = scorer(write(tmp_path / "comet.json"))
    with pytest.raises(UserError, match="two metrics called comet"):
        made.add(*imported_metric(tmp_path / "comet.json"))
