"""Scores equal sacreBLEU's, never come from texts of different lengths, and carry their signature."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mtkit.config.schema import Evaluation
from mtkit.evaluation.scores import score
from mtkit.evaluation.unfinished import hypothesis_warnings
from mtkit.support.errors import UserError
from mtkit.support.lines import read_lines

VERSION = version("sacrebleu")
REPOSITORY = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("MTKIT_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))

OF_SACREBLEU = ("bleu", "chrf", "chrf++", "ter")

HYPOTHESES = [
    "Der Hund läuft schnell über die grüne Wiese.",
    "Heute regnet es in der Stadt, aber morgen nicht.",
    "Sie liest ein Buch.",
]
FIRST_REFERENCE = [
    "Der Hund rennt schnell über die grüne Wiese.",
    "Heute regnet es in der Stadt, doch morgen scheint die Sonne.",
    "sie liest gerade ein Buch.",
]
SECOND_REFERENCE = [
    "Ein Hund läuft schnell über eine Wiese.",
    "In der Stadt regnet es heute, aber morgen nicht.",
    "Sie liest ein dickes Buch.",
]


def evaluation(*metrics: str, lowercase: bool = False) -> Evaluation:
    return Evaluation.model_validate({"metrics": list(metrics), "lowercase": lowercase})


def test_every_metric_of_the_schema_can_be_computed_and_is_complete_on_one_line() -> None:
    scores = score(HYPOTHESES, [FIRST_REFERENCE], evaluation(*OF_SACREBLEU), test_set="lawn")
    assert [each.metric for each in scores] == ["bleu", "chrf", "chrf++", "ter"]
    for each, name in zip(scores, ("BLEU", "chrF2", "chrF2++", "TER"), strict=True):
        assert 0 < each.value < 100
        assert str(each).startswith(f"{name} = {each.value:.2f}")
        assert str(each).endswith(f" | {each.signature} | lawn, 3 lines")
        assert each.signature.startswith("nrefs:1|")
        assert each.signature.endswith(f"|version:{VERSION}")
        assert "\n" not in str(each)
        assert json.loads(json.dumps(each.to_json())) == {
            "metric": each.metric,
            "value": each.value,
            "summary": each.summary,
            "signature": each.signature,
            "test_set": "lawn",
            "sentences": 3,
            "interval": None,
        }


def test_pieces_left_in_the_hypothesis_cost_the_score_and_are_warned_of() -> None:
    reference = [["Die Katze saß auf der Matte."]]
    pieces = ["Die Kat@@ ze saß auf der Mat@@ te."]
    (split,) = score(pieces, reference, evaluation("bleu"))
    (whole,) = score(reference[0], reference, evaluation("bleu"))
    assert f"{split.value:.2f}" == "13.07"
    assert f"{whole.value:.2f}" == "100.00"
    assert split.signature == whole.signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{VERSION}"
    assert str(whole).endswith(f"version:{VERSION} | 1 line")
    (warning,) = hypothesis_warnings(pieces)
    assert "1 of 1 hypotheses" in warning
    assert "BPE" in warning
    assert hypothesis_warnings(reference[0]) == ()


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("Die Kat@@ ze schläft.", "BPE"),
        ("Die Kat@@", "BPE"),
        ("▁Die ▁Katze ▁schläft.", "U+2581"),
        ("Sie sagte: &quot;Nein.&quot;", "&quot;"),
        ("Wie geht&apos;s?", "&apos;"),
        ("Katz &amp; Maus", "&amp;"),
        ("Katz &#124; Maus", "&amp;"),
        ("Die Katze schläft .", "full stop"),
    ],
)
def test_more_than_a_tenth_of_unfinished_lines_is_warned_of(line: str, sign: str) -> None:
    finished = ["Die Katze schläft. Im Haus @ home & draußen ..."] * 9
    assert hypothesis_warnings([line, *finished, finished[0]]) == ()
    assert hypothesis_warnings([line, *finished]) == ()  # one in ten is not more than a tenth
    (warning,) = hypothesis_warnings([line, *finished[1:]])
    assert "1 of 9 hypotheses" in warning
    assert sign in warning


def test_hypotheses_that_are_all_empty_are_warned_of_and_score_zero() -> None:
    (warning,) = hypothesis_warnings(["", "  ", ""])
    assert "all 3 hypotheses are empty" in warning
    assert hypothesis_warnings(["", "", "Ja."]) == ()
    (bleu,) = score(["", "  ", ""], [FIRST_REFERENCE], evaluation("bleu"))
    assert bleu.value == 0


def test_fewer_hypotheses_than_reference_lines_are_refused() -> None:
    with pytest.raises(UserError) as refusal:
        score(HYPOTHESES[:2], [FIRST_REFERENCE], evaluation("bleu"), reference_names=["ref.de"])
    assert str(refusal.value).startswith("hypotheses 2 lines, reference ref.de 3 lines")
    with pytest.raises(UserError, match=r"^hypotheses 2 lines, reference 3 lines"):
        score(HYPOTHESES[:2], [FIRST_REFERENCE], evaluation("bleu"))
    with pytest.raises(UserError, match=r"^out\.de: hypotheses 2 lines, reference 3 lines"):
        score(HYPOTHESES[:2], [FIRST_REFERENCE], evaluation("bleu"), hypotheses_name="out.de")


def test_every_reference_is_counted() -> None:
    references = [FIRST_REFERENCE, SECOND_REFERENCE[:2]]
    with pytest.raises(UserError, match=r"^hypotheses 3 lines, reference b\.de 2 lines"):
        score(HYPOTHESES, references, evaluation("bleu"), reference_names=["a.de", "b.de"])
    with pytest.raises(UserError, match=r"^hypotheses 3 lines, reference #2 2 lines"):
        score(HYPOTHESES, references, evaluation("bleu"))


def test_blank_lines_count() -> None:
    (bleu,) = score([*HYPOTHESES, ""], [[*FIRST_REFERENCE, ""]], evaluation("bleu"))
    assert bleu.sentences == 4


def test_no_lines_are_refused() -> None:
    with pytest.raises(UserError, match=r"^hypotheses 0 lines, reference 0 lines: there is nothing to score"):
        score([], [[]], evaluation("bleu"))
    with pytest.raises(UserError, match=r"^hypotheses 0 lines, reference 3 lines"):
        score([], [FIRST_REFERENCE], evaluation("bleu"))


@pytest.mark.parametrize(
    ("given", "expected", "suggestion"),
    [(3003, 2737, "as many as newstest2014 (sacre"), (2737, 3003, "as many as newstest2014-filtered (sacre")],
)
def test_the_two_newstest2014_are_told_apart(given: int, expected: int, suggestion: str) -> None:
    with pytest.raises(UserError) as refusal:
        score(["Ja."] * given, [["Ja."] * expected], evaluation("bleu"), reference_names=["newstest2014"])
    assert str(refusal.value).startswith(f"hypotheses {given} lines, reference newstest2014 {expected} lines")
    assert suggestion in str(refusal.value)


def test_a_line_separator_inside_a_line_does_not_end_it(tmp_path: Path) -> None:
    file = tmp_path / "out.de"
    file.write_bytes("Ein Satz\u2028mit\x85Zeichen.\nNoch einer.\n".encode())
    hypotheses = read_lines(file)
    (bleu,) = score(hypotheses, [["Ein Satz mit Zeichen.", "Noch einer."]], evaluation("bleu"))
    assert bleu.sentences == 2


def test_lowercase_is_in_the_signature_and_the_score() -> None:
    mixed = score(["sie Liest ein Buch heute."], [["Sie liest ein Buch heute."]], evaluation("bleu", "chrf", "ter"))
    lower = score(["sie Liest ein Buch heute."], [["Sie liest ein Buch heute."]], evaluation("bleu", "chrf", lowercase=True))
    assert ["case:mixed" in each.signature for each in mixed] == [True, True, False]  # TER never regards case, and says so
    assert all("case:lc" in each.signature and f"{each.value:.2f}" == "100.00" for each in lower)
    assert all(each.value < 99 for each in mixed[:2])


def test_the_target_language_chooses_the_tokeniser() -> None:
    chinese, regional, german = (
        score(["我爱你们所有人"], [["我爱你们每个人"]], evaluation("bleu"), target_language=language)[0]
        for language in ("zh", "zh_CN", "de")
    )
    assert "tok:zh" in chinese.signature
    assert "tok:13a" in german.signature
    assert chinese.value > german.value
    assert regional == chinese
    (_, moses) = score(HYPOTHESES, [FIRST_REFERENCE], evaluation("bleu", "tokenised-bleu"), target_language="de-AT")
    assert "tok:moses-de-sacremoses" in moses.signature


@pytest.mark.skipif(find_spec("MeCab") is not None, reason="sacreBLEU's Japanese tokeniser is installed")
def test_a_tokeniser_that_is_not_installed_is_named() -> None:
    with pytest.raises(UserError, match=r"bleu for target language ja needs a tokeniser .*sacrebleu\[ja\]"):
        score(["ねこ"], [["ねこ"]], evaluation("bleu"), target_language="ja")


def sacrebleu_command(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """What `sacrebleu` prints, as its JSON objects."""
    environment = {key: value for key, value in os.environ.items() if key != "SACREBLEU_FORMAT"}
    command = [sys.executable, "-m", "sacrebleu", *arguments, "-f", "json", "-w", "6"]
    output = subprocess.run(command, capture_output=True, check=True, env=environment, text=True, encoding="utf-8").stdout
    printed = json.loads(output)
    return printed if isinstance(printed, list) else [printed]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("references", [[FIRST_REFERENCE], [FIRST_REFERENCE, SECOND_REFERENCE]], ids=["one", "two"])
def test_scores_equal_the_sacrebleu_command(references: list[list[str]], lowercase: bool, tmp_path: Path) -> None:
    paths = []
    for number, lines in enumerate([HYPOTHESES, *references]):
        paths.append(tmp_path / f"{number}.de")
        paths[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = [*map(str, paths[1:]), "-i", str(paths[0])]
    case = ["-lc", "--chrf-lowercase"] if lowercase else []
    printed = sacrebleu_command([*files, *case, "-m", "bleu", "chrf", "ter"])
    printed += sacrebleu_command([*files, *case, "-m", "chrf", "--chrf-word-order", "2"])
    theirs = {(line["name"], f"{line['score']:.6f}", line["signature"]) for line in printed}
    ours = score(HYPOTHESES, references, evaluation(*OF_SACREBLEU, lowercase=lowercase))
    assert {(each.summary.split(" = ")[0], f"{each.value:.6f}", each.signature) for each in ours} == theirs


def test_published_scores_come_out_to_the_last_digit() -> None:
    folder = SHARED_DATA / "newstest-outputs"
    if not (folder / "published-bleu.tsv").exists():
        pytest.skip("no shared data: put newstest-outputs under the folder that MTKIT_SHARED_DATA names")
    _, *rows = read_lines(folder / "published-bleu.tsv")
    differing = []
    for row in rows:
        file, published, lines, *_ = row.split("\t")
        published = published.split()[0]
        (reference,) = (folder / file).parent.glob("ref.*.gz")
        (bleu,) = score(read_lines(folder / file), [read_lines(reference)], evaluation("bleu"))
        decimals = len(published.partition(".")[2])
        if f"{bleu.value:.{decimals}f}" != published or bleu.sentences != int(lines):
            differing.append(f"{file}: {bleu}, published {published} on {lines} lines")
    assert len(rows) == 26
    assert not differing
