"""Files and folders that appear complete or not at all, and what is told when they cannot be written.

Everything is written under a temporary name in the same folder, flushed to the disk and then renamed, so a killed process
or a full disk never leaves half a file under a final name and never costs the one that was there before. The writer holds
a lock on its temporary; the lock dies with it, so the next writer knows a leftover from work in progress and deletes it, or
goes on with it where that is wanted. A link is followed. A full disk, a missing permission and the like are a UserError that
names the output and the cure.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from mtkit.support.errors import UserError

TEMPORARY = ".tmp-"
"""Prefix of unfinished files and folders."""

NO_ROOM = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "allow larger files (ulimit -f)",
}
IN_THE_WAY = {
    errno.EACCES: "change the permissions",
    errno.EPERM: "change the permissions",
    errno.EROFS: "make it writable",
    **dict.fromkeys(
        (
            errno.ENOENT,
            errno.ENOTDIR,
            errno.EISDIR,
            errno.EEXIST,
            errno.ENOTEMPTY,
            errno.EBUSY,
            errno.EXDEV,
            errno.ENAMETOOLONG,
            errno.ELOOP,
        ),
        "clear the way",
    ),
}
"""What a user can mend, and how. Every other failure of the system is left as it is."""

ELSEWHERE = ", or write to another place"


class UnwritableError(UserError):
    """An output that cannot be written: `path` as the user knows it, `reason` as the system tells it."""

    def __init__(self, path: Path, reason: str, remedy: str, cure: str) -> None:
        super().__init__(f"{path}: cannot be written ({reason}): {remedy}{cure}")
        self.path, self.reason, self.remedy = path, reason, remedy


@contextlib.contextmanager
def writing(path: str | Path, *, cure: str = ELSEWHERE, need: int = 0) -> Iterator[None]:
    """Tells a failure to write `path`, or something in it, as a UserError. The outermost block that it concerns names it.

    `cure` ends the message, after what must be mended; `need` is the bytes to be written, where that is known.
    """
    path = Path(path)
    try:
        yield
    except UnwritableError as error:
        if error.path == path or not _concerns(error.path, path):
            raise
        raise UnwritableError(path, error.reason, error.remedy, cure) from error
    except OSError as error:
        # A failed write names no file, a failed open always does.
        place = None if error.filename is None or isinstance(error.filename, int) else Path(os.fsdecode(error.filename))
        known = NO_ROOM if place is None else NO_ROOM | IN_THE_WAY
        if error.errno not in known or not _concerns(place, path):
            raise
        reason = os.strerror(error.errno)
        if error.errno == errno.ENOSPC:
            reason += f"; {f'need {bytes_text(need)}, ' if need else ''}free {bytes_text(_free(path))}"
        raise UnwritableError(path, reason, known[error.errno], cure) from error


def _concerns(place: Path | None, path: Path) -> bool:
    """Whether `place` is `path`, lies in it or beside it (as temporaries do), or is a folder on the way to it."""
    if place is None:
        return True
    named = Path(os.path.realpath(place))
    ways = (Path(os.path.realpath(path)), path.absolute())
    return any(way.parent in named.parents or named in way.parents for way in ways)


def _free(path: Path) -> int:
    """Bytes that are free where `path` is or would be."""
    return shutil.disk_usage(next(place for place in (path, *path.absolute().parents) if place.exists())).free


def bytes_text(count: int) -> str:
    """1234567 -> '1.2 MB'."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 99.95 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def whole_file(path: str | Path, *, cure: str = ELSEWHERE) -> Iterator[BinaryIO]:
    """A binary stream whose content stands at `path` once the block ends well, and nowhere if it does not."""
    target = Path(os.path.realpath(path))
    with writing(path, cure=cure):
        clear_leftovers(target)
        with _temporary(target, Path.touch) as temporary:
            with temporary.open("wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
            sync_folder(target.parent)


def write_text(path: str | Path, text: str) -> None:
    """Writes a small text file as UTF-8, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def whole_folder(
    path: str | Path, *, replace: bool = False, cure: str = ELSEWHERE, need: int = 0, kept: str | None = None
) -> Iterator[Path]:
    """A temporary folder that becomes `path` once the block ends well, and vanishes if it does not.

    With `kept`, 16 hexadecimal digits that say what goes into it, it vanishes only if it is empty or the user has to mend
    something. If the block fails otherwise or the process is killed, the next block with the same `kept` finds the folder
    as it was left, and one with another deletes it.

    `replace` allows `path` to exist: the old folder is moved aside, the new one put in its place, then the old one deleted.
    UserError at once if another process is writing `path`, and at the end if one has written it meanwhile; `cure` and
    `need` as for `writing`.
    """
    target = Path(os.path.realpath(path))
    with writing(path, cure=cure, need=need):
        target.parent.mkdir(parents=True, exist_ok=True)
        if clear_leftovers(target, kept):
            raise UserError(f"{path}: another mtkit is writing it: wait for it{cure}")
        if target.is_mount():
            raise UnwritableError(Path(path), "a mount point cannot be replaced", "name a folder in it", "")
        with _kept(target, kept) if kept else _temporary(target, Path.mkdir) as temporary:
            yield temporary
            for file in sorted(temporary.rglob("*")):
                if file.is_file():
                    with file.open("rb") as stream:
                        os.fsync(stream.fileno())
                else:
                    sync_folder(file)
            sync_folder(temporary)
            if replace and target.exists():
                with _held(target):  # or somebody might take it for a leftover while it is aside
                    old = _moved_aside(target, OLD)
                    temporary.rename(target)
                    shutil.rmtree(old)
            else:
                temporary.rename(target)
            sync_folder(target.parent)


OLD, GONE = ".old", ".gone"
"""Endings of a folder moved aside to be replaced, and of one to be deleted."""


def _moved_aside(path: Path, ending: str) -> Path:
    return path.rename(_temporary_name(path, ending))


def _temporary_name(path: Path, ending: str = "") -> Path:
    return path.with_name(f"{TEMPORARY}{path.name}-{uuid.uuid4().hex[:8]}{ending}")


@contextlib.contextmanager
def _temporary(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """What `make` makes under a temporary name beside `target`, held for the block; gone if the block fails."""
    while True:
        path = _temporary_name(target)
        make(path)
        with _held(path, wait=True) as held:
            if held is False:
                continue  # taken for a leftover before it was held
            try:
                yield path
            except BaseException:
                _remove(path)
                raise
            return


def kept_folder(path: Path, kept: str) -> Path:
    """Where `whole_folder` keeps its temporary folder."""
    target = Path(os.path.realpath(path))
    return target.with_name(f"{TEMPORARY}{target.name}-{kept}")


@contextlib.contextmanager
def _kept(target: Path, kept: str) -> Iterator[Path]:
    """The folder that is kept under this name, held for the block; gone if the block fails by the user's fault."""
    path = kept_folder(target, kept)
    path.mkdir(exist_ok=True)
    with _held(path) as held:
        if held is False:
            raise UserError(f"{target}: another mtkit is writing it: wait for it{ELSEWHERE}")
        if held is None:  # without locks nobody knows whether it is a leftover
            with contextlib.suppress(OSError):
                path.rmdir()
            with _temporary(target, Path.mkdir) as path:
                yield path
            return
        try:
            yield path
        except BaseException as error:
            if isinstance(error, UserError | OSError) or not any(path.iterdir()):
                _remove(path)
            raise


@contextlib.contextmanager
def _held(path: Path, *, wait: bool = False) -> Iterator[bool | None]:
    """Holds the lock of a file or folder, which ends with the process at the latest.

    Yields False if another process holds it, None if that cannot be told (a file system without locks; nothing there).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        held: bool | None = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held = False
        except OSError:
            held = None
        if held and not _is(path, descriptor):
            held = False  # deleted meanwhile; what is there now is somebody else's
        yield held
    finally:
        os.close(descriptor)


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def clear_leftovers(path: Path, kept: str | None = None) -> bool:
    """Deletes what dead processes left unfinished of `path`; whether a live one is writing it.

    A folder that a dead process had moved aside and not replaced yet is put back. Folders that are kept to go on with stay,
    but if one of them is chosen with `kept` the others go.
    """
    target = Path(os.path.realpath(path))
    ours = re.compile(re.escape(f"{TEMPORARY}{target.name}-") + r"(?:[0-9a-f]{8}(\.old|\.gone)?|([0-9a-f]{16}))")
    in_progress = False
    for leftover in list(target.parent.iterdir()) if target.parent.is_dir() else []:
        kind = ours.fullmatch(leftover.name)
        if not kind:  # of an output whose name begins alike, perhaps
            continue
        with _held(leftover) as held:
            if held and kind[1] == OLD and not target.exists():
                leftover.rename(target)
            elif held and (not kind[2] or kept not in (None, kind[2])):
                _remove(leftover)
            in_progress |= held is False
    return in_progress


def remove_folder(path: Path) -> None:
    """Deletes a folder. Half of it never stands under its name, even if this process is killed."""
    shutil.rmtree(_moved_aside(path, GONE))


def remove_leftovers(folder: Path) -> None:
    """Deletes what killed processes left unfinished in `folder`. Only for whoever holds the folder's lock."""
    for path in folder.glob(f"{TEMPORARY}*"):
        with _held(path) as held:
            if held:
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):  # somebody else's, perhaps
            path.unlink(missing_ok=True)


def sha256(path: str | Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
