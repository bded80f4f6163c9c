"""What prepare leaves out or tells beyond single pairs: repeats, held-out text, misaligned runs, tags, weights (D8, D11)."""

import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtkit.config.schema import Config
from mtkit.data import splits
from mtkit.data.cleaning import Cleaner
from mtkit.data.folder import PreparedData, Report
from mtkit.data.preparation import prepare
from mtkit.data.readers import Part
from mtkit.data.summary import summary
from mtkit.support.errors import UserError
from mtkit.support.lines import read_lines

WORDS = ["bako", "timu", "lera", "nosi", "pufa", "deko", "rilu", "saba", "moti"]
Pairs = list[tuple[str, str]]


def write(path: Path, pairs: Pairs) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


def config(folder: Path, train: Pairs, held_out: Pairs, **sections: Any) -> Config:
    """A config of TSV files in `folder`."""
    splits = {"train": {"tsv": write(folder / "train.tsv", train)}}
    splits |= {split: {"tsv": write(folder / f"{split}.tsv", held_out)} for split in ("validation", "test")}
    for split, options in sections.pop("splits", {}).items():
        splits[split] |= options
    vocabulary = {"size": 400, "soft_limit": True} | sections.pop("vocabulary", {})
    return Config.model_validate({"data": splits, "vocabulary": vocabulary} | sections)


def sentence(draw: random.Random, words: int) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(words))


def kept(folder: Path) -> list[str]:
    data = PreparedData.open(folder)
    source, target = (read_lines(data.text_path("train", language)) for language in ("en", "de"))
    return [f"{a}|{b}" for a, b in zip(source, target, strict=True)]


REPEATS = [
    ("a", "A"),
    ("b", "B"),
    ("a", "A"),
    ("a", "X"),
    ("c", "B"),
    ("c", "Y"),
    ("d", "D"),
    ("t", "T"),
    ("t", "U"),
    ("v", "T"),
]


@pytest.mark.parametrize(
    ("options", "expected", "told"),
    [
        ({}, "a|A b|B a|A a|X c|B c|Y d|D t|T t|U v|T", "dropped 0"),
        ({"drop_duplicates": True}, "a|A b|B a|X c|B c|Y d|D t|T t|U v|T", "dropped 1 (duplicate 1)"),
        ({"drop_duplicate_sources": True}, "a|A b|B c|B d|D t|T v|T", "dropped 4 (duplicate_source 4)"),
        ({"drop_duplicate_targets": True}, "a|A b|B a|X c|Y d|D t|T t|U", "dropped 3 (duplicate_target 3)"),
        (
            {"drop_duplicate_sources": True, "drop_duplicate_targets": True},
            "a|A b|B d|D t|T",
            "dropped 6 (duplicate_source 4, duplicate_target 2)",
        ),
        ({"drop_held_out": "pairs"}, "a|A b|B a|A a|X c|B c|Y d|D t|U v|T", "dropped 1 (held_out 1)"),
        ({"drop_held_out": "sources"}, "a|A b|B a|A a|X c|B c|Y d|D v|T", "dropped 2 (held_out 2)"),
        ({"drop_held_out": "targets"}, "a|A b|B a|A a|X c|B c|Y d|D t|U", "dropped 2 (held_out 2)"),
        ({"drop_held_out": "either"}, "a|A b|B a|A a|X c|B c|Y d|D", "dropped 3 (held_out 3)"),
    ],
)
def test_repeats_and_held_out_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], expected: str, told: str
) -> None:
    chosen = config(tmp_path, REPEATS, [("t", "T"), ("u", "W")], cleaning=options)
    report = prepare(chosen, tmp_path / "out")
    assert kept(tmp_path / "out") == expected.split()
    assert str(report.splits["train"].counts).endswith(told)
    assert report.splits["test"].given_away == {"pairs": 1, "sources": 1, "targets": 1}
    warned = any("test: 1 of 2 pairs are in the training text too" in line for line in summary(report))
    assert warned == ("drop_held_out" not in options)
    monkeypatch.setattr(splits, "CHUNK", 3)
    assert prepare(chosen, tmp_path / "chunks") == report
    assert kept(tmp_path / "chunks") == expected.split()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("ABC")), min_size=1, max_size=12), st.integers(1, 5))
def test_what_is_kept_does_not_depend_on_the_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Pairs, size: int
) -> None:
    rules = {"drop_duplicates": True, "drop_duplicate_sources": True, "drop_duplicate_targets": True}
    chosen = config(tmp_path, pairs, [("t", "T")], cleaning=rules)
    monkeypatch.setattr(splits, "CHUNK", 10_000)
    whole = prepare(chosen, tmp_path / "out", overwrite=True)
    text = kept(tmp_path / "out")
    monkeypatch.setattr(splits, "CHUNK", size)
    assert prepare(chosen, tmp_path / "out", overwrite=True) == whole
    assert kept(tmp_path / "out") == text


def test_a_share_of_the_training_is_put_in_capitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T15: chosen by its line, so never by chunks or workers; symbols stay; repeats are found as the text was."""
    train = [(f"straße {word} __p1__ {number}", f"{number} {word}") for number in range(500) for word in WORDS[:2]]
    options = {"vocabulary": {"symbols": ["__p1__"]}, "cleaning": {"capitals": 0.25, "drop_duplicates": True}}
    chosen = config(tmp_path, [*train, *train], [("held out", "out")], **options)
    report = prepare(chosen, tmp_path / "out")
    text = kept(tmp_path / "out")
    capitals = [pair.startswith("STRASSE ") for pair in text]
    assert report.splits["train"].counts.dropped["duplicate"] == 1000
    assert 200 < sum(capitals) < 300
    assert "capitals " in next(line for line in summary(report) if "changed: " in line)
    for pair, (source, target), capital in zip(text, train, capitals, strict=True):
        loud = f"{source.upper().replace('__P1__', '__p1__')}|{target.upper()}"
        assert pair == (loud if capital else f"{source}|{target}")
    assert read_lines(tmp_path / "out" / "validation.en") == ["held out"]
    monkeypatch.setattr(splits, "CHUNK", 7)
    prepare(chosen, tmp_path / "chunks", workers=2)
    assert kept(tmp_path / "chunks") == text
    every = prepare(config(tmp_path, train, [("t", "T")], cleaning={"capitals": 1.0}), tmp_path / "every")
    assert every.splits["train"].counts.changed["capitals"] == 1000


def test_words_of_pairs_left_out_are_not_learned(tmp_path: Path) -> None:
    train = [("seen twice", "A"), ("seen twice", "A"), ("sekret word", "hidden"), ("other", "B")]
    prepare(config(tmp_path, train, [("sekret word", "hidden")], cleaning={"drop_held_out": "pairs"}), tmp_path / "out")
    pieces = PreparedData.open(tmp_path / "out").vocabularies().source.pieces
    assert not any("k" in piece for piece in pieces[260:])


def test_a_shifted_stretch_is_told_with_its_lines(tmp_path: Path) -> None:
    draw = random.Random(3)
    lengths = [draw.choice((2, 4, 7, 11, 16, 22)) for _ in range(60)]
    source = [sentence(draw, words) for words in lengths]
    target = [sentence(draw, words + draw.choice((0, 0, 1))) for words in lengths]
    target[20:40] = [*target[21:40], target[20]]
    pairs = list(zip(source, target, strict=True))
    cleaning = {"max_ratio": 1000.0}
    report = prepare(config(tmp_path, pairs, [("t", "T")], cleaning=cleaning), tmp_path / "out")
    ((first, last),) = report.splits["train"].parts[0].misaligned
    assert abs(first - 21) <= 3
    assert abs(last - 40) <= 3
    assert f"WARNING: train: lines {first} to {last} of {tmp_path}/train.tsv seem not to translate each other" in summary(
        report
    )
    assert str(report.splits["train"].counts) == "read 60, kept 60, dropped 0"
    worst = report.splits["train"].examples["kept_ratio"]
    assert len(worst) == 20
    assert [one.severity for one in worst] == sorted((one.severity for one in worst), reverse=True)
    assert worst[0].line in range(first - 3, last + 4)
    quiet = prepare(config(tmp_path, pairs, [("t", "T")], cleaning=cleaning | {"misaligned_run": 0}), tmp_path / "quiet")
    assert quiet.splits["train"].parts[0].misaligned == ()


def test_tags_stand_before_the_source_and_weights_are_kept(tmp_path: Path) -> None:
    back = {"more": [{"tsv": write(tmp_path / "bt.tsv", [("x y", "Z"), ("", "dropped")]), "weight": 0.5, "tag": "<bt>"}]}
    chosen = config(tmp_path, [("a b", "A"), ("c", "C")], [("t", "T")], splits={"train": back})
    prepare(chosen, tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    vocabulary, pairs = data.vocabularies().source, data.pairs("train")
    tag = vocabulary.tag_id("<bt>")
    assert [pairs.source(i).tolist() for i in range(3)] == [
        *vocabulary.encode(["a b", "c"]),
        [tag, *vocabulary.encode(["x y"])[0]],
    ]
    assert read_lines(data.text_path("train", "en")) == ["a b", "c", "x y"]
    assert pairs.weights is not None
    assert pairs.weights.at(np.arange(3)).tolist() == [1.0, 1.0, 0.5]
    assert [(part.kept, part.weight, part.tag) for part in data.report.splits["train"].parts] == [
        (2, 1.0, ""),
        (1, 0.5, "<bt>"),
    ]
    assert data.pairs("validation").weights is None


def test_another_vocabulary_and_its_treatment_are_taken(tmp_path: Path) -> None:
    held_out = [("t", "T")]
    first = config(tmp_path, [("a…b  c", "A B")], held_out, vocabulary={"normalization": "identity"})
    prepare(first, tmp_path / "first")
    assert kept(tmp_path / "first") == ["a…b  c|A B"]
    again = config(tmp_path, [("x…  y", "Z")], held_out, vocabulary={"reuse": str(tmp_path / "first")})
    report = prepare(again, tmp_path / "again")
    assert report.vocabulary_fingerprint == PreparedData.open(tmp_path / "first").report.vocabulary_fingerprint
    assert kept(tmp_path / "again") == ["x…  y|Z"]
    assert "text treatment: vocabulary.normalization identity" in summary(report), (
        "that of the vocabulary, not of the config"
    )


def test_mistaken_symbols_are_told_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = config(tmp_path, [("a", "A")], [("t", "T")], vocabulary={"symbols": ["A\u030a"]})
    with pytest.raises(UserError, match=r"vocabulary\.symbols: symbol"):
        prepare(wrong, tmp_path / "out")
    assert "cleaning" not in capsys.readouterr().err


def test_pairs_in_a_third_language_can_be_dropped(tmp_path: Path) -> None:
    english = "This is a long sentence about the parliament and its members."
    german = "Das ist ein langer Satz über das Parlament und seine Mitglieder."
    french = "Ceci est une longue phrase sur le parlement et sur ses membres élus."
    pairs = [(english, german), (english, french), (french, german), ("Oui.", "Ja.")]
    report = prepare(config(tmp_path, pairs, [("t", "T")], cleaning={"drop_foreign": 0.95}), tmp_path / "out")
    assert str(report.splits["train"].counts) == "read 4, kept 2, dropped 2 (language 2)"
    assert kept(tmp_path / "out")[0] == f"{english}|{german}"


def test_a_language_that_cannot_be_told_is_refused(tmp_path: Path) -> None:
    """Or all its text would be taken for another one and dropped."""
    chosen = config(tmp_path, [("a", "A")], [("t", "T")], cleaning={"drop_foreign": 0.95})
    swiss = chosen.model_copy(update={"data": chosen.data.model_copy(update={"target_language": "gsw_CH"})})
    with pytest.raises(UserError, match=r"py3langid does not know the language gsw of .*: name it by its ISO 639-1 code"):
        prepare(swiss, tmp_path / "out")


def test_a_full_disk_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config(tmp_path, [("a b c", "A")] * 1000, [("t", "T")])
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=5_000))
    before = set(tmp_path.iterdir())
    with pytest.raises(UserError, match=r"out: needs about \d+\.\d kB while it is made, 5\.0 kB are free: make room"):
        prepare(chosen, tmp_path / "out")
    assert set(tmp_path.iterdir()) == before


def test_a_failure_in_cleaning_names_corpus_and_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, pair: object, order: int = 0) -> None:
        raise ZeroDivisionError("a fault in a rule")

    monkeypatch.setattr(Cleaner, "clean", broken)
    message = r"cleaning test \(.*test\.tsv\), lines 1 to 1, failed: ZeroDivisionError\('a fault in a rule'\)"
    with pytest.raises(RuntimeError, match=message):
        prepare(config(tmp_path, [("a", "A")], [("t", "T")]), tmp_path / "out")
    assert not list(tmp_path.glob(".tmp*"))


@pytest.fixture
def hostile(tmp_path: Path) -> Report:
    script = "<script>alert(1)</script>"
    numbers = " ".join(map(str, range(1000)))
    pairs = [(f"{script}\x07", f"&amp;amp; {chr(0xFFFE)} 1"), (f"{script}\x1b", script), (numbers, "y")]
    return prepare(config(tmp_path, pairs * 30, [("t", "T")], cleaning={"max_tokens": 60}), tmp_path / "out")


@pytest.mark.usefixtures("hostile")
def test_the_page_is_well_formed_and_escapes_text(tmp_path: Path) -> None:
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    root = ET.fromstring(page.replace("<!DOCTYPE html>", ""))
    assert root.tag == "html"
    assert "<script" not in page
    text = "".join(root.itertext())
    for part in ("en → de", "both sides equal", "<script>alert(1)</script>", "too long", "control characters, removed"):
        assert part in text
    assert "http" not in page.replace("http-equiv", "")


def test_examples_are_the_worst_and_their_text_is_cut(hostile: Report) -> None:
    examples = hostile.splits["train"].examples
    assert {reason: len(found) for reason, found in examples.items()} == {"copy": 20, "too_long": 20, "kept_ratio": 20}
    assert [one.line for one in examples["too_long"]] == [3 * i + 3 for i in range(20)], "the earliest of equals"
    assert max(len(one.source) for found in examples.values() for one in found) == 300
    assert hostile.splits["train"].source_lengths == (0, 30), "sentences of 9 to 16 tokens"
    assert hostile.coverage[0].used <= hostile.coverage[0].pieces


def test_a_part_stands_for_itself() -> None:
    part = Part("a.en", "a.de", 1, 0, lambda: iter(()))
    assert str(part) == "a.en + a.de"
    reader: Callable[[], Any] = part.read
    assert list(reader()) == []
