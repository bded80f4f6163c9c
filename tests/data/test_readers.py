"""Files of every kind hold the same pairs, and what cannot be read is named with its line."""

import bz2
import gzip
import json
import lzma
import os
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pydantic import ValidationError

from mtkit.config import schema
from mtkit.config.loader import override_config
from mtkit.config.schema import Config
from mtkit.data.corpus import open_corpora
from mtkit.support.errors import UserError

PAIRS = [("A house.", "Ein Haus."), ("tab\there", "„zwei“\nZeilen"), ("", "leer")]
FLAT = [(source.replace("\t", " "), target) for source, target in PAIRS]


def zstd(content: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))


def texts(**train: object) -> list[tuple[str, str]]:
    split = schema.Split.model_validate(train)
    corpora = open_corpora(schema.Data(train=split, validation=split, test=schema.Split()))
    return [(pair.source, pair.target) for pair in corpora["train"]]


@pytest.mark.parametrize(
    ("ending", "compress"),
    [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zstd)],
)
def test_compressed_files_are_read_like_plain_ones(tmp_path: Path, ending: str, compress: object) -> None:
    assert callable(compress)
    files = {}
    for name, content in (("source", b"\xef\xbb\xbfone\r\ntwo\xe2\x80\xa8more\n"), ("target", b"eins\nzwei")):
        path = tmp_path / f"{name}.txt{ending}"
        path.write_bytes(compress(content))
        files[name] = str(path)
    assert texts(**files) == [("one", "eins"), ("two\u2028more", "zwei")]
    if ending:
        Path(files["target"]).write_bytes(Path(files["target"]).read_bytes()[:-6])
        with pytest.raises(UserError, match=rf"target\.txt{ending}: cannot be read: "):
            texts(**files)


@pytest.mark.parametrize("nested", [True, False])
def test_json_lines_and_parquet(tmp_path: Path, nested: bool) -> None:
    rows = [{"en": source, "de": target, "n": 1} for source, target in PAIRS]
    tables = [{"translation": row} for row in rows] if nested else rows
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tables))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(tables), tmp_path / "a.parquet")
    assert texts(jsonl=f"{tmp_path}/a.jsonl") == FLAT
    assert texts(parquet=f"{tmp_path}/a.parquet") == FLAT


def test_columns_of_other_names_and_empty_cells(tmp_path: Path) -> None:
    rows = [{"src": "a", "tgt": "b"}, {"src": None, "tgt": "\ud800x"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([rows[0], {"src": None, "tgt": "x"}]), tmp_path / "a.parquet")
    assert texts(jsonl=f"{tmp_path}/a.jsonl", columns=["src", "tgt"]) == [("a", "b"), ("", "\ufffdx")]
    assert texts(parquet=f"{tmp_path}/a.parquet", columns=["src", "tgt"]) == [("a", "b"), ("", "x")]
    with pytest.raises(UserError, match=r"a\.parquet has no 'en' \(it has src, tgt\)"):
        texts(parquet=f"{tmp_path}/a.parquet")


@pytest.mark.parametrize(
    "row", ["", "{", "[1]", "3", '{"en": "a"}', '{"en": 1, "de": "b"}', '{"translation": "x"}', "[" * 100_000]
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, row: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"en": "a", "de": "b"}\n' + row + "\n")
    with pytest.raises(UserError, match=r"a\.jsonl:2: no JSON object with text under 'en' and 'de'"):
        texts(jsonl=f"{tmp_path}/a.jsonl")


def test_damaged_parquet_is_named(tmp_path: Path) -> None:
    rows = [{"en": f"sentence {i}", "de": f"Satz {i}"} for i in range(5000)]
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(UserError, match=r"a\.parquet: cannot be read: "):
        texts(parquet=str(path))
    path.write_bytes(whole[:100] + b"\xff" * 2000 + whole[2100:])
    with pytest.raises(UserError, match=r"a\.parquet: cannot be read: "):
        texts(parquet=str(path))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"en": 1, "de": "x"}]), path)
    with pytest.raises(UserError, match=r"a\.parquet: 'en' holds int64, not text"):
        texts(parquet=str(path))


@pytest.mark.parametrize("nested", [True, False])
def test_bad_bytes_in_parquet_are_kept_for_the_policy(tmp_path: Path, nested: bool) -> None:
    bad = pyarrow.array([b"caf\xe9", b"a"]).view(pyarrow.string())
    columns = {"en": bad, "de": pyarrow.array(["b", "c"])}
    table = pyarrow.table(columns)
    if nested:
        table = pyarrow.table({"translation": pyarrow.StructArray.from_arrays(list(columns.values()), list(columns))})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert texts(parquet=f"{tmp_path}/a.parquet") == [("caf\udce9", "b"), ("a", "c")]


def test_every_kind_of_text_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    words = pyarrow.array(["a", "b", None, "a"])
    for kind in (words, words.cast(pyarrow.large_string()), words.dictionary_encode()):
        pyarrow.parquet.write_table(pyarrow.table({"en": kind, "de": words}), path)
        assert texts(parquet=str(path)) == [("a", "a"), ("b", "b"), ("", ""), ("a", "a")]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays([words, words, words], ["en", "en", "de"]), path)
    with pytest.raises(UserError, match=r"a\.parquet has 'en' twice"):
        texts(parquet=str(path))


def test_half_characters_that_json_spells_are_no_bad_bytes(tmp_path: Path) -> None:
    rows = (
        rb'''{"en": "\udce9 \ud83d\ude42", "de": "\ud800"}
{"en": "'''
        + b"\xe9"
        + rb""" \ud800", "de": "x"}"""
    )
    (tmp_path / "a.jsonl").write_bytes(rows)
    assert texts(jsonl=f"{tmp_path}/a.jsonl") == [("\ufffd 🙂", "\ufffd"), ("\udce9 \ufffd", "x")]


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet", "source"])
def test_what_is_no_file_is_named(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    more = {"target": f"{tmp_path}/missing"} if kind == "source" else {}
    for name, message in (
        ("pipe", "is a pipe or a device, but text is read more than once: write it to a file first"),
        (".", "cannot be read: is a folder: name the files in it"),
        ("missing", "no such file"),
    ):
        with pytest.raises(UserError) as refusal:
            texts(**{kind: f"{tmp_path}/{name}"}, **more)
        assert str(refusal.value) == f"{tmp_path}/{name}: {message}"


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("a\n" * 9)
    target.write_text("b\n" * 9)
    split = schema.Split(source=(str(source),), target=(str(target),))
    corpus = open_corpora(schema.Data(train=split, validation=split))["train"]
    with source.open("a") as more:
        more.write("a\n")
    with pytest.raises(UserError, match=r"a and .*b changed while they were read"):
        list(corpus)


def test_patterns_pair_files_by_what_the_wild_parts_are(tmp_path: Path) -> None:
    for name in ("a.en", "a.de", "b.en", "b.de", "[x].en"):
        (tmp_path / name).write_text(f"{name}\n")
    assert texts(source=f"{tmp_path}/?.en", target=f"{tmp_path}/?.de") == [("a.en", "a.de"), ("b.en", "b.de")]
    assert texts(source=f"{tmp_path}/[x].en", target=f"{tmp_path}/a.de") == [("[x].en", "a.de")]
    with pytest.raises(UserError, match=r"\[x\]\.en has no counterpart"):
        texts(source=f"{tmp_path}/*.en", target=f"{tmp_path}/*.de")
    (tmp_path / "b.de").rename(tmp_path / "c.de")
    with pytest.raises(UserError, match=r"b\.en has no counterpart"):
        texts(source=f"{tmp_path}/?.en", target=f"{tmp_path}/?.de")
    with pytest.raises(UserError, match=r"none\*\.tsv: no file has such a name"):
        texts(tsv=f"{tmp_path}/none*.tsv")


def test_several_corpora_with_weights_and_tags(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tA\nb\tB\n")
    (tmp_path / "bt.jsonl").write_text('{"en": "c", "de": "C"}\n')
    more = [{"jsonl": f"{tmp_path}/bt.jsonl", "weight": 0.5, "tag": "<bt>"}]
    train = schema.Split.model_validate({"tsv": f"{tmp_path}/a.tsv", "weight": 2, "more": more})
    data = schema.Data(train=train, validation=schema.Split(tsv=train.tsv))
    corpus = open_corpora(data)["train"]
    assert [(part.pairs, part.weight, part.tag) for part in corpus.parts] == [(2, 2.0, ""), (1, 0.5, "<bt>")]
    assert [(pair.source, pair.line) for pair in corpus] == [("a", 1), ("b", 2), ("c", 1)]
    assert data.tags == ("<bt>",)


def test_a_corpus_may_be_added_on_the_command_line() -> None:
    """As scripts/back_translation.sh does."""
    more = "data.train.more=[{source: a.translated.txt, target: news.de.gz, tag: <bt>, weight: 0.5}]"
    (corpus,) = override_config(Config(), [more]).data.train.more
    assert (corpus.source, corpus.target, corpus.tag, corpus.weight) == (("a.translated.txt",), ("news.de.gz",), "<bt>", 0.5)
    with pytest.raises(UserError, match=r"weight: 0}\]: must be a number above 0"):
        override_config(Config(), ["data.train.more=[{tsv: a, weight: 0}]"])


def test_test_sets_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tA\n")
    split = schema.Split(tsv=(f"{tmp_path}/a.tsv",))
    named = schema.Split(test_set="newstest2013")
    corpora = open_corpora(schema.Data(train=split, validation=named), lambda name: ([f"{name} 1", "2"], ["eins", "zwei"]))
    assert [(pair.source, pair.target) for pair in corpora["validation"]] == [("newstest2013 1", "eins"), ("2", "zwei")]
    assert str(corpora["validation"].parts[0]) == "newstest2013"


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({"tsv": "a", "jsonl": "b"}, "give only one of"),
        ({"source": "a"}, r"source names 1 file\(s\) and target names 0"),
        ({"jsonl": "a", "columns": ["x"]}, "columns must name two columns"),
        ({"tsv": "a", "columns": ["x", "y"]}, "columns are those of jsonl, parquet and hub data"),
        ({"tsv": "a", "tag": "a b"}, "without white space"),
        ({"tsv": "a", "tag": "</s>"}, "not a control piece"),
        ({"tsv": "a", "more": [{"weight": 2.0}]}, "more: corpus 1 names no files"),
    ],
)
def test_contradictions(split: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        schema.Split.model_validate(split)


def test_held_out_text_has_no_weight() -> None:
    with pytest.raises(ValidationError, match=r"validation\.weight must be 1"):
        schema.Data(validation=schema.Split(tsv=("a",), weight=2.0))
