"""Test sets: the right one by name, fetched once, offline afterwards, never a damaged copy. All texts are invented."""

import hashlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import NoReturn

import pytest
from sacrebleu.dataset import DATASETS

from mtkit.config.schema import Evaluation
from mtkit.evaluation.scores import score
from mtkit.evaluation.test_sets import PINNED_LINES, load_test_set, resolve_name
from mtkit.support.errors import UserError
from mtkit.support.lines import read_lines

SHARED_DATA = Path(os.environ.get("MTKIT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


def invented(word: str, lines: int) -> list[str]:
    return [f"{word} {number}." for number in range(1, lines + 1)]


def prefill(sacrebleu_folder: Path, name: str, pair: str, fields: dict[str, list[str]]) -> Path:
    """sacreBLEU's folder of one test set as it stands after a download; every field has as many lines as the source."""
    folder = sacrebleu_folder / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = len(fields["src"])
    for field, text in (dict.fromkeys(("docid", "genre", "origlang"), ["en"] * lines) | fields).items():
        path = folder / f"{name.replace('/', '_')}.{pair}.{field}"
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return folder


@pytest.fixture
def sacrebleu_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that sacreBLEU takes for its own (it reads SACREBLEU only when it is imported), and no network."""
    folder = tmp_path / "sacrebleu"
    for name, dataset in DATASETS.items():
        monkeypatch.setattr(dataset, "_outdir", str(folder / name))
        monkeypatch.setattr(dataset, "_rawdir", str(folder / name / "raw"))

    def refuse(*_: object) -> NoReturn:
        raise urllib.error.URLError("no network here")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return folder


def test_newstest2014_is_the_full_set_and_is_kept_as_plain_files(sacrebleu_folder: Path, tmp_path: Path) -> None:
    source, reference = invented("Sentence\u2028no", 3003), invented("Satz\x85Nummer", 3003)
    prefill(sacrebleu_folder, "wmt14/full", "en-de", {"src": source, "ref": reference})
    folder = tmp_path / "sets"
    fetched = load_test_set("newstest2014", "en", "de", folder)
    assert fetched.label == "newstest2014 (wmt14/full)"
    assert (fetched.sacrebleu_name, fetched.language_pair, fetched.lines) == ("wmt14/full", "en-de", 3003)
    assert list(fetched.source) == source
    assert [list(lines) for lines in fetched.references] == [reference]
    assert sorted(path.name for path in folder.iterdir()) == [f"newstest2014.en-de.{end}" for end in ("de", "en", "json")]
    content = (folder / "newstest2014.en-de.de").read_bytes()
    assert content == "".join(f"{line}\n" for line in reference).encode()
    assert fetched.reference_sha256 == (hashlib.sha256(content).hexdigest(),)
    record = json.loads((folder / "newstest2014.en-de.json").read_bytes())
    assert record["lines"] == 3003
    assert record["sha256"]["newstest2014.en-de.de"] == fetched.reference_sha256[0]


def test_a_kept_set_needs_no_sacrebleu_folder(sacrebleu_folder: Path, tmp_path: Path) -> None:
    prefill(sacrebleu_folder, "wmt16", "cs-en", {"src": ["Ja.", ""], "ref": ["Yes.", ""]})
    fetched = load_test_set("wmt16", "cs", "en", tmp_path / "sets")
    for path in (sacrebleu_folder / "wmt16").iterdir():
        path.unlink()
    assert load_test_set("wmt16", "cs", "en", tmp_path / "sets") == fetched
    assert fetched.source == ("Ja.", "")
    assert fetched.label == "wmt16"


def test_all_references_are_kept_in_order(sacrebleu_folder: Path, tmp_path: Path) -> None:
    fields = {"src": ["One.", "Two."], "ref-0": ["Eins.", "Zwei."], "ref-1": ["Ein.", "Zwo."]}
    prefill(sacrebleu_folder, "wmt20/tworefs", "en-de", fields)
    for _ in range(2):
        two = load_test_set("wmt20/tworefs", "en", "de", tmp_path)
        assert two.references == (("Eins.", "Zwei."), ("Ein.", "Zwo."))
    assert (tmp_path / "wmt20_tworefs.en-de.de.2").read_text(encoding="utf-8") == "Ein.\nZwo.\n"
    (bleu,) = score(["Eins.", "Zwo."], two.references, Evaluation(metrics=("bleu",)), test_set=two.label)
    assert bleu.signature.startswith("nrefs:2|")
    assert str(bleu).endswith("| wmt20/tworefs, 2 lines")


@pytest.mark.parametrize(
    ("name", "sacrebleu_name"),
    [
        ("newstest2014", "wmt14/full"),
        ("newstest2014-filtered", "wmt14"),
        ("newstest2013", "wmt13"),
        ("newstest2020", "wmt20"),
        ("newstest2008", "wmt08"),
        ("wmt17", "wmt17"),
        ("wmt14", "wmt14"),
        ("wmt14/full", "wmt14/full"),
    ],
)
def test_names(name: str, sacrebleu_name: str) -> None:
    assert resolve_name(name, "en-de") == sacrebleu_name


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("newtest2014", "newstest2014"), ("newstest2014-filterd", "newstest2014-filtered"), ("wmt14/ful", "wmt14/full")],
)
def test_an_unknown_name_brings_suggestions(name: str, suggestion: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"unknown test set '{name}' for en-de: did you mean {suggestion} "):
        load_test_set(name, "en", "de", tmp_path)
    with pytest.raises(UserError, match="unknown test set 'weather' for en-de: `sacrebleu --list -l en-de`"):
        load_test_set("weather", "en", "de", tmp_path)
    with pytest.raises(UserError, match="unknown test set 'newstest2001'"):
        load_test_set("newstest2001", "en", "de", tmp_path)


def test_a_set_without_the_language_pair_names_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'newstest2016' has no en-fr: .*\bde-en\b.*\ben-de\b"):
        load_test_set("newstest2016", "en", "fr", tmp_path)


def test_without_network_the_message_says_what_to_put_where(sacrebleu_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    with pytest.raises(UserError) as refusal:
        load_test_set("newstest2014", "en", "de", folder)
    message = str(refusal.value)
    for part in (
        "newstest2014 (wmt14/full, en-de) cannot be downloaded",
        "no network here",
        f"newstest2014.en-de.* of mtkit's test sets to {folder}",
        str(sacrebleu_folder / "wmt14/full"),
        "--source FILE --reference FILE",
    ):
        assert part in message
    assert "\n" not in message
    assert not folder.exists()


def test_a_download_that_sacrebleu_gives_up_on_is_a_user_error(
    sacrebleu_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object) -> NoReturn:
        sys.exit(1)  # what sacreBLEU does when a checksum differs

    monkeypatch.setattr(urllib.request, "urlopen", give_up)
    with pytest.raises(UserError, match=r"cannot be downloaded: 1: from a machine"):
        load_test_set("newstest2017", "en", "de", tmp_path)
    with pytest.raises(UserError) as refusal:  # as `mtkit prepare` asks for it, to whose folder nothing can be copied yet
        load_test_set("newstest2017", "en", "de", None)
    assert "from a machine that has it copy the folder wmt17 of sacreBLEU's to" in str(refusal.value)
    assert str(refusal.value).endswith("or use local files with data.validation.source and .target (or data.test)")


def test_a_set_need_not_be_kept(sacrebleu_folder: Path) -> None:
    prefill(sacrebleu_folder, "wmt17", "cs-en", {"src": ["Ja.", "Nein."], "ref": ["Yes.", "No."]})
    assert load_test_set("newstest2017", "cs", "en", None).references == (("Yes.", "No."),)


def kept(sacrebleu_folder: Path, folder: Path) -> Path:
    prefill(sacrebleu_folder, "wmt17", "cs-en", {"src": ["Ja.", "Nein."], "ref": ["Yes.", "No."]})
    load_test_set("newstest2017", "cs", "en", folder)
    return folder / "newstest2017.cs-en.json"


@pytest.mark.parametrize("side", ["cs", "en"])
def test_a_cut_changed_or_missing_copy_is_refused_by_name(side: str, sacrebleu_folder: Path, tmp_path: Path) -> None:
    record = kept(sacrebleu_folder, tmp_path)
    path = record.with_suffix(f".{side}")
    whole = path.read_bytes()
    for damaged in (whole[:-3], whole.replace(b".", b"!")):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=rf"newstest2017\.cs-en\.{side}: changed or cut .* delete .*json"):
            load_test_set("newstest2017", "cs", "en", tmp_path)
    path.unlink()
    with pytest.raises(UserError, match=rf"newstest2017\.cs-en\.{side}: missing"):
        load_test_set("newstest2017", "cs", "en", tmp_path)
    record.unlink()  # what the message says to do
    assert load_test_set("newstest2017", "cs", "en", tmp_path).references == (("Yes.", "No."),)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"sha256": 3}', b"\xff", b'{"sacrebleu": "wmt17", "sha256": {}}'])
def test_a_damaged_record_is_refused_by_name(content: bytes, sacrebleu_folder: Path, tmp_path: Path) -> None:
    record = kept(sacrebleu_folder, tmp_path)
    record.write_bytes(content)
    with pytest.raises(UserError, match=r"newstest2017\.cs-en\.json"):
        load_test_set("newstest2017", "cs", "en", tmp_path)


def test_a_copy_of_another_set_under_this_name_is_refused(sacrebleu_folder: Path, tmp_path: Path) -> None:
    record = kept(sacrebleu_folder, tmp_path)
    record.write_text(record.read_text(encoding="utf-8").replace('"wmt17"', '"wmt16"'), encoding="utf-8")
    with pytest.raises(UserError, match="records 'wmt16', not wmt17"):
        load_test_set("newstest2017", "cs", "en", tmp_path)


def test_a_set_of_the_wrong_size_is_refused(sacrebleu_folder: Path, tmp_path: Path) -> None:
    theirs = prefill(sacrebleu_folder, "wmt14/full", "en-de", {"src": invented("A", 2737), "ref": invented("B", 2737)})
    with pytest.raises(
        UserError,
        match=rf"{theirs}: newstest2014 .* has 2737 lines \(as many as newstest2014-filtered .* has\), should be 3003",
    ):
        load_test_set("newstest2014", "en", "de", tmp_path / "sets")
    theirs = prefill(sacrebleu_folder, "wmt16", "cs-en", {"src": invented("A", 3), "ref": invented("B", 2)})
    with pytest.raises(UserError, match=rf"{theirs}: newstest2016 cs-en has 3 source lines and references of \[2\] lines"):
        load_test_set("newstest2016", "cs", "en", tmp_path / "sets")
    assert not (tmp_path / "sets").exists()


def test_an_output_of_the_full_set_does_not_fit_the_filtered_one(sacrebleu_folder: Path, tmp_path: Path) -> None:
    prefill(sacrebleu_folder, "wmt14", "en-de", {"src": invented("A", 2737), "ref": invented("B", 2737)})
    filtered = load_test_set("newstest2014-filtered", "en", "de", tmp_path)
    with pytest.raises(UserError) as refusal:
        score(invented("B", 3003), filtered.references, Evaluation(), reference_names=[filtered.name])
    assert "hypotheses 3003 lines, reference newstest2014-filtered 2737 lines" in str(refusal.value)
    assert "as many as newstest2014 (" in str(refusal.value)


def test_the_environment_says_where_sacrebleus_folder_is(tmp_path: Path) -> None:
    prefill(tmp_path / "cache", "wmt18", "cs-en", {"src": ["Ja."], "ref": ["Yes."]})
    program = (
        "from pathlib import Path; from mtkit.evaluation.test_sets import load_test_set; "
        f"print(load_test_set('newstest2018', 'cs', 'en', Path({str(tmp_path / 'sets')!r})).references)"
    )
    environment = {**os.environ, "SACREBLEU": str(tmp_path / "cache"), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "(('Yes.',),)\n"


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_set_and_pair_of_sacrebleus_has_its_name_and_an_md5(name: str) -> None:
    dataset = DATASETS[name]
    assert dataset.md5
    assert len(dataset.md5) == len(dataset.data or ())
    for pair in dataset.langpairs:
        assert resolve_name(name, pair) == name
        assert pair.count("-") == 1


def test_a_set_in_one_xml_file_is_taken_from_sacrebleus_folder(sacrebleu_folder: Path, tmp_path: Path) -> None:
    dataset = DATASETS["wmt21"]
    assert dataset.data
    (url,) = dataset.data
    raw = sacrebleu_folder / "wmt21" / "raw"
    path = raw / dataset.langpairs["en-de"][0]
    path.parent.mkdir(parents=True)
    (raw / f"wmt21.{url.rpartition('/')[2]}").write_text("the archive")
    path.write_text(
        '<dataset><doc id="a" origlang="en"><src lang="en"><p><seg id="1">One.</seg></p></src>'
        '<ref lang="de" translator="A"><p><seg id="1">Eins.</seg></p></ref>'
        '<ref lang="de" translator="C"><p><seg id="1">Zwei.</seg></p></ref></doc></dataset>'
    )
    fetched = load_test_set("newstest2021", "en", "de", tmp_path / "sets")
    assert (fetched.source, fetched.references) == (("One.",), (("Eins.",),))


def test_pinned_counts_are_those_of_the_real_texts() -> None:
    if not (SHARED_DATA / "newstest").exists():
        pytest.skip("no shared data: put newstest and multi30k under the folder that MTKIT_SHARED_DATA names")
    counted = 0
    for (name, pair), lines in PINNED_LINES.items():
        year = name.removeprefix("wmt").removesuffix("/full").removeprefix("multi30k/")
        filtered = "-filtered2737" if (name, pair) == ("wmt14", "en-de") else ""
        stem = SHARED_DATA / "newstest" / pair / f"newstest20{year}{filtered}"
        if name.startswith("multi30k/"):
            stem = SHARED_DATA / "multi30k" / "raw" / f"test_{year}_flickr"
        for language in pair.split("-"):
            path = stem.with_name(f"{stem.name}.{language}.gz")
            if path.exists():
                assert (path, len(read_lines(path))) == (path, lines)
                counted += 1
    assert counted == 42
