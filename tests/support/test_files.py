"""Files and folders appear complete or not at all (design law 10), whatever ends the writing."""

import hashlib
from pathlib import Path

import pytest

from mtkit.support import files


class CutError(Exception):
    """What ends the writing early."""


def test_a_file_appears_complete(tmp_path: Path) -> None:
    path = tmp_path / "text"
    with files.whole_file(path) as stream:
        stream.write(b"one\n")
        stream.flush()
        assert not path.exists()
        stream.write(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"old")

    def cut() -> None:
        with files.whole_file(path) as stream:
            stream.write(b"new")
            raise CutError

    with pytest.raises(CutError):
        cut()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_utf8_with_the_newlines_it_has(tmp_path: Path) -> None:
    files.write_text(tmp_path / "text", "grün\r\n緑\n")
    assert (tmp_path / "text").read_bytes() == "grün\r\n緑\n".encode()


def test_a_folder_appears_complete_below_folders_that_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "data"
    with files.whole_folder(path) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "text").write_text("one")
        assert not path.exists()
    assert [found.name for found in path.parent.iterdir()] == ["data"]
    assert (path / "inner" / "text").read_text() == "one"


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_that_is_not_finished_leaves_the_old_one(tmp_path: Path, replace: bool) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / "text").write_text("old")

    def cut() -> None:
        with files.whole_folder(path, replace=replace) as folder:
            (folder / "text").write_text("new")
            raise CutError

    with pytest.raises(CutError):
        cut()
    assert (path / "text").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(OSError, match="not empty"), files.whole_folder(path) as folder:
        (folder / "new").write_text("new")
    assert [found.name for found in path.iterdir()] == ["old"]
    with files.whole_folder(path, replace=True) as folder:
        (folder / "new").write_text("new")
    assert [found.name for found in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_are_told_from_what_is_finished(tmp_path: Path) -> None:
    (tmp_path / f"{files.TEMPORARY}data-1").mkdir()
    (tmp_path / f"{files.TEMPORARY}data-1" / "text").write_text("half")
    (tmp_path / f"{files.TEMPORARY}text-2").write_text("half")
    (tmp_path / "text").write_text("whole")
    files.remove_leftovers(tmp_path)
    assert [found.name for found in tmp_path.iterdir()] == ["text"]


def test_half_of_a_deleted_folder_never_stands_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "step"
    path.mkdir()
    (path / "text").write_text("old")

    def cut(folder: Path) -> None:
        assert not path.exists()
        raise CutError

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", cut)
        with pytest.raises(CutError):
            files.remove_folder(path)
    files.remove_leftovers(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"abc" * 100_000)
    assert files.sha256(tmp_path / "data") == hashlib.sha256(b"abc" * 100_000).hexdigest()
