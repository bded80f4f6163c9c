"""Lines of text: what a line is, everywhere in mtkit.

A line is the bytes up to `\\n`; one `\\r` just before it is dropped and nothing else ends a line (not NEL, not U+2028, not
a lone `\\r`); a last line without `\\n` counts; a leading byte-order mark is dropped. Text is UTF-8 whatever the locale.
Files may be compressed; how is told by the end of their name.
"""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from mtkit.support.errors import UserError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def _zstd(path: Path) -> IO[bytes]:
    import pyarrow  # comes with datasets; takes a while, so only where it is needed

    return io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd", buffer_size=1 << 20), 1 << 20)


DECOMPRESSION: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.GzipFile,
    ".zst": _zstd,
    ".xz": lzma.LZMAFile,
    ".bz2": bz2.BZ2File,
}
"""How a file is opened, by the end of its name; any other is plain."""


NO_TEXT: dict[bytes, str] = {
    rb"\x1f\x8b\x08": "compressed with gzip: give it a name that ends in .gz",
    rb"\(\xb5/\xfd": "compressed with Zstandard: give it a name that ends in .zst",
    rb"\xfd7zXZ\x00": "compressed with xz: give it a name that ends in .xz",
    rb"BZh[1-9]1AY&SY": "compressed with bzip2: give it a name that ends in .bz2",
    rb"PK\x03\x04": "a zip archive: unpack it first",
    rb"PAR1": "a Parquet file: name it under `parquet`",
    rb"\xff\xfe.\x00|\xfe\xff\x00": "UTF-16: convert it to UTF-8, for example with iconv",
}
"""How files begin that are no UTF-8 text, and what to do with them."""


def opened(path: Path) -> IO[bytes]:
    """The file as a stream of its uncompressed bytes."""
    stream: IO[bytes] = DECOMPRESSION[path.suffix](path) if path.suffix in DECOMPRESSION else path.open("rb")
    return stream


def split_stream(stream: BinaryIO | IO[bytes]) -> Iterator[bytes]:
    """Yields the raw lines of an open binary stream, without their ends."""
    for number, raw in enumerate(stream):
        line = raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw
        yield line.removeprefix(BYTE_ORDER_MARK) if number == 0 else line


def raw_lines(path: str | Path) -> Iterator[bytes]:
    """Yields the raw lines of a plain or compressed file. Raises UserError naming a file that cannot be read."""
    path = Path(path)
    try:
        with opened(path) as stream:
            _check_text(stream, path)
            yield from split_stream(stream)
    except FileNotFoundError:
        raise UserError(f"{path.absolute()}: no such file") from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _check_text(stream: Any, path: Path) -> None:
    """UserError if a file just opened begins as text never does."""
    head = stream.peek(16)
    for pattern, told in NO_TEXT.items():
        if re.match(pattern, head, re.DOTALL):
            raise UserError(f"{path}: is {told}")


def begins_with_mark(path: str | Path) -> bool:
    """Whether a readable file begins with a byte-order mark, which `raw_lines` leaves out."""
    with opened(Path(path)) as stream:
        return stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK


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
