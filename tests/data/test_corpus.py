"""Reading sentence pairs from files (field reports D1, D2, D5, D6) and from data sets in the hub's layout."""

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mtkit.config import schema
from mtkit.data import hub as hub_module
from mtkit.data.corpus import open_corpora
from mtkit.support.errors import UserError


def write(path: Path, content: bytes) -> str:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def data(train: schema.Split, validation: schema.Split | None = None, **options: Any) -> schema.Data:
    return schema.Data(train=train, validation=validation or train, **options)


def files(source: str, target: str, hub_split: str = "") -> schema.Split:
    return schema.Split(source=(source,), target=(target,), hub_split=hub_split)


def texts(section: schema.Data, split: str = "train") -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in open_corpora(section)[split]]


def test_only_newlines_end_lines(tmp_path: Path) -> None:
    source = write(tmp_path / "s", b"a\xe2\x80\xa8b\nc\rd\ne\xc2\x85f\n")
    target = write(tmp_path / "t", b"A\nB\nC\n")
    assert texts(data(files(source, target))) == [("a\u2028b", "A"), ("c\rd", "B"), ("e\x85f", "C")]


def test_crlf_files_equal_lf_files_and_gzip_equals_plain(tmp_path: Path) -> None:
    plain = files(write(tmp_path / "s", b"a\n\nb"), write(tmp_path / "t", b"A\nB\nC\n"))
    other = files(write(tmp_path / "s.gz", b"a\r\n\r\nb\r\n"), write(tmp_path / "t.gz", b"A\nB\nC"))
    assert texts(data(plain)) == texts(data(other)) == [("a", "A"), ("", "B"), ("b", "C")]


def test_lists_of_files_are_chained_and_lines_counted_in_each(tmp_path: Path) -> None:
    split = schema.Split(
        source=(write(tmp_path / "1.en", b"a\nb\n"), write(tmp_path / "2.en", b"c\n")),
        target=(write(tmp_path / "1.de", b"A\nB\n"), write(tmp_path / "2.de", b"C\n")),
    )
    pairs = list(open_corpora(data(split))["train"])
    assert [(pair.source, pair.target, pair.line) for pair in pairs] == [("a", "A", 1), ("b", "B", 2), ("c", "C", 1)]
    assert pairs[2].part.source == str(tmp_path / "2.en")


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_unequal_line_counts_are_refused_in_every_split(tmp_path: Path, split: str) -> None:
    good = files(write(tmp_path / "s", b"a\n"), write(tmp_path / "t", b"A\n"))
    source, target = write(tmp_path / "a.en", b"1\n2\n3\n4\n5\n"), write(tmp_path / "a.de", b"1\n2\n3\n4\n")
    bad = files(source, target)
    section = schema.Data(train=good, validation=good, test=good).model_copy(update={split: bad})
    with pytest.raises(UserError) as caught:
        open_corpora(section)
    assert str(caught.value) == f"line counts differ: {source} 5 lines, {target} 4 lines"


def test_unequal_line_counts_are_refused_in_a_second_pair_of_files(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", b"1\n"), write(tmp_path / "two", b"1\n2\n")
    with pytest.raises(UserError, match=f"{one} 1 lines, {two} 2 lines"):
        open_corpora(data(schema.Split(source=(one, one), target=(one, two))))


def test_tsv_fields_end_at_tabs_and_quotes_are_text(tmp_path: Path) -> None:
    split = schema.Split(tsv=(write(tmp_path / "pairs.tsv", b'a "b\tx\n"c d\ty\ne\tz\n'),))
    assert texts(data(split)) == [('a "b', "x"), ('"c d', "y"), ("e", "z")]


@pytest.mark.parametrize(("row", "fields"), [(b"alone", 1), (b"a\tb\tc", 3), (b"", 1)])
def test_tsv_rows_have_two_fields(tmp_path: Path, row: bytes, fields: int) -> None:
    name = write(tmp_path / "pairs.tsv", b"a\tb\n" + row + b"\nc\td\n")
    with pytest.raises(UserError, match=f"^{name}:2: {fields} field"):
        texts(data(schema.Split(tsv=(name,))))


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    there = write(tmp_path / "there", b"a\n")
    with pytest.raises(UserError, match=r"absent: no such file"):
        open_corpora(data(files(str(tmp_path / "absent"), there)))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    with pytest.raises(UserError, match=r"cut\.gz: cannot be read"):
        open_corpora(data(files(str(tmp_path / "cut.gz"), there)))


def test_a_byte_order_mark_is_no_text_but_is_counted(tmp_path: Path) -> None:
    source = write(tmp_path / "s.gz", b"\xef\xbb\xbfHello\nso\n")
    section = data(files(source, write(tmp_path / "t", b"A\nB\n")))
    assert texts(section)[0] == ("Hello", "A")
    assert open_corpora(section)["train"].parts[0].byte_order_marks == 1


def test_train_and_validation_need_an_origin_and_test_does_not(tmp_path: Path) -> None:
    split = files(write(tmp_path / "s", b"a\n"), write(tmp_path / "t", b"A\n"))
    with pytest.raises(UserError, match=r"^data\.train names no text"):
        open_corpora(schema.Data(validation=split))
    with pytest.raises(UserError, match=r"^data\.validation names no text"):
        open_corpora(schema.Data(train=split, validation=schema.Split(), hub="some/where"))
    assert list(open_corpora(data(split))) == ["train", "validation"]


# ---- data sets in the hub's layout ----------------------------------------------------------------------------------


ROWS = [("A house.", "Ein Haus."), ("Two\tlines", "Zeile1\nZeile2"), ("The end.", "Das Ende.")]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local folder that looks like wmt/wmt14 on the hub, and an empty cache."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    features = datasets.Features({"translation": datasets.Translation(languages=("de", "en"))})
    card = ["---", "configs:", "- config_name: de-en", "  data_files:"]
    for split in ("train", "validation", "test"):
        rows = [{"translation": {"de": german, "en": english}} for english, german in ROWS]
        path = tmp_path / "hub" / "de-en" / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_list(rows, features=features).to_parquet(path)
        card += [f"  - split: {split}", f"    path: de-en/{split}-*"]
    (tmp_path / "hub" / "README.md").write_text("\n".join([*card, "---", ""]))
    return tmp_path / "hub"


def test_nested_rows_serve_both_directions(hub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    english_german = schema.Data(hub=str(hub), hub_config="de-en")
    german_english = schema.Data(hub=str(hub), hub_config="de-en", source_language="de", target_language="en")
    expected = [(english.replace("\t", " "), german) for english, german in ROWS]
    assert texts(english_german) == expected
    assert texts(german_english, "test") == [(german, english) for english, german in expected]
    assert len(open_corpora(english_german)["validation"]) == 3
    assert "Hugging Face hub" not in capsys.readouterr().err


def test_flat_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "flat").mkdir()
    rows = [{"en": english, "de": german} for english, german in [*ROWS, ("No translation", None)]]
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "flat" / "train.parquet")
    split = schema.Split(hub_split="train")
    pairs = texts(data(split, hub=str(tmp_path / "flat"), test=schema.Split()))
    assert pairs[1:] == [("Two lines", "Zeile1\nZeile2"), ("The end.", "Das Ende."), ("No translation", "")]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"en": ["a", None], "de": ["b", "NA"]}, [("a", "b"), ("", "NA")]),
        ({"translation": [None, {"en": "a\tb", "de": "c"}]}, [("", ""), ("a b", "c")]),
        ({"en": [0, 1], "de": ["a", "b"]}, "'en' holds int64, not text"),
        ({"en": [["a"], ["b"]], "de": ["a", "b"]}, r"'en' holds list<.*>, not text"),
        ({"translation": ["a", "b"], "en": ["a", "b"]}, r"has no 'de' \(it has translation, en\)"),
    ],
)
def test_what_datasets_saved_itself(tmp_path: Path, columns: dict[str, Any], expected: Any) -> None:
    import datasets

    datasets.Dataset.from_dict(columns).save_to_disk(tmp_path / "saved")
    section = data(schema.Split(hub_split="train"), hub=str(tmp_path / "saved"), test=schema.Split())
    if isinstance(expected, list):
        assert texts(section) == expected
    else:
        with pytest.raises(UserError, match=expected):
            texts(section)


def test_csv_is_not_read_through_datasets(tmp_path: Path) -> None:
    """Its reader takes `NA` for nothing and a quotation mark for markup (D1, D6)."""
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "train.csv", b'en,de\nNA,"b\n')
    with pytest.raises(UserError, match=r"is csv files, which change text when they are read"):
        open_corpora(data(schema.Split(hub_split="train"), hub=str(tmp_path / "folder")))


@pytest.mark.parametrize("name", ["./nope", "a/b/c", "https://huggingface.co/datasets/wmt/wmt14", "a b"])
def test_what_cannot_be_the_name_of_a_data_set(name: str) -> None:
    with pytest.raises(UserError, match=r"neither a folder here nor the name of a data set, such as wmt/wmt14"):
        open_corpora(schema.Data(hub=name))


def test_files_win_over_the_hub(hub: Path, tmp_path: Path) -> None:
    split = files(write(tmp_path / "s", b"a\n"), write(tmp_path / "t", b"A\n"), hub_split="train")
    section = schema.Data(hub=str(hub), hub_config="de-en", train=split)
    assert texts(section) == [("a", "A")]
    assert len(texts(section, "validation")) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hub_config": "xx-yy"}, r"cannot be read: BuilderConfig 'xx-yy' not found"),
        ({"hub_config": "de-en", "source_language": "fr"}, r"has no 'fr' \(it has de, en\)"),
        ({"hub_config": "de-en", "test": schema.Split(hub_split="dev")}, r'Unknown split "dev".*hub_split'),
    ],
)
def test_what_the_hub_data_set_has_not(hub: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        open_corpora(schema.Data(hub=str(hub), **options))


def test_row_counts_of_well_known_data_sets_are_checked(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(hub_module.HUB_ROWS, (str(hub), "de-en"), {"train": 4_508_785})
    with pytest.raises(UserError, match=r"3 rows where 4,508,785 should be"):
        open_corpora(schema.Data(hub=str(hub), hub_config="de-en"))
    monkeypatch.setitem(hub_module.HUB_ROWS, (str(hub), "de-en"), {"train": 3, "validation": 3, "test": 3})
    assert len(open_corpora(schema.Data(hub=str(hub), hub_config="de-en"))["train"]) == 3


def test_without_a_network_it_says_how_to_go_on(tmp_path: Path) -> None:
    code = """
from mtkit.config import schema
from mtkit.data.corpus import open_corpora
from mtkit.support.errors import UserError
try:
    open_corpora(schema.Data(hub="wmt/wmt14", hub_config="de-en"))
except UserError as error:
    print(error)
"""
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    for part in (
        "wmt/wmt14 de-en can neither",
        "--set data.train.source=",
        "data.hub=FOLDER",
        "HF_HUB_OFFLINE=1",
        "HF_HOME",
    ):
        assert part in done.stdout
    assert done.stdout.count("\n") == 1
    assert done.stderr.count("818 MB") == 1
    assert "Traceback" not in done.stderr
