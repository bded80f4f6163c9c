"""Named test sets: a name and a language pair in, source and reference lines out.

sacreBLEU fetches a set once; from then on it is plain files in a folder of the user's, with a record of their line count
and SHA-256, and no network is needed. Lines end at `\\n` only and are kept as sacreBLEU hands them out (it collapses white
space). Knows nothing of scores or models.
"""

import difflib
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import sacrebleu
from sacrebleu.dataset import DATASETS

from mtkit.evaluation.fetching import FetchError, fetch, own_folder
from mtkit.support.errors import UserError
from mtkit.support.files import sha256, write_text, writing
from mtkit.support.lines import read_lines

SACREBLEU_NAMES: Mapping[str, str] = {"newstest2014": "wmt14/full", "newstest2014-filtered": "wmt14"}
"""Names that differ from sacreBLEU's by more than newstest20YY = wmtYY. The set that papers report on is the full one."""

TEST_SETS = "test_sets"
"""Folder of the named test sets, inside the prepared data folder."""

NEWSTEST2014_BY_LINES: Mapping[int, str] = {
    3003: "newstest2014 (sacreBLEU's wmt14/full)",
    2737: "newstest2014-filtered (sacreBLEU's wmt14)",
}
"""The two English-German sets that are taken for each other."""

_SAME_IN_ALL_LANGUAGES = {"wmt08": 2051, "wmt09": 2525, "wmt10": 2489, "wmt11": 3003, "wmt12": 3003, "wmt13": 3000}
PINNED_LINES: Mapping[tuple[str, str], int] = {
    **{
        (name, pair): lines
        for name, lines in _SAME_IN_ALL_LANGUAGES.items()
        for pair in ("en-de", "de-en", "en-fr", "fr-en")
    },
    **{("wmt14/full", pair): 3003 for pair in ("en-de", "de-en", "en-fr", "fr-en")},
    ("wmt14", "en-de"): 2737,
    ("wmt14", "en-fr"): 3003,
    **{
        (name, pair): lines
        for name, lines in {"wmt15": 2169, "wmt16": 2999, "wmt17": 3004, "wmt18": 2998}.items()
        for pair in ("en-de", "de-en")
    },
    **{(f"multi30k/{year}", pair): 1000 for year in (2016, 2017) for pair in ("en-de", "en-fr")},
    ("wmt19", "en-de"): 1997,
    ("wmt20", "en-de"): 1418,
}
"""(sacreBLEU's name, language pair) -> lines, where known: a copy with another count is cut or is another set.

The figures are those of WMT's and Multi30k's published files, counted in public copies of them. What stands in the lines is
not pinned here: sacreBLEU pins the MD5 of every archive that it downloads, and what comes of it is recorded with its SHA-256
when it is kept. The public copies are not byte for byte what sacreBLEU hands out: white space and quotation marks differ.
"""


@dataclass(frozen=True)
class TestSet:
    """Lines to translate and the references to compare with."""

    __test__ = False  # pytest collects what is named Test...

    name: str
    """As the user calls it."""
    sacrebleu_name: str
    language_pair: str
    """source-target, for example en-de."""
    source: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    """One tuple of lines per reference set, each as long as `source`."""
    reference_sha256: tuple[str, ...]
    """Per reference set: hexadecimal SHA-256 of its lines, each ended by \\n."""

    @property
    def lines(self) -> int:
        """Number of sentences."""
        return len(self.source)

    @property
    def label(self) -> str:
        """How reports call it: newstest2014 (wmt14/full)."""
        return self.name if self.name == self.sacrebleu_name else f"{self.name} ({self.sacrebleu_name})"


def load_test_set(name: str, source_language: str, target_language: str, folder: Path | None) -> TestSet:
    """The test set `name`, from `folder` if it is there, else through sacreBLEU and then kept in `folder`, if there is one.

    `name` is newstest20YY, newstest2014-filtered or any name of sacreBLEU's. Raises UserError for a name or a language
    pair that is not known, for a set that cannot be downloaded, and for a copy that is cut or changed.
    """
    pair = f"{source_language}-{target_language}"
    sacrebleu_name = resolve_name(name, pair)
    with tempfile.TemporaryDirectory() as nowhere:
        record = (folder or Path(nowhere)) / f"{name.replace('/', '_')}.{pair}.json"
        if not record.exists():
            _keep(_fetch(name, sacrebleu_name, pair, folder), record, sacrebleu_name)
        return _read_kept(name, sacrebleu_name, pair, record)


def resolve_name(name: str, pair: str) -> str:
    """sacreBLEU's name of the test set `name`. Raises UserError if it is not known or lacks the language pair."""
    year = re.fullmatch(r"newstest20(\d\d)", name)
    known = SACREBLEU_NAMES.get(name) or (f"wmt{year[1]}" if year else name)
    if known not in DATASETS:
        offered = [other for other, dataset in DATASETS.items() if pair in dataset.langpairs]
        offered += [f"newstest20{other[3:]}" for other in offered if re.fullmatch(r"wmt\d\d", other)]
        offered += [ours for ours, theirs in SACREBLEU_NAMES.items() if theirs in offered and ours not in offered]
        close = difflib.get_close_matches(name, offered, n=3)
        advice = f"did you mean {' or '.join(close)}?" if close else f"`sacrebleu --list -l {pair}` lists what there is"
        raise UserError(f"unknown test set {name!r} for {pair}: {advice}")
    pairs = sorted(DATASETS[known].langpairs)
    if pair not in pairs:
        languages = "set data.source_language and data.target_language to one of its language pairs"
        raise UserError(f"test set {name!r} has no {pair}: {languages}, {' '.join(pairs)}")
    return known


def _fetch(name: str, sacrebleu_name: str, pair: str, folder: Path | None) -> list[list[str]]:
    """Source lines, then the lines of each reference: sacreBLEU's, and as many as there should be."""
    theirs = own_folder(sacrebleu_name)
    try:
        texts, downloaded = fetch(sacrebleu_name, pair)
    except FetchError as error:
        kept = f"{name.replace('/', '_')}.{pair}.* of mtkit's test sets to {folder}, or " if folder else ""
        files = "--source FILE --reference FILE" if folder else "data.validation.source and .target (or data.test)"
        raise UserError(
            f"test set {name} ({sacrebleu_name}, {pair}) cannot be downloaded: {error}: from a machine that has it copy "
            f"{kept}the folder {sacrebleu_name} of sacreBLEU's to {theirs}; or use local files with {files}"
        ) from None
    counts = [len(lines) for lines in texts]
    origin = "the download" if downloaded else str(theirs)
    if len(texts) < 2 or not counts[0] or len(set(counts)) > 1:
        raise UserError(
            f"{origin}: {name} {pair} has {counts[0]} source lines and references of {counts[1:]} lines: "
            f"it is incomplete; {'try again' if downloaded else 'delete that folder and try again'}"
        )
    _check_pin(name, sacrebleu_name, pair, counts[0], where=origin)
    return texts


def _keep(texts: list[list[str]], record: Path, sacrebleu_name: str) -> None:
    """Writes the texts and, last, the record that makes them count: what a killed process left has none."""
    with writing(record.parent):
        record.parent.mkdir(parents=True, exist_ok=True)
    paths = _text_paths(record, len(texts))
    for path, lines in zip(paths, texts, strict=True):
        write_text(path, "".join(f"{line}\n" for line in lines))
    content = {
        "sacrebleu": sacrebleu_name,
        "sacrebleu_version": sacrebleu.__version__,
        "lines": len(texts[0]),
        "sha256": {path.name: sha256(path) for path in paths},
    }
    write_text(record, json.dumps(content, indent=2) + "\n")


def _read_kept(name: str, sacrebleu_name: str, pair: str, record: Path) -> TestSet:
    again = f"delete {record} to fetch it again"
    try:
        content = json.loads(record.read_bytes())
        digests, recorded_name = dict(content["sha256"]), content["sacrebleu"]
        paths = _text_paths(record, len(digests))
        expected = [digests[path.name] for path in paths]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{record}: is not the record of a test set: {again}") from None
    if recorded_name != sacrebleu_name or len(paths) < 2:
        raise UserError(f"{record}: records {recorded_name!r}, not {sacrebleu_name} with a reference: {again}")
    for path, digest in zip(paths, expected, strict=True):
        if not path.exists() or sha256(path) != digest:
            state = "changed or cut since it was fetched" if path.exists() else "missing"
            raise UserError(f"{path}: {state} ({record.name} records its sha256): {again}")
    source, *references = [tuple(read_lines(path)) for path in paths]
    _check_pin(name, sacrebleu_name, pair, len(source), where=str(paths[0]))
    return TestSet(name, sacrebleu_name, pair, source, tuple(references), tuple(expected[1:]))


def _text_paths(record: Path, count: int) -> list[Path]:
    """NAME.en-de.en, NAME.en-de.de and, for further references, NAME.en-de.de.2 and so on, beside NAME.en-de.json."""
    stem = record.name.removesuffix(".json")
    source_language, target_language = stem.rpartition(".")[2].split("-", 1)
    further = [f"{target_language}.{number}" for number in range(2, count)]
    return [record.with_name(f"{stem}.{end}") for end in (source_language, target_language, *further)]


def _check_pin(name: str, sacrebleu_name: str, pair: str, lines: int, *, where: str) -> None:
    pinned = PINNED_LINES.get((sacrebleu_name, pair), lines)
    if lines != pinned:
        other = NEWSTEST2014_BY_LINES.get(lines) if pinned in NEWSTEST2014_BY_LINES else None
        hint = f" (as many as {other} has)" if other else ""
        what = f"{name} ({sacrebleu_name}, {pair})"
        raise UserError(f"{where}: {what} has {lines} lines{hint}, should be {pinned}: delete it and try again")
