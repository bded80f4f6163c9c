"""Tokenised BLEU: Moses' tokens, multi-bleu's arithmetic, compounds as the paper's time split them, a name that warns."""

import sys

import pytest
from sacrebleu.metrics.bleu import BLEU

from mtkit.config.schema import Evaluation
from mtkit.evaluation.moses import MosesTokens
from mtkit.evaluation.scores import score
from mtkit.support.errors import UserError

HYPOTHESES = ["Das E-Mail-Programm kostet 3,50 € mehr.", "Er sagte: „Das ist's, z. B. heute.“"]
REFERENCES = ["Das E-Mail-Programm kostet 3,50 € weniger.", "Er sagte: „Das ist's, z. B. morgen früh.“"]
KINDS = Evaluation(metrics=("bleu", "tokenised-bleu", "compound-split-bleu"))


def test_the_tokens() -> None:
    plain, split = (MosesTokens("de", compounds=compounds) for compounds in (False, True))
    assert plain("Das E-Mail-Programm kostet 3,50 € (mehr).") == "Das E-Mail-Programm kostet 3,50 € ( mehr ) ."
    assert split("Ein Nord-Süd-Weg.") == "Ein Nord ##AT##-##AT## Süd ##AT##-##AT## Weg ."
    assert split("A-B-C") == "A ##AT##-##AT## B-C"  # as perl's s///g has it: the B is taken
    assert plain("&quot; <b>") == "& quot ; < b >"  # nothing is escaped or unescaped


def test_they_stand_beside_sacrebleu_and_say_that_they_do_not_compare() -> None:
    bleu, tokenised, split = score(HYPOTHESES, [REFERENCES], KINDS, target_language="de")
    assert bleu.summary.startswith("BLEU = ")
    assert tokenised.summary.startswith(f"tokenised BLEU (not comparable with sacreBLEU) = {tokenised.value:.2f} ")
    assert split.summary.startswith(f"compound-split BLEU (not comparable with sacreBLEU) = {split.value:.2f} ")
    assert "tok:moses-de-sacremoses-" in tokenised.signature
    assert "tok:moses-de-compound-split-sacremoses-" in split.signature
    assert "smooth:none" in tokenised.signature
    assert len({bleu.value, tokenised.value, split.value}) == 3
    assert split.value > tokenised.value  # a compound of three counts as five words


def test_the_arithmetic_is_that_of_multi_bleu() -> None:
    """By hand: of 6, 5, 4 and 3 n-grams, 5, 3, 2 and 1 are right."""
    hypotheses, references = ["a b c d e f"], ["a b c d x f"]
    found = score(hypotheses, [references], KINDS, target_language="de")[1]
    expected = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert found.value == pytest.approx(expected)
    without_four = score(["a b c"], [["a b c"]], KINDS, target_language="de")[1]
    assert without_four.value == 0.0  # no smoothing
    assert BLEU().corpus_score(["a b c x y"], [["a b c z w"]]).score > 0


def test_without_bleu_beside_them_they_are_refused() -> None:
    with pytest.raises(ValueError, match="give bleu beside it"):
        Evaluation(metrics=("tokenised-bleu",))


def test_without_sacremoses_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UserError, match=r"need sacremoses, which is not installed: pip install 'mtkit\[sacremoses\]'"):
        score(HYPOTHESES, [REFERENCES], KINDS)
