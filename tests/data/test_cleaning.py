"""What cleaning changes and drops, and that its counts add up (field reports D3, D4, D7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtkit.config import schema
from mtkit.data.cleaning import Cleaner, length_reason, unescape
from mtkit.data.corpus import SentencePair
from mtkit.data.counting import Counts
from mtkit.data.readers import Part
from mtkit.support.errors import UserError

PART = Part("train.en", "train.de", 0, 0, lambda: iter(()))


def pair(source: str | bytes, target: str | bytes, line: int = 1, part: Part = PART) -> SentencePair:
    return SentencePair(as_read(source), as_read(target), line, part)


def as_read(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", errors="surrogateescape")


def cleaned(*pairs: tuple[str | bytes, str | bytes], training: bool = True, **options: object) -> tuple[list[str], Counts]:
    """The kept pairs as `source|target`, and the counts."""
    cleaner = Cleaner(schema.Cleaning.model_validate(options), training=training)
    kept = [cleaner.clean(pair(source, target)) for source, target in pairs]
    return [f"{one.source}|{one.target}" for one in kept if one], cleaner.counts()


def test_invisible_characters_go_and_are_counted() -> None:
    kept, counts = cleaned(("\ufeffHello\u00a0you", "so\u00adfter\u200b"), ("a\x07b▁c", "d\u2028e\rf&amp;"))
    assert kept == ["Hello you|softer", "ab c|d e f&"]
    assert {kind: count for kind, count in counts.changed.items() if count} == {
        "line_separator": 2,
        "control": 1,
        "soft_hyphen": 1,
        "zero_width": 1,
        "nbsp": 1,
        "bom": 1,
        "word_mark": 1,
        "entity": 1,
    }


def test_empty_sides_and_copies_are_dropped() -> None:
    pairs = [("a", "b"), ("", "b"), ("a", "\u00a0\u200b "), ("x y", " x  y"), ("a", "c")]
    kept, counts = cleaned(*pairs)
    assert kept == ["a|b", "a|c"]
    assert str(counts) == "read 5, kept 2, dropped 3 (empty_source 1, empty_target 1, copy 1)"
    kept, counts = cleaned(*pairs, drop_copies=False)
    assert kept == ["a|b", "x y|x y", "a|c"]
    assert str(counts) == "read 5, kept 3, dropped 2 (empty_source 1, empty_target 1)"


def test_references_stay_as_they_were_written() -> None:
    reference = " „A\u00a0B“  so\u00adfter &amp; cafe\u0301\t"
    kept, counts = cleaned(("\u00a0a\u00ad &amp; b", reference), ("", ""), ("c", "c\u2028\rd"), training=False)
    assert kept == [f"a & b|{reference}", "|", "c|c d"]
    assert (counts.read, counts.kept) == (3, 3)


def test_invalid_utf8_is_named() -> None:
    cleaner = Cleaner(schema.Cleaning(), training=True)
    with pytest.raises(UserError, match=r"^train\.de:3: invalid UTF-8 \(byte 0xE9 at column 4\)"):
        cleaner.clean(pair("fine", b"Caf\xe9", 3))
    with pytest.raises(UserError, match=r"^train\.en:4: invalid UTF-8 \(byte 0xC3 at column 1\)"):
        cleaner.clean(pair(b"\xc3", b"\xff", 4))
    tsv = Part("pairs.tsv", "pairs.tsv", 0, 0, lambda: iter(()))
    with pytest.raises(UserError, match=r"^pairs\.tsv:5: invalid UTF-8 \(byte 0xE9 at column 8\)"):
        cleaner.clean(pair("abc", b"Caf\xe9", 5, tsv))


@pytest.mark.parametrize("training", [True, False])
def test_invalid_utf8_can_be_dropped_or_replaced(training: bool) -> None:
    pairs: list[tuple[str | bytes, str | bytes]] = [("a", "b"), (b"x\xe9\xff y", b"z\xff"), (b"\xed\xa0\x80", "c")]
    kept, counts = cleaned(*pairs, training=training, on_bad_utf8="replace")
    assert kept == ["a|b", "x\ufffd y|z\ufffd", "\ufffd|c"]
    assert counts.changed["bad_bytes"] == 3
    kept, counts = cleaned(*pairs, training=training, on_bad_utf8="drop")
    if training:
        assert kept == ["a|b"]
        assert str(counts) == "read 3, kept 1, dropped 2 (invalid_utf8 2)"
    else:  # lines of validation and test are never dropped
        assert kept == ["a|b", "x\ufffd y|z\ufffd", "\ufffd|c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&amp; &quot;x&quot; &#39; &#x2014; &eacute;", '& "x" \' — é'),
        ("&amp;amp;", "&amp;"),
        ("AT&T, R&D; a&b; &nosuch; ?a=1&copy=2", "AT&T, R&D; a&b; &nosuch; ?a=1&copy=2"),
    ],
)
def test_entities(text: str, expected: str) -> None:
    assert unescape(text) == expected
    assert cleaned((text, "x"), unescape_entities=False)[0] == [f"{text}|x"]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ((1, 256), "ratio"),
        ((257, 257), "too_long"),
        ((256, 256), None),
        ((1, 10), None),
        ((1, 11), "ratio"),
        ((11, 99), None),
    ],
)
def test_lengths(lengths: tuple[int, int], expected: str | None) -> None:
    assert length_reason(*lengths, schema.Cleaning()) == expected
    assert length_reason(lengths[1], lengths[0], schema.Cleaning()) == expected


@given(
    st.lists(st.tuples(st.binary(max_size=8), st.binary(max_size=8))), st.sampled_from(["drop", "replace"]), st.booleans()
)
def test_counts_add_up_for_any_bytes(pairs: list[tuple[bytes, bytes]], policy: str, training: bool) -> None:
    kept, counts = cleaned(*pairs, training=training, on_bad_utf8=policy)
    assert counts.read == len(pairs)
    assert counts.kept == len(kept)
    assert training or counts.kept == counts.read
    assert not any(set(line) & set("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029") for line in kept)
