"""`mtkit report` as a user meets it; what the page shows is in tests/inspection/test_report.py."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(toy_run: Path, tmp_path: Path) -> Path:
    """A folder with `runs/toy`."""
    shutil.copytree(toy_run, tmp_path / "runs" / "toy")
    return tmp_path


@pytest.fixture
def report(mtkit: Call, home: Path) -> Call:
    """report(*arguments) in `home`."""
    return lambda *arguments: mtkit(home, "report", *arguments)


def test_the_page_of_a_real_run_lies_in_it(report: Call, home: Path, toy_corpus: Path) -> None:
    done = report("runs/toy")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "report on runs/toy is in runs/toy/report.html\n"
    page = ElementTree.parse(home / "runs/toy/report.html")
    assert page.findtext(".//h1") == "toy"
    assert [row.findtext("td") for row in page.iterfind(".//table[@id='validation']/tbody/tr")] == ["20", "40", "60"]
    assert [row.findtext("td") for row in page.iterfind(".//table[@id='checkpoints']/tbody/tr")] == ["20", "40", "60"]
    source = (toy_corpus / "validation.en").read_text().splitlines()
    shown = [sentence.findtext("dd") for sentence in page.iterfind(".//dl[@class='sentence']")]
    assert shown == [source[0], source[19], source[39]]
    assert len(list(page.iterfind(".//svg[@role='img']"))) == 5


def test_it_lies_where_one_wants_it_and_replaces_an_old_one(report: Call, home: Path) -> None:
    (home / "mine.html").write_text("old")
    before = {path for path in home.rglob("*") if path != home / "mine.html"}
    assert report("runs/toy/", "--output", "mine.html").stderr == "report on runs/toy is in mine.html\n"
    assert "<h1>toy</h1>" in (home / "mine.html").read_text("utf-8")
    assert {path for path in home.rglob("*") if path != home / "mine.html"} == before


def test_a_run_is_called_by_its_name_from_inside(mtkit: Call, home: Path) -> None:
    assert mtkit(home / "runs" / "toy", "report", ".").returncode == 0
    assert "<h1>toy</h1>" in (home / "runs/toy/report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs/toi"], "runs/toi: not a run folder (no config.yaml in it)"),
        (["runs"], "runs: not a run folder (no config.yaml in it)"),
        (["runs/toy/config.yaml"], "runs/toy/config.yaml: not a run folder"),
        (["runs/toy", "--output", "runs"], "--output runs is a folder: name a file in it"),
        (["runs/toy", "--output", "no/page.html"], "there is no folder"),
        (["runs/toy", "--output", "runs/toy/config.yaml/page.html"], "there is no folder"),
        ([], "Missing argument 'RUN'."),
    ],
)
def test_mistakes_are_told_and_leave_nothing(report: Call, home: Path, arguments: list[str], message: str) -> None:
    before = set(home.rglob("*"))
    done = report(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert set(home.rglob("*")) == before
