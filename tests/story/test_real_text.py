"""Real corpora, where they lie beside the checkout (or where MTKIT_REAL_DATA says): every count is known and explained.

Multi30k, newstest, Europarl, OpenNMT's demo corpus and Tatoeba, as their publishers hand them out.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtkit.config.schema import Config
from mtkit.data.alignment import AlignmentWatch
from mtkit.data.folder import PreparedData, Report
from mtkit.data.normalisation import nfc
from mtkit.data.preparation import prepare
from mtkit.support.lines import raw_lines, read_lines

REAL = Path(os.environ.get("MTKIT_REAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
NEWS = "newstest/en-de/newstest"
TATOEBA = "tatoeba/manythings-deu-eng-2018-05-13"

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real corpora are not here")


def two(name: str) -> dict[str, Any]:
    return {"source": f"{REAL}/{name}.en.gz", "target": f"{REAL}/{name}.de.gz"}


def prepared(folder: Path, train: dict[str, Any], test: dict[str, Any], **cleaning: Any) -> Report:
    data = {"train": train, "validation": two(f"{NEWS}2013"), "test": test}
    vocabulary = {"size": 4000, "soft_limit": True}
    return prepare(Config.model_validate({"data": data, "cleaning": cleaning, "vocabulary": vocabulary}), folder / "out")


def changed(report: Report, split: str) -> dict[str, int]:
    return {kind: count for kind, count in report.splits[split].counts.changed.items() if count}


def pairs(name: str) -> list[tuple[str, str]]:
    source, target = (list(raw_lines(f"{REAL}/{name}.{language}.gz")) for language in ("en", "de"))
    return [(a.decode(), b.decode()) for a, b in zip(source, target, strict=True)]


def test_news_with_next_line_and_c1_controls(tmp_path: Path) -> None:
    """U+0085 stands in 6 lines of newstest2009.de, 8 times in all; C1 controls in 124 lines of newstest2008.de."""
    report = prepared(tmp_path, two(f"{NEWS}2009"), two(f"{NEWS}2008"))
    german = [target for _, target in pairs(f"{NEWS}2009")]
    assert sum("\x85" in line for line in german) == 6
    assert report.splits["train"].counts.read == len(german) == 2525
    assert changed(report, "train")["line_separator"] == sum(line.count("\x85") for line in german) == 8
    data = PreparedData.open(tmp_path / "out")
    assert len(read_lines(data.text_path("train", "de"))) == report.splits["train"].lines
    raw = [target for _, target in pairs(f"{NEWS}2008")]
    assert sum(any("\x80" <= sign <= "\x9f" for sign in line) for line in raw) == 124
    assert read_lines(data.text_path("test", "de")) == raw, "references are as they were"


@pytest.mark.slow
def test_europarl(tmp_path: Path) -> None:
    """25 pairs have equal sides; 204 of the others were there before; a handful is too long or too unequal."""
    name = "wmt-train-sample/europarl-v7.head20k"
    report = prepared(tmp_path, two(name), two(f"{NEWS}2014"), drop_duplicates=True)
    text = [(nfc(source), nfc(target)) for source, target in pairs(name)]
    different = [pair for pair in text if pair[0] != pair[1]]
    dropped = {reason: count for reason, count in report.splits["train"].counts.dropped.items() if count}
    assert report.splits["train"].counts.read == 20_000
    assert dropped.pop("copy") == 20_000 - len(different) == 25
    assert dropped.pop("duplicate") == len(different) - len(set(different)) == 204
    assert set(dropped) <= {"too_long", "ratio"}
    assert sum(dropped.values()) <= 10
    soft_hyphens = sum(target.count("\xad") for pair in pairs(name) for target in pair)
    assert changed(report, "train") == {"soft_hyphen": soft_hyphens} == {"soft_hyphen": 116}
    assert report.splits["train"].parts[0].misaligned == ()


def test_two_stretches_of_a_published_set_are_shifted(tmp_path: Path) -> None:
    """IWSLT 2016, TEDx dev2012: whoever reads lines 191 to 215 and 910 to 978 sees that they belong one line further."""
    report = prepared(tmp_path, two("iwslt16-ted/IWSLT16.TEDX.dev2012"), two(f"{NEWS}2014"))
    (part,) = report.splits["train"].parts
    assert part.misaligned == ((191, 215), (910, 978))
    assert not report.splits["validation"].parts[0].misaligned
    assert not report.splits["test"].parts[0].misaligned


def test_real_text_that_is_aligned_gives_no_alarm() -> None:
    """402 thousand pairs of 48 sets: besides the two true runs above one false alarm, in a file sorted by length."""
    found = {}
    for source in sorted(REAL.rglob("*.en.gz")):
        for language in ("de", "fr"):
            target = Path(str(source).removesuffix(".en.gz") + f".{language}.gz")
            if target.is_file():
                watch = AlignmentWatch(10)
                sides = (np.array([len(raw.decode()) for raw in raw_lines(side)], np.int32) for side in (source, target))
                watch.add(*sides)
                found[f"{source.name.removesuffix('.en.gz')}.{language}"] = [(run.first, run.last) for run in watch.runs()]
    assert len(found) == 48
    assert {name: runs for name, runs in found.items() if runs} == {
        "IWSLT16.TEDX.dev2012.de": [(191, 215), (910, 978)],
        "manythings-deu-eng-2018-05-13.de": [(150866, 150876)],
    }


@pytest.mark.slow
def test_the_demo_corpus_of_opennmt(tmp_path: Path) -> None:
    """English line 5 is empty; 980 English and 452 German lines hold entities."""
    name = "wmt-train-sample/opennmt-demo.train10k.tok"
    report = prepared(tmp_path, two(name), two(f"{NEWS}2014"))
    counts = report.splits["train"].counts
    assert counts.read == 10_000
    assert {reason: count for reason, count in counts.dropped.items() if count} == {"empty_source": 1, "copy": 14}
    assert report.splits["train"].examples["empty_source"][0].line == 5
    assert counts.changed["entity"] == 980 + 452


@pytest.mark.slow
def test_multi30k(tmp_path: Path) -> None:
    """16 English lines and 1 German one of training hold entities; a source and a target of validation are in training."""
    raw = "multi30k/raw"
    data = {"train": two(f"{raw}/train"), "validation": two(f"{raw}/val"), "test": two(f"{raw}/test_2016_flickr")}
    vocabulary = {"size": 6000}
    report = prepare(Config.model_validate({"data": data, "vocabulary": vocabulary}), tmp_path / "out")
    assert [str(report.splits[split].counts) for split in data] == [
        "read 29000, kept 29000, dropped 0",
        "read 1014, kept 1014, dropped 0",
        "read 1000, kept 1000, dropped 0",
    ]
    assert changed(report, "train") == {"nbsp": 47, "entity": 16 + 1}
    assert report.splits["validation"].given_away == {"pairs": 0, "sources": 1, "targets": 1}
    assert report.splits["test"].given_away["sources"] == 0
    assert report.vocabulary_fingerprint.startswith("cf6aca6de488"), "what trained models were numbered with"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_tatoeba_gives_its_test_set_away(tmp_path: Path) -> None:
    """5,742 of the 17,565 test pairs are training pairs too; each is there once, so as many are left out."""
    train = {"tsv": f"{REAL}/{TATOEBA}.tsv.gz"}
    report = prepared(tmp_path, train, two("tatoeba/tatoeba-test-v2021-08-07"), drop_held_out="pairs")
    assert str(report.splits["train"].counts) == "read 169813, kept 164071, dropped 5742 (held_out 5742)"
    assert report.splits["test"].given_away["pairs"] == 5742
    assert report.splits["test"].lines == 17_565
