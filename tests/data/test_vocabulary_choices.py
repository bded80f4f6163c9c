"""What a vocabulary can be besides the default: its text treatment, kinds, symbols, tags, and another run's (V6, V10)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mtkit.config import schema
from mtkit.data.normalisation import NORMALISATIONS
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies, reused_vocabularies
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from mtkit.support.errors import UserError

WORDS = {"the": 9, "cat": 4, "sat": 3, "x__P1__y": 3, "dog": 2, "äöü": 5}
SYMBOLS = ("__P1__", "<b>")
TAGS = ("<bt>", "<2de>")

PARTS = (*SYMBOLS, *TAGS, "<s>", "\u2581", " ", "\n")


def learned(**options: object) -> Vocabulary:
    return learn_vocabularies([WORDS], schema.Vocabulary.model_validate({"soft_limit": True} | options)).source


CHOICES = {
    (kind, normalization): learned(kind=kind, normalization=normalization, symbols=list(SYMBOLS), tags=list(TAGS))
    for kind in ("bpe", "unigram")
    for normalization in NORMALISATIONS
}


@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
@given(
    st.lists(st.text(st.characters(exclude_categories=())) | st.sampled_from([*SYMBOLS, *TAGS, "<s>", "\u2581", " ", "\n"]))
)
def test_decoding_gives_back_what_the_choice_makes_of_any_text(choice: tuple[str, str], parts: list[str]) -> None:
    vocabulary, text = CHOICES[choice], "".join(parts)
    (tokens,) = vocabulary.encode([text])
    assert vocabulary.decode([tokens]) == [vocabulary.normalise(text)]
    assert vocabulary.normalise(vocabulary.normalise(text)) == vocabulary.normalise(text)
    assert {PAD, BOS, EOS, UNK, *map(vocabulary.tag_id, TAGS)}.isdisjoint(tokens)
    assert "\n" not in vocabulary.normalise(text)
    assert [row.tolist() for row in vocabulary.encode_normalised([vocabulary.normalise(text)])] == [tokens]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("bytes_too", [True, False])
@pytest.mark.parametrize("symbols", [(), SYMBOLS])
def test_symbols_are_known_by_the_vocabulary_itself(kind: str, bytes_too: bool, symbols: tuple[str, ...]) -> None:
    options = {"kind": kind, "byte_fallback": bytes_too, "character_coverage": 1.0, "symbols": symbols}
    for tags in ((), TAGS):
        vocabulary = learned(**options, tags=tags)
        assert vocabulary.symbols == symbols
        assert vocabulary.tags == tags


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        ("nfc", "a…b c m² ﬁ Å"),
        ("nfkc", "a...b c m2 fi Å"),
        ("identity", " a…b  c\u00a0m² \u200bﬁ A\u030a "),
    ],
)
def test_each_choice_keeps_or_changes_what_it_says(normalization: str, expected: str) -> None:
    vocabulary = CHOICES["bpe", normalization]
    assert vocabulary.normalization == normalization
    assert vocabulary.decode(vocabulary.encode([" a…b  c\u00a0m² \u200bﬁ A\u030a "])) == [expected]


def test_a_blank_line_is_blank_whatever_the_choice() -> None:
    for vocabulary in CHOICES.values():
        assert vocabulary.encode(["", "  ", "\u00a0\u200b\t"]) == [[], [], []]


def test_the_treatment_is_known_from_the_model_alone() -> None:
    for (_, normalization), vocabulary in CHOICES.items():
        assert Vocabulary.from_bytes(vocabulary.model_bytes).normalization == normalization
    prints = {vocabulary.fingerprint for vocabulary in CHOICES.values()}
    assert len(prints) == len(CHOICES), "another treatment numbers text otherwise"


@pytest.mark.parametrize("choice", CHOICES, ids="-".join)
def test_a_symbol_is_one_piece_wherever_it_stands(choice: tuple[str, str]) -> None:
    vocabulary = CHOICES[choice]
    assert vocabulary.symbols == ("__P1__", "<b>")
    symbol = vocabulary.pieces.index("__P1__")
    for text in ("x__P1__y", "the __P1__ cat", "__P1__", "__P1____P1__"):
        (tokens,) = vocabulary.encode([text])
        assert tokens.count(symbol) == text.count("__P1__")
        assert vocabulary.decode([tokens]) == [text]


def test_tags_are_reserved_and_vanish_from_text() -> None:
    vocabulary = CHOICES["bpe", "nfc"]
    assert vocabulary.tags == TAGS
    tag = vocabulary.tag_id("<bt>")
    assert vocabulary.pieces[tag] == "<bt>"
    assert vocabulary.decode([[tag, *vocabulary.encode(["the <bt> cat"])[0]]]) == ["the <bt> cat"]
    with pytest.raises(UserError, match=r"no tag <xx> \(it has <bt>, <2de>\)"):
        vocabulary.tag_id("<xx>")


def test_without_bytes_rare_characters_are_unknown_and_known_ones_are_not() -> None:
    vocabulary = learned(byte_fallback=False, character_coverage=1.0)
    assert vocabulary.first_byte is None
    assert vocabulary.decode(vocabulary.encode(["the äöü cat"])) == ["the äöü cat"]
    (tokens,) = vocabulary.encode(["the 日 cat"])
    assert UNK in tokens
    assert vocabulary.decode([tokens]) == ["the cat"]
    with pytest.raises(ValidationError, match="byte_fallback false needs character_coverage 1"):
        schema.Vocabulary(byte_fallback=False)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_without_bytes_no_character_of_the_text_is_lost(kind: str) -> None:
    words = {"the": 3, "</s>": 2, "<pad>q": 1, "<t>z": 1, "j\u2585k": 1}
    options = schema.Vocabulary.model_validate(
        {"kind": kind, "byte_fallback": False, "character_coverage": 1.0, "size": 300, "soft_limit": True, "tags": ["<t>"]}
    )
    vocabulary = learn_vocabularies([words], options).source
    for text in ("</s> the", "<pad>q", "<t>z kj", "th"):
        assert vocabulary.decode(vocabulary.encode([text])) == [text]
    assert UNK in vocabulary.encode(["\u2585"])[0]  # SentencePiece keeps it for itself


def test_symbols_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "symbols").write_text("\ufeff__P1__\r\n\n<b>\n__P1__\n", encoding="utf-8")
    vocabulary = learned(symbols_file=str(tmp_path / "symbols"), symbols="<b>")
    assert {"__P1__", "<b>"} <= set(vocabulary.pieces)
    for wrong in ("two words", "<s>", "<0x41>", "a\u2581b", "A\u030a"):
        (tmp_path / "symbols").write_text(f"{wrong}\n", encoding="utf-8")
        with pytest.raises(UserError, match=r"symbols:1: symbol .* must be text"):
            learned(symbols_file=str(tmp_path / "symbols"))
    for options in ({"symbols": ["a", "a"]}, {"symbols": ["<t>"], "tags": ["<t>"]}, {"tags": ["<unk>"]}, {"tags": [""]}):
        with pytest.raises(ValidationError):
            schema.Vocabulary.model_validate(options)


def test_a_tag_of_a_corpus_is_no_symbol() -> None:
    with pytest.raises(
        UserError, match=r"^vocabulary\.symbols: symbol '<bt>' must be text .* neither a control piece nor a tag$"
    ):
        learn_vocabularies([WORDS], schema.Vocabulary(symbols=("<bt>",), soft_limit=True), ["<bt>"])


def test_another_folders_vocabulary_is_taken(tmp_path: Path) -> None:
    both = learn_vocabularies([WORDS], schema.Vocabulary(soft_limit=True, tags=("<bt>",)))
    both.save(tmp_path)
    reuse = schema.Vocabulary(reuse=str(tmp_path))
    assert reused_vocabularies(reuse, ["<bt>"]).fingerprint == both.fingerprint
    with pytest.raises(UserError, match="no tag <2fr>"):
        reused_vocabularies(reuse, ["<2fr>"])
    with pytest.raises(UserError, match=r"has vocabulary\.shared=true: set it so"):
        reused_vocabularies(schema.Vocabulary(reuse=str(tmp_path), shared=False))
    with pytest.raises(UserError, match=r"has no symbol __P1__: leave it out of vocabulary\.symbols"):
        reused_vocabularies(schema.Vocabulary(reuse=str(tmp_path), symbols=("__P1__",)))
    with pytest.raises(UserError, match=r"vocabulary\.reuse: .*: no folder"):
        reused_vocabularies(schema.Vocabulary(reuse=str(tmp_path / "vocabulary.model")))
    with pytest.raises(UserError, match=r"vocabulary\.reuse: .*: cannot be read"):
        reused_vocabularies(schema.Vocabulary(reuse="x" * 300))
    with pytest.raises(UserError, match=r"no such folder"):
        reused_vocabularies(schema.Vocabulary(reuse=str(tmp_path / "none")))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"holds no vocabulary\.model"):
        reused_vocabularies(schema.Vocabulary(reuse=str(tmp_path / "empty")))
    two = Vocabularies(both.source, learn_vocabularies([{"x": 3}], schema.Vocabulary(soft_limit=True)).target)
    (tmp_path / "two").mkdir()
    two.save(tmp_path / "two")
    assert reused_vocabularies(schema.Vocabulary(reuse=str(tmp_path / "two"), shared=False)).fingerprint == two.fingerprint
