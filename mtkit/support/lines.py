"""Lines of text: what a line is, everywhere in mtkit.

A line is the bytes up to `\\n`; one `\\r` just before it is dropped and nothing else ends a line (not NEL, not U+2028, not
a lone `\\r`); a last line without `\\n` counts; a leading byte-order mark is dropped. Text is UTF-8 whatever the locale.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mtkit.support.errors import UserError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def split_stream(stream: BinaryIO) -> Iterator[bytes]:
    """Yields the raw lines of an open binary stream, without their ends."""
    for number, raw in enumerate(stream):
        line = raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw
        yield line.removeprefix(BYTE_ORDER_MARK) if number == 0 else line


def raw_lines(path: str | Path) -> Iterator[bytes]:
    """Yields the raw lines of a plain or gzip (`.gz`) file. Raises UserError naming a file that cannot be read."""
    path = Path(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield from split_stream(stream)  # type: ignore[arg-type]
    except FileNotFoundError:
        raise UserError(f"{path.absolute()}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def decode(raw: bytes, name: str, number: int) -> str:
    """The text of raw line `number` (from 1) of file `name`; UserError with file, line, byte and column if not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}:{number}: invalid UTF-8 (byte 0x{raw[error.start]:02X} at column {error.start + 1}): "
            "convert the file to UTF-8, for example with iconv"
        ) from None


def read_lines(path: str | Path) -> list[str]:
    """All lines of a small file (a test set, hypotheses) as text."""
    return [decode(raw, str(path), number) for number, raw in enumerate(raw_lines(path), 1)]


def count_lines(path: str | Path) -> int:
    """How many lines a file has, without decoding it."""
    return sum(1 for _ in raw_lines(path))
