"""Files and folders appear complete or not at all (design law 10), whatever ends the writing."""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mtkit.support import files
from mtkit.support.errors import UserError

ROOT = Path(__file__).parents[2]


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
    told = rf"^{path}: cannot be written \(Directory not empty\): clear the way or go$"
    with pytest.raises(UserError, match=told), files.whole_folder(path, cure=" or go") as folder:
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


WRITER = """
import sys, time
from pathlib import Path
from mtkit.support.files import whole_file, whole_folder
with whole_folder("data", replace=True) as folder, whole_file("text") as stream:
    (folder / "half").touch()
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(folder: Path) -> "subprocess.Popen[str]":
    """Another process that is writing the folder `data` and the file `text` in `folder`, until its stdin ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_dead_process_left_goes_with_the_next_writing(tmp_path: Path, number: signal.Signals) -> None:
    with writer(tmp_path) as process:
        process.send_signal(number)
    for mine in (".tmp-data-mine", ".tmp-data-2-01234567", ".tmp-other-01234567"):
        (tmp_path / mine).touch()
    assert len(list(tmp_path.iterdir())) == 5
    files.write_text(tmp_path / "text", "new")
    with files.whole_folder(tmp_path / "data"):
        pass
    left = [".tmp-data-2-01234567", ".tmp-data-mine", ".tmp-other-01234567", "data", "text"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


def test_what_a_live_process_writes_is_left_alone(tmp_path: Path) -> None:
    with writer(tmp_path) as process:
        files.write_text(tmp_path / "text", "new")
        told = rf"^{tmp_path}/data: another mtkit is writing it: wait for it or go$"
        with pytest.raises(UserError, match=told), files.whole_folder(tmp_path / "data", replace=True, cure=" or go"):
            pass
        files.remove_leftovers(tmp_path)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0
    assert (tmp_path / "data" / "half").exists()
    assert (tmp_path / "text").read_text() == "half"  # each is whole; the last that ends stays
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "text"]


def test_a_temporary_that_was_cleared_before_it_was_held_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock
    cleared: list[Path] = []

    def flock(descriptor: int, how: int) -> None:
        for path in tmp_path.glob(".tmp-*"):
            if not cleared:
                path.unlink()
                cleared.append(path)
        real(descriptor, how)

    monkeypatch.setattr("fcntl.flock", flock)
    files.write_text(tmp_path / "text", "new")
    assert cleared
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_a_folder_that_is_being_replaced_is_never_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / "text").write_text("old")
    real = Path.rename

    def cut(self: Path, target: Path) -> Path:
        if target == path:
            raise CutError
        return real(self, target)

    def replace() -> None:
        with files.whole_folder(path, replace=True) as folder:
            (folder / "text").write_text("new")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", cut)
        with pytest.raises(CutError):
            replace()
    assert not path.exists()
    assert files.clear_leftovers(path) is False
    assert (path / "text").read_text() == "old"
    replace()
    assert (path / "text").read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_followed(tmp_path: Path, dangling: bool) -> None:
    (tmp_path / "real").mkdir()
    for name in ("text", "data"):
        (tmp_path / name).symlink_to(f"real/{name}")
    if not dangling:
        (tmp_path / "real" / "text").write_text("old")
        (tmp_path / "real" / "data").mkdir()
        (tmp_path / "real" / "data" / "old").touch()
    files.write_text(tmp_path / "text", "new")
    with files.whole_folder(tmp_path / "data", replace=True) as folder:
        (folder / "new").touch()
    assert all((tmp_path / name).is_symlink() for name in ("text", "data"))
    assert (tmp_path / "real" / "text").read_text() == "new"
    assert [path.name for path in (tmp_path / "real" / "data").iterdir()] == ["new"]
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["data", "text"]


def test_a_mount_point_is_refused_before_the_work(tmp_path: Path) -> None:
    told = r"^/proc: cannot be written \(a mount point cannot be replaced\): name a folder in it$"
    with pytest.raises(UserError, match=told), files.whole_folder("/proc"):
        pytest.fail("the work has begun")


SIZE = 2_500_000
FAILURES = {
    errno.ENOSPC: r"No space left on device; need 2\.5 MB, free [\d.]+ \w+\): make room",
    errno.EDQUOT: r"Disk quota exceeded\): make room",
    errno.EFBIG: r"File too large\): allow larger files \(ulimit -f\)",
}


@pytest.mark.parametrize("number", FAILURES)
def test_no_room_is_the_users_to_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def full(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", full)
    cure = ", then"
    told = rf"cannot be written \({FAILURES[number]}, then$"
    text = files.writing(tmp_path / "text", cure=cure, need=SIZE)
    with pytest.raises(UserError, match=rf"^{tmp_path}/text: {told}"), text:
        full(0)
    data = files.whole_folder(tmp_path / "data", cure=cure, need=SIZE)
    with pytest.raises(UserError, match=rf"^{tmp_path}/data: {told}"), data:
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "change the permissions"),
        (errno.EROFS, "make it writable"),
        (errno.ENOTDIR, "clear the way"),
    ],
)
def test_a_place_that_cannot_be_written_is_the_users_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(self))

    for name in ("touch", "mkdir"):
        monkeypatch.setattr(Path, name, refuse)
    told = re.escape(f"cannot be written ({os.strerror(number)}): {remedy}, or write to another place")
    with pytest.raises(UserError, match=rf"^{tmp_path}/text: {told}$"):
        files.write_text(tmp_path / "text", "new")
    with pytest.raises(UserError, match=rf"^{tmp_path}/data: {told}$"), files.whole_folder(tmp_path / "data"):
        pass


def test_what_is_written_inside_is_told_as_the_whole(tmp_path: Path) -> None:
    def write() -> None:
        with files.whole_folder(tmp_path / "data", cure=" or go") as folder:
            (folder / "text").mkdir()
            files.write_text(folder / "text", "new")

    with pytest.raises(UserError, match=rf"^{tmp_path}/data: cannot be written \(Is a directory\): clear the way or go$"):
        write()
    assert not list(tmp_path.iterdir())


def test_a_failure_of_something_else_stays_what_it_is(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "text"
    for failure in (OSError(errno.EIO, "bad disk"), FileNotFoundError(errno.ENOENT, "none", str(elsewhere)), CutError()):
        with pytest.raises(type(failure)) as caught, files.whole_folder(tmp_path / "here" / "data"):
            raise failure
        assert caught.value is failure


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1234, "1.2 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (999_600, "1.0 MB"),
        (2_730_000_000_000, "2730.0 GB"),
    ],
)
def test_sizes_have_a_unit_that_fits(count: int, text: str) -> None:
    assert files.bytes_text(count) == text


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


def keep(path: Path, kept: str, name: str, error: BaseException) -> set[str]:
    """Makes a file in a folder that is kept and fails; what is in the folder then, with what was there before."""
    left = set()
    try:
        with files.whole_folder(path, kept=kept) as folder:
            (folder / name).touch()
            left = {found.name for found in folder.iterdir()}
            raise error
    except type(error):
        return left


ONE, OTHER = "0123456789abcdef", "fedcba9876543210"


def test_a_folder_that_is_kept_is_gone_on_with_by_the_same_alone(tmp_path: Path) -> None:
    path = tmp_path / "data"
    assert keep(path, ONE, "a", KeyboardInterrupt()) == {"a"}
    assert files.kept_folder(path, ONE).is_dir()
    assert files.clear_leftovers(path) is False
    assert keep(path, ONE, "b", RuntimeError()) == {"a", "b"}
    assert keep(path, OTHER, "c", MemoryError()) == {"c"}
    assert not files.kept_folder(path, ONE).exists()
    with files.whole_folder(path, kept=OTHER) as folder:
        (folder / "d").touch()
    assert {found.name for found in path.iterdir()} == {"c", "d"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [UserError("mend it"), OSError(errno.ENOSPC, "full")])
def test_what_the_user_must_mend_is_not_kept(tmp_path: Path, error: Exception) -> None:
    with contextlib.suppress(UserError):
        keep(tmp_path / "data", ONE, "a", error)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), files.whole_folder(tmp_path / "data", kept=ONE):
        raise KeyboardInterrupt  # nothing done yet
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_kept_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert keep(tmp_path / "data", ONE, "a", KeyboardInterrupt()) == {"a"}
    assert list(tmp_path.iterdir()) == []
    with files.whole_folder(tmp_path / "data", kept=ONE) as folder:
        (folder / "b").touch()
    assert [found.name for found in (tmp_path / "data").iterdir()] == ["b"]
