"""Files and folders that appear complete or not at all.

Everything is written under a temporary name in the same folder, flushed to the disk and then renamed, so a killed process
or a full disk never leaves half a file under a final name and never costs the one that was there before.
"""

import contextlib
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp-"
"""Prefix of unfinished files and folders; whoever finds one left over may delete it."""


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """A binary stream whose content stands at `path` once the block ends well, and nowhere if it does not."""
    path = Path(path)
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Writes a small text file as UTF-8, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8"))


@contextlib.contextmanager
def whole_folder(path: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `path` once the block ends well, and vanishes if it does not.

    `replace` allows `path` to exist: the old folder is moved aside, the new one put in its place, then the old one deleted.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{uuid.uuid4().hex[:8]}")
    temporary.mkdir()
    try:
        yield temporary
        for file in sorted(temporary.rglob("*")):
            if file.is_file():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
            else:
                sync_folder(file)
        sync_folder(temporary)
        if replace and path.exists():
            old = _moved_aside(path)
            temporary.rename(path)
            shutil.rmtree(old)
        else:
            temporary.rename(path)
        sync_folder(path.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _moved_aside(path: Path) -> Path:
    return path.rename(path.with_name(f"{TEMPORARY}{path.name}-old-{uuid.uuid4().hex[:8]}"))


def remove_folder(path: Path) -> None:
    """Deletes a folder. Half of it never stands under its name, even if this process is killed."""
    shutil.rmtree(_moved_aside(path))


def remove_leftovers(folder: Path) -> None:
    """Deletes what a killed process left unfinished in `folder`. Only for whoever holds the folder's lock."""
    for path in folder.glob(f"{TEMPORARY}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def sha256(path: str | Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
