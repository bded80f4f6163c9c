"""Whatever the bytes, the kind of file and the options: all pairs are accounted for, or the line at fault is named."""

import bz2
import gzip
import itertools
import json
import lzma
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtkit.config.schema import Config
from mtkit.data import splits
from mtkit.data.cleaning import unescape
from mtkit.data.folder import PreparedData
from mtkit.data.normalisation import NORMALISATIONS
from mtkit.data.preparation import prepare
from mtkit.data.vocabulary import UNK
from mtkit.support.errors import UserError
from mtkit.support.lines import raw_lines, read_lines

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: bytes(pyarrow.Codec("zstd").compress(content, asbytes=True)),
}

ODD = [
    *("a b", "Straße", "a b", "x__P1__y", "<bt> z", "</s>", "&amp;lt;", "?a=1&copy=2", "&#0;", "\u2028", "\r", "", " "),
    *("A\u030a", "\ufb01", "\u2581", "\u2047", "\ufeff", "\u200b", "\xad", "🙂", "word " * 30, "\x85", "\x00"),
]
SIDE = st.one_of(
    st.sampled_from([text.encode() for text in ODD]),
    st.sampled_from([b"\xff", b"Caf\xe9", b"\xe2\x82", b"\xed\xa0\x80"]),
    st.binary(max_size=12),
    st.text(max_size=8).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
ROWS = st.lists(st.tuples(SIDE, SIDE), max_size=8)
CHOICES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "cleaning": {
        "on_bad_utf8": st.sampled_from(["error", "drop", "replace"]),
        "unescape_entities": st.booleans(),
        "drop_copies": st.booleans(),
        "drop_duplicates": st.booleans(),
        "drop_duplicate_sources": st.booleans(),
        "drop_duplicate_targets": st.booleans(),
        "drop_held_out": st.sampled_from(["none", "none", "pairs", "sources", "targets", "either"]),
        "max_tokens": st.sampled_from([5, 256]),
        "max_ratio": st.sampled_from([1.5, 9.0]),
    },
    "vocabulary": {
        "kind": st.sampled_from(["bpe", "unigram"]),
        "normalization": st.sampled_from(list(NORMALISATIONS)),
        "shared": st.booleans(),
        "byte_fallback": st.booleans(),
        "symbols": st.sampled_from([(), ("__P1__",)]),
        "tags": st.sampled_from([(), ("<2de>",)]),
    },
}
OPTIONS = st.fixed_dictionaries({section: st.fixed_dictionaries(choices) for section, choices in CHOICES.items()})


def write(folder: Path, kind: str, ending: str, rows: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Rows as a file or two; what the config says of them."""
    if kind == "two":
        sides = {"source": 0, "target": 1}
        content = {f"{side}.txt": b"\n".join(row[place] for row in rows) for side, place in sides.items()}
        named = {side: f"{folder}/{side}.txt{ending}" for side in sides}
    elif kind == "tsv":
        content = {"a.tsv": b"\n".join(b"\t".join(row) for row in rows)}
        named = {"tsv": f"{folder}/a.tsv{ending}"}
    else:
        texts = ([as_json_text(side) for side in row] for row in rows)
        content = {"a.jsonl": "".join(json.dumps({"en": en, "de": de}) + "\n" for en, de in texts).encode()}
        named = {"jsonl": f"{folder}/a.jsonl{ending}"}
    for name, text in content.items():
        (folder / f"{name}{ending}").write_bytes(COMPRESS[ending](text))
    return named


def as_json_text(side: bytes) -> str:
    """JSON holds lone surrogates, but no bytes that are not text."""
    try:
        return side.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return side.decode("utf-8", "replace")


def as_read(named: dict[str, str]) -> list[tuple[str, str]]:
    """The pairs of the files, decoded, bad bytes as surrogates."""
    if "source" in named:
        sides = [[raw.decode("utf-8", "surrogateescape") for raw in raw_lines(named[side])] for side in ("source", "target")]
        return list(zip(*sides, strict=True))
    (file,) = named.values()
    lines = [raw.decode("utf-8", "surrogateescape") for raw in raw_lines(file)]
    if "tsv" in named:
        return [tuple(line.split("\t")) for line in lines]  # type: ignore[misc]
    objects = (json.loads(line) for line in lines)
    return [(row["en"].replace("\t", " "), row["de"].replace("\t", " ")) for row in objects]


def check_training_text(data: PreparedData, named: dict[str, str], options: dict[str, dict[str, Any]]) -> None:
    """The text is what stands in the files, cleaned, and the numbers are those of the text."""
    counts, pairs, vocabularies = data.report.splits["train"].counts, data.pairs("train"), data.vocabularies()
    text = [read_lines(data.text_path("train", language)) for language in ("en", "de")]
    assert len(pairs) == counts.kept == len(text[0]) == len(text[1])
    source = [pairs.source(number).tolist() for number in range(len(pairs))]
    target = [pairs.target(number).tolist() for number in range(len(pairs))]
    assert [vocabularies.source.decode(source), vocabularies.target.decode(target)] == text
    assert min(itertools.chain.from_iterable([*source, *target]), default=UNK + 1) > UNK

    treat = NORMALISATIONS[options["vocabulary"]["normalization"]].treat
    cleaning = options["cleaning"]
    rows = as_read(named)
    assert counts.read == len(rows)
    for number in range(len(pairs)):
        for cleaned, raw in zip((text[0][number], text[1][number]), rows[pairs.line(number) - 1], strict=True):
            valid = re.sub("[\udc80-\udcff]+", "\ufffd", raw)
            assert valid == raw or cleaning["on_bad_utf8"] == "replace"
            assert cleaned == treat(unescape(valid) if cleaning["unescape_entities"] else valid)
    kept = list(zip(*text, strict=True))
    assert not cleaning["drop_copies"] or all(one != other for one, other in kept)
    for rule, seen in (("drop_duplicates", kept), ("drop_duplicate_sources", text[0]), ("drop_duplicate_targets", text[1])):
        assert not cleaning[rule] or len(set(seen)) == len(seen)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, ROWS, st.sampled_from(["two", "two", "tsv", "jsonl"]), st.sampled_from(list(COMPRESS)), OPTIONS)
def test_any_bytes_are_prepared_or_refused(
    tmp_path: Path,
    rows: list[tuple[bytes, bytes]],
    held_out: list[tuple[bytes, bytes]],
    kind: str,
    ending: str,
    options: dict[str, dict[str, Any]],
) -> None:
    shutil.rmtree(tmp_path)
    for split in ("train", "test"):
        (tmp_path / split).mkdir(parents=True)
    named = write(tmp_path / "train", kind, ending, rows)
    test = write(tmp_path / "test", kind, ending, held_out or [(b"x", b"y")])
    coverage = {"character_coverage": 0.9999 if options["vocabulary"]["byte_fallback"] else 1.0}
    config = Config.model_validate(
        {
            "data": {"train": named, "validation": test, "test": test},
            "cleaning": options["cleaning"],
            "vocabulary": options["vocabulary"] | coverage | {"size": 2000, "soft_limit": True},
            "model": {"tied_embeddings": "all" if options["vocabulary"]["shared"] else "decoder"},
        }
    )
    before = set(tmp_path.iterdir())
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(splits, "CHUNK", 3)
            report = prepare(config, tmp_path / "out")
    except UserError as error:
        told = str(error)
        assert set(tmp_path.iterdir()) == before
        where = rf"(train|test)/(source|target|a)\.(txt|tsv|jsonl)({re.escape(ending)})?:\d+: "
        whole = r"^line counts differ: .* \d+ lines, .* \d+ lines$|: no pair is left \(read \d+, kept 0,"
        assert re.search(f"{where}|{whole}", told)
        assert "invalid UTF-8" not in told or options["cleaning"]["on_bad_utf8"] == "error"
        return
    data = PreparedData.open(tmp_path / "out")
    assert data.report == report
    for about in report.splits.values():
        assert about.counts.read == about.counts.kept + sum(about.counts.dropped.values())
        assert about.counts.kept == about.lines == sum(part.kept or 0 for part in about.parts)
    check_training_text(data, named, options)
    rows_held_out = len(as_read(test))
    for split, language in itertools.product(("validation", "test"), ("en", "de")):
        assert len(read_lines(data.text_path(split, language))) == len(data.pairs(split)) == rows_held_out
