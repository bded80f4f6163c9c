"""Preparing a data folder: what lies in it, that it is whole or absent, and that nothing is lost without a count."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtkit.config import schema
from mtkit.data import splits
from mtkit.data.encoding import TextChunk, encode_chunks, line_ends
from mtkit.data.folder import PreparedData
from mtkit.data.normalisation import nfc as normalise
from mtkit.data.preparation import prepare
from mtkit.data.shortlist import SHORTLIST
from mtkit.data.summary import summary
from mtkit.data.vocabularies import learn_vocabularies
from mtkit.support.errors import UserError
from mtkit.support.files import sha256
from mtkit.support.lines import read_lines

SOURCE = b"A house stands here.\nThe cat sleeps.\n\nWe see &amp; hear \xf0\x9f\x99\x82 it.\n"
TARGET = "Hier steht ein Haus.\nDie Katze schläft.\nLeer.\nWir sehen\u2028& hören \U0001f642 es.\n".encode()


def config(folder: Path, source: bytes = SOURCE, target: bytes = TARGET, **sections: Any) -> schema.Config:
    """A config whose splits are all the same two files, `s.en` and `t.de` in `folder`."""
    (folder / "s.en").write_bytes(source)
    (folder / "t.de").write_bytes(target)
    split = schema.Split(source=(str(folder / "s.en"),), target=(str(folder / "t.de"),))
    vocabulary = sections.pop("vocabulary", schema.Vocabulary(size=1000, soft_limit=True))
    return schema.Config(data=schema.Data(train=split, validation=split, test=split), vocabulary=vocabulary, **sections)


SEPARATE: dict[str, Any] = {
    "vocabulary": schema.Vocabulary(shared=False, size=1000, soft_limit=True),
    "model": schema.Model(tied_embeddings="decoder"),
}
"""Sections of a config with a vocabulary for each language."""


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_text_numbers_vocabulary_and_report(tmp_path: Path) -> None:
    report = prepare(config(tmp_path), tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    vocabulary = data.vocabularies().source
    assert data.vocabularies().shared
    assert data.report == report

    source, target = (read_lines(data.text_path("train", language)) for language in ("en", "de"))
    assert source == ["A house stands here.", "The cat sleeps.", "We see & hear 🙂 it."]
    assert target == ["Hier steht ein Haus.", "Die Katze schläft.", "Wir sehen & hören 🙂 es."]
    pairs = data.pairs("train")
    assert vocabulary.decode([pairs.source(i).tolist() for i in range(3)]) == source
    assert vocabulary.decode([pairs.target(i).tolist() for i in range(3)]) == target
    assert [pairs.line(i) for i in range(3)] == [1, 2, 4]

    assert str(report.splits["train"].counts) == "read 4, kept 3, dropped 1 (empty_source 1)"
    assert report.splits["train"].counts.changed["line_separator"] == 1
    assert report.splits["train"].source_sha256 == sha256(data.text_path("train", "en"))
    assert report.splits["train"].source_tokens == pairs.source_lengths.sum()
    assert report.splits["train"].unknown_rate == 0
    assert report.vocabulary_size == len(vocabulary)
    assert report.config["cleaning"] == schema.Cleaning().model_dump()
    assert set(report.config) == {"data", "cleaning", "vocabulary"}
    assert not [name for name in content(tmp_path / "out") if name.startswith("cleaned")]


@pytest.mark.parametrize("sections", [{}, SEPARATE])
def test_with_a_shortlist_all_else_is_the_same(tmp_path: Path, sections: dict[str, Any], capsys: Any) -> None:
    chosen = config(tmp_path, **sections)
    prepare(chosen, tmp_path / "without")
    assert "shortlist" not in capsys.readouterr().err
    chosen = config(tmp_path, **sections | {"vocabulary": chosen.vocabulary.model_copy(update={"shortlist": True})})
    prepare(chosen, tmp_path / "with")
    assert "learning the shortlist" in capsys.readouterr().err
    prepare(chosen, tmp_path / "with", overwrite=True)
    one, other = content(tmp_path / "without"), content(tmp_path / "with")
    assert other.keys() - one.keys() == {SHORTLIST}
    assert all(other[name] == one[name] for name in one if not name.startswith("report."))
    vocabularies = PreparedData.open(tmp_path / "with").vocabularies()
    assert vocabularies.shortlist().content(vocabularies.fingerprint) == other[SHORTLIST]


def test_a_shortlist_is_not_taken_over_with_the_vocabulary(tmp_path: Path) -> None:
    """It was learned from other text."""
    options = schema.Vocabulary(size=1000, soft_limit=True, shortlist=True)
    prepare(config(tmp_path, vocabulary=options), tmp_path / "first")
    reuse = {"reuse": str(tmp_path / "first"), "shortlist": False}
    prepare(config(tmp_path, vocabulary=options.model_copy(update=reuse)), tmp_path / "second")
    assert SHORTLIST not in content(tmp_path / "second")
    text = b"The cat sleeps.\n" * 3, "Die Katze schl\u00e4ft.\n".encode() * 3
    again = options.model_copy(update={"reuse": str(tmp_path / "first")})
    prepare(config(tmp_path, *text, vocabulary=again), tmp_path / "third")
    assert content(tmp_path / "third")[SHORTLIST] != content(tmp_path / "first")[SHORTLIST]


def test_lines_of_validation_and_test_all_stay(tmp_path: Path) -> None:
    folder = tmp_path / "held-out"
    folder.mkdir()
    long = b"word " * 600
    source, target = b"\n" + long + b"\nsame\nTom &amp; I\n", b"x\nx\nsame\n  Tom &amp; ich\xc2\xa0\n"
    held_out = config(folder, source, target).data.test
    chosen = config(tmp_path)
    chosen = chosen.model_copy(update={"data": chosen.data.model_copy(update={"validation": held_out, "test": held_out})})
    prepare(chosen, tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    for split in ("validation", "test"):
        assert str(data.report.splits[split].counts) == "read 4, kept 4, dropped 0"
        assert read_lines(data.text_path(split, "en")) == ["", long.decode().strip(), "same", "Tom & I"]
        assert data.text_path(split, "de").read_bytes() == target
        pairs = data.pairs(split)
        assert pairs.source_lengths[0] == 0
        assert data.vocabularies().target.decode([pairs.target(3).tolist()]) == ["Tom & ich"]


def test_ten_pairs_of_which_two_are_dropped(tmp_path: Path) -> None:
    words = [b"one two three"] * 10
    target = [*words]
    target[3], target[6] = b"", b"a " * 600
    source = [*words]
    source[0] = b"four"
    cleaning = schema.Cleaning(drop_copies=False, max_ratio=1000.0)
    report = prepare(config(tmp_path, b"\n".join(source), b"\n".join(target), cleaning=cleaning), tmp_path / "out")
    assert str(report.splits["train"].counts) == "read 10, kept 8, dropped 2 (empty_target 1, too_long 1)"
    assert (
        json.loads((tmp_path / "out" / "report.json").read_text())["splits"]["train"]["counts"]["dropped"]["too_long"] == 1
    )
    pairs = PreparedData.open(tmp_path / "out").pairs("train")
    assert [pairs.line(i) for i in range(8)] == [1, 2, 3, 5, 6, 8, 9, 10]
    assert any(line == "WARNING: train: 20.0% of the pairs dropped" for line in summary(report))


def test_the_summary_tells_what_changed(tmp_path: Path) -> None:
    report = prepare(config(tmp_path, "a\u2028b\ncat▁dog\n".encode(), b"x y\nz\n"), tmp_path / "out")
    lines = summary(report)
    assert "train: inner line separators replaced: 1" in lines
    assert any(line.startswith("train: read 2, kept 2, dropped 0; unknown tokens 0.00%") for line in lines)
    assert any(line.startswith("WARNING: train: U+2581 occurs 1 times") for line in lines)
    assert lines[-1].startswith(f"vocabulary: {report.vocabulary_size} pieces")


def test_invisible_characters_reach_neither_text_nor_vocabulary(tmp_path: Path) -> None:
    source = b"\xef\xbb\xbfHello\nso\xc2\xadfter\n" * 20
    report = prepare(config(tmp_path, source, b"\xef\xbb\xbfHallo\nweicher\n" * 20), tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    pieces = "".join(data.vocabularies().source.pieces)
    assert not {"\ufeff", "\u00ad"} & set(pieces)
    assert set(read_lines(data.text_path("train", "en"))) == {"Hello", "softer"}
    assert report.splits["train"].counts.changed["bom"] == 40
    assert report.splits["train"].counts.changed["soft_hyphen"] == 20


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"1\n2\n3\n4\n5\n", b"1\n2\n3\n4\n", r"line counts differ: .*s\.en 5 lines, .*t\.de 4 lines"),
        (b"ok\nfine\nCaf\xe9\n", b"a\nb\nc\n", r"s\.en:3: invalid UTF-8 \(byte 0xE9 at column 4\)"),
        (b"a\n\n", b"a\nb\n", r"train .*no pair is left \(read 2, kept 0, dropped 2 \(empty_source 1, copy 1\)\)"),
        (b"", b"", r"no pair is left \(read 0, kept 0, dropped 0\)"),
    ],
)
def test_a_mistake_in_the_text_leaves_nothing_behind(tmp_path: Path, source: bytes, target: bytes, message: str) -> None:
    chosen = config(tmp_path, source, target)
    before = set(tmp_path.iterdir())
    with pytest.raises(UserError, match=message):
        prepare(chosen, tmp_path / "out")
    assert set(tmp_path.iterdir()) == before


def test_too_large_a_vocabulary_names_the_largest(tmp_path: Path) -> None:
    source = b"".join(b"some words number %d\n" % number for number in range(50))
    target = b"".join(b"einige Worte Nummer %d\n" % number for number in range(50))
    with pytest.raises(UserError, match=r"vocabulary\.size 37000 is too large for this corpus: at most \d+;") as caught:
        prepare(config(tmp_path, source, target, vocabulary=schema.Vocabulary()), tmp_path / "out")
    most = int(str(caught.value).split("at most ")[1].split(";")[0])
    report = prepare(config(tmp_path, source, target, vocabulary=schema.Vocabulary(size=most)), tmp_path / "out")
    assert report.vocabulary_size == most


def test_only_overwrite_replaces_a_folder_and_only_a_prepared_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare(config(tmp_path), out)
    before = content(out)
    other = config(tmp_path, b"x y\n", b"z\n")
    with pytest.raises(UserError, match=r"out: already there and not empty: give --overwrite"):
        prepare(other, out)
    with pytest.raises(UserError, match="line counts differ"):
        prepare(config(tmp_path, b"1\n", b"1\n2\n"), out, overwrite=True)
    assert content(out) == before
    prepare(config(tmp_path, b"x y\n", b"z\n"), out, overwrite=True)
    assert read_lines(PreparedData.open(out).text_path("train", "en")) == ["x y"]
    assert [path.name for path in tmp_path.glob(".tmp*")] == []

    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="not a prepared data folder"):
        prepare(other, home, overwrite=True)
    assert (home / "letter.txt").read_text() == "dear"

    (out / "test_sets").mkdir()  # from `mtkit prepare` with a test set, or `mtkit evaluate`
    prepare(other, out, overwrite=True)
    (out / "runs" / "base").mkdir(parents=True)
    with pytest.raises(UserError, match=r"out/runs: not made by mtkit prepare, so --overwrite does not delete it: move it"):
        prepare(other, out, overwrite=True)
    assert (out / "runs" / "base").is_dir()


def test_text_is_not_replaced_by_what_is_made_of_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare(config(tmp_path), out)
    (tmp_path / "x").mkdir()
    before = content(out)
    split = {"source": str(out / "train.en"), "target": str(out / "train.de")}
    own = schema.Config.model_validate({"data": {"train": split, "validation": split}})
    for output in (out, tmp_path / "x" / ".." / "out"):
        with pytest.raises(UserError, match=r"train\.en: lies in .*out, which is to be replaced: move it, or give another"):
            prepare(own, output, overwrite=True)
    assert content(out) == before


def test_outputs_that_cannot_be(tmp_path: Path) -> None:
    chosen = config(tmp_path)
    for output in (tmp_path / "s.en", tmp_path / "s.en" / "below"):
        with pytest.raises(UserError, match="is a file, not a folder"):
            prepare(chosen, output)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UserError, match=r"loop: cannot be written \(.*\): clear the way or give another --output"):
        prepare(chosen, tmp_path / "loop")
    with pytest.raises(UserError, match=r"cannot be written \(File name too long\): clear the way or give another --output"):
        prepare(chosen, tmp_path / ("x" * 300))
    (tmp_path / "empty").mkdir()
    prepare(chosen, tmp_path / "empty")
    prepare(chosen, tmp_path / "new" / "deep")
    assert content(tmp_path / "empty") == content(tmp_path / "new" / "deep")


def test_the_number_of_workers_and_the_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = range(200)
    source = b"".join(b"sentence %d is here%s\n" % (i, b" and long" * (i % 40)) for i in lines)
    target = b"".join(b"Satz %d ist da%s\n" % (i, b" und lang" * (i % 37)) for i in lines)
    chosen = config(tmp_path, source, target, cleaning=schema.Cleaning(max_tokens=60))
    prepare(chosen, tmp_path / "one")
    monkeypatch.setattr(splits, "CHUNK", 30)
    prepare(chosen, tmp_path / "two", workers=2)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert 0 < PreparedData.open(tmp_path / "one").report.splits["train"].counts.dropped["too_long"] < 200


def test_each_side_is_numbered_with_a_vocabulary_of_its_own(tmp_path: Path) -> None:
    report = prepare(config(tmp_path, **SEPARATE), tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    vocabularies, pairs = data.vocabularies(), data.pairs("train")
    assert data.report == report
    assert {name for name in content(tmp_path / "out") if name.endswith(".model")} == {
        "vocabulary.source.model",
        "vocabulary.target.model",
    }
    assert [pairs.source(i).tolist() for i in range(3)] == vocabularies.source.encode(
        ["A house stands here.", "The cat sleeps.", "We see & hear 🙂 it."]
    )
    assert [pairs.target(i).tolist() for i in range(3)] == vocabularies.target.encode(
        ["Hier steht ein Haus.", "Die Katze schläft.", "Wir sehen & hören 🙂 es."]
    )
    assert "ö" in vocabularies.target.pieces
    assert "ö" not in vocabularies.source.pieces
    assert report.splits["train"].unknown_rate == 0

    told = json.loads((tmp_path / "out" / "report.json").read_text())
    sizes = len(vocabularies.source), len(vocabularies.target)
    fingerprints = vocabularies.source.fingerprint, vocabularies.target.fingerprint
    assert sizes[0] != sizes[1]
    assert (told["source_vocabulary_size"], told["vocabulary_size"]) == sizes
    assert told["vocabulary_fingerprint"] == "/".join(fingerprints)
    assert summary(report)[-1] == (
        f"vocabularies: source {sizes[0]} pieces, target {sizes[1]} pieces, "
        f"fingerprints {fingerprints[0][:12]}/{fingerprints[1][:12]}"
    )


@pytest.mark.parametrize("many", ["source", "target"])
def test_the_larger_vocabulary_decides_how_wide_a_token_is(tmp_path: Path, many: str) -> None:
    signs = "".join(chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x4E00, 0x9FFF), *range(0x20000, 0x2A6E0)))
    signs = "".join(sign for sign in signs if normalise(sign) == sign)
    full = "".join(f"{signs[start : start + 100]}\n" for start in range(0, len(signs), 100)).encode()
    plain = b"a line of words\n" * full.count(b"\n")
    most = schema.Vocabulary(shared=False, size=300_000, soft_limit=True, character_coverage=1.0)
    sides = (full, plain) if many == "source" else (plain, full)
    cleaning = schema.Cleaning(max_ratio=1000.0)
    prepare(config(tmp_path, *sides, **SEPARATE | {"vocabulary": most}, cleaning=cleaning), tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    vocabularies, pairs = data.vocabularies(), data.pairs("train")
    larger, tokens = (vocabularies.source, pairs.source) if many == "source" else (vocabularies.target, pairs.target)
    assert len(larger) > 65536 > min(len(vocabularies.source), len(vocabularies.target))
    assert larger.decode([tokens(i).tolist() for i in range(len(pairs))]) == full.decode().splitlines()


def test_a_folder_from_before_there_was_a_choice_is_read(tmp_path: Path) -> None:
    report = prepare(config(tmp_path), tmp_path / "out")
    file = tmp_path / "out" / "report.json"
    told = json.loads(file.read_text())
    del told["source_vocabulary_size"], told["config"]["vocabulary"]["shared"]
    file.write_text(json.dumps(told))
    data = PreparedData.open(tmp_path / "out")
    assert data.vocabularies().shared
    assert data.vocabularies().fingerprint == report.vocabulary_fingerprint


def test_a_wrong_vocabulary_of_two_is_refused_with_all_fingerprints(tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare(config(tmp_path, **SEPARATE), out)
    data = PreparedData.open(out)
    right, wrong = data.vocabularies(), learn_vocabularies([{"x": 1}], SEPARATE["vocabulary"]).source
    (out / "vocabulary.target.model").write_bytes(wrong.model_bytes)
    with pytest.raises(UserError) as caught:
        data.vocabularies()
    assert str(caught.value) == (
        f"{out}/vocabulary.{{source,target}}.model: vocabulary differs: {right.source.fingerprint[:12]}/"
        f"{wrong.fingerprint[:12]}, but the data was numbered with {right.source.fingerprint[:12]}/"
        f"{right.target.fingerprint[:12]}: run mtkit prepare again"
    )
    (out / "vocabulary.target.model").write_bytes(right.target.model_bytes[:-100])
    with pytest.raises(UserError, match=rf"^{out}/vocabulary\.target\.model: not a SentencePiece model"):
        data.vocabularies()


def text_chunk(lines: list[str], first: int) -> TextChunk:
    """Lines that are their own translations."""
    text = "".join(f"{line}\n" for line in lines).encode()
    ends = line_ends(text) + 100 * first
    return TextChunk(text, text, np.column_stack([np.arange(first, first + len(lines)), ends, ends]))


def test_a_chunk_knows_its_pairs() -> None:
    chunk = text_chunk(["aé", "", "🙂b", "c"], 7)
    assert [chunk.pair(number) for number in range(4)] == [("aé", "aé"), ("", ""), ("🙂b", "🙂b"), ("c", "c")]
    assert chunk.where(np.array([True, False, True, False])) == ("aé\n🙂b\n".encode(),) * 2
    assert chunk.where(np.zeros(4, dtype=bool)) == (b"", b"")
    assert chunk.span == (7, 10)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_give_each_side_its_own_numbers(workers: int) -> None:
    vocabularies = learn_vocabularies([{"bako": 9}, {"βακο": 9}], schema.Vocabulary(soft_limit=True))
    lines = ["bako βακο", "βακο"]
    (chunk,) = encode_chunks(vocabularies, [text_chunk(lines, 1)], workers, "train")
    assert chunk.characters.tolist() == [[9, 9], [4, 4]]
    source, target = chunk.source.tolist(), chunk.target.tolist()
    assert source == vocabularies.source.encode(lines)
    assert target == vocabularies.target.encode(lines)
    assert source != target


def test_a_failing_worker_names_corpus_and_lines() -> None:
    vocabularies = learn_vocabularies([{"a": 1}], schema.Vocabulary(soft_limit=True))
    good = text_chunk(["a", "b"], 1)
    bad = TextChunk(b"a\n\xff\n", b"c\nd\n", np.array([[3, 2, 2], [7, 4, 4]]))
    for workers in (1, 2):
        encoded = encode_chunks(vocabularies, [good, bad, good], workers, "train (a.en + a.de)")
        assert next(encoded).source.tolist() == vocabularies.source.encode(["a", "b"])
        with pytest.raises(RuntimeError, match=r"train \(a\.en \+ a\.de\), lines 3 to 7, failed: .*UnicodeDecodeError"):
            list(encoded)


class Deadly(bytes):
    """Ends the process that unpickles it, as the kernel does when memory runs out."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (9,)


def test_a_killed_worker_is_told_and_nothing_hangs() -> None:
    vocabularies = learn_vocabularies([{"a": 1}], schema.Vocabulary(soft_limit=True))
    chunk = TextChunk(Deadly(b"a\n"), b"b\n", np.array([[1, 2, 2]]))
    with pytest.raises(RuntimeError, match=r"train, lines 1 to 1, failed: a worker process was killed.*--workers"):
        list(encode_chunks(vocabularies, [chunk], 2, "train"))


def test_opening_what_is_no_prepared_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UserError, match=r"not a prepared data folder .*run mtkit prepare --config"):
            PreparedData.open(folder)
    out = tmp_path / "out"
    prepare(config(tmp_path), out)
    data = PreparedData.open(out)

    report = (out / "report.json").read_text()
    (out / "report.json").write_text(report.replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(UserError, match="prepared in format 2, this version of mtkit reads 1"):
        PreparedData.open(out)
    (out / "report.json").write_text(report[: len(report) // 2])
    with pytest.raises(UserError, match=r"report\.json: damaged"):
        PreparedData.open(out)

    (out / "report.json").write_text(report.replace('"lines": 3', '"lines": 2'))
    with pytest.raises(UserError, match="train has 3 pairs, its report says otherwise"):
        PreparedData.open(out).pairs("train")

    (out / "train.source.bin").write_bytes(b"")
    with pytest.raises(UserError, match=r"train\.source\.bin: damaged"):
        data.pairs("train")
    learn_vocabularies([{"x": 1}], schema.Vocabulary(soft_limit=True)).save(out)
    with pytest.raises(UserError, match=r"vocabulary\.model: vocabulary differs: [0-9a-f]{12}"):
        data.vocabularies()


def test_a_split_that_was_not_prepared(tmp_path: Path) -> None:
    whole = config(tmp_path)
    without_test = whole.model_copy(update={"data": whole.data.model_copy(update={"test": schema.Split()})})
    prepare(without_test, tmp_path / "out")
    data = PreparedData.open(tmp_path / "out")
    assert set(data.report.splits) == {"train", "validation"}
    for opened in (data.pairs, lambda split: data.text_path(split, "en")):
        with pytest.raises(UserError, match=r"no test data was prepared: set data\.test\.source"):
            opened("test")


def test_words_too_long_for_the_vocabulary_are_told(tmp_path: Path) -> None:
    """V3: a line may be as long as it likes, all its words are used; only words beyond the trainer's limit are not."""
    lines = [b"short words here"] * 94 + [b"many words " * 500] * 3 + [b"x" * 5000] * 3
    chosen = config(
        tmp_path,
        b"\n".join(lines),
        b"\n".join([b"kurze Worte"] * 100),
        cleaning=schema.Cleaning(max_tokens=100_000, max_ratio=1e5),
    )
    report = prepare(chosen, tmp_path / "out")
    assert report.words_left_out == 3
    assert "WARNING: 3 words of more than 4192 bytes were not used for the vocabulary" in summary(report)
    assert {"\u2581many", "\u2581words"} <= set(PreparedData.open(tmp_path / "out").vocabularies().source.pieces)
