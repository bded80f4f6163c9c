"""What a line is, everywhere (D1, D3, D4): only `\\n` ends one, and what cannot be read is named."""

import bz2
import gzip
import io
import lzma
from pathlib import Path

import pytest

from mtkit.support.errors import UserError
from mtkit.support.lines import count_lines, raw_lines, read_lines, split_stream


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\r", ["a\r", "b\r"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", [""]),
        (b"a\xe2\x80\xa8b\nc\rd\ne\xc2\x85f\n", ["a\u2028b", "c\rd", "e\x85f"]),
        (b"a\x0bb\x0cc\x1cd\x1ee\n", ["a\x0bb\x0cc\x1cd\x1ee"]),
    ],
)
def test_only_newlines_end_lines(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    plain, packed = tmp_path / "text", tmp_path / "text.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    assert read_lines(plain) == read_lines(packed) == lines
    assert count_lines(plain) == count_lines(packed) == len(lines)
    assert [raw.decode() for raw in split_stream(io.BytesIO(content))] == lines


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("ok\ngrün\n".encode() + b"Caf\xe9\n")
    with pytest.raises(UserError) as caught:
        read_lines(path)
    assert str(caught.value).startswith(f"{path}:3: invalid UTF-8 (byte 0xE9 at column 4): ")
    assert count_lines(path) == 3


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{tmp_path}/none: no such file$"):
        read_lines(tmp_path / "none")
    with pytest.raises(UserError, match=f"^{tmp_path}: cannot be read: Is a directory$"):
        read_lines(tmp_path)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"a line\n" * 1000)[:-10])
    with pytest.raises(UserError, match=f"^{cut}: cannot be read: "):
        count_lines(cut)
    cut.write_bytes(b"not packed at all")
    with pytest.raises(UserError, match=f"^{cut}: cannot be read: "):
        count_lines(cut)


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"fine\n\xff\n")
    assert next(raw_lines(path)) == b"fine"


@pytest.mark.parametrize(
    ("content", "cure"),
    [
        (gzip.compress(b"a\n", mtime=0), "is compressed with gzip: give it a name that ends in .gz"),
        (bz2.compress(b"a\n"), "is compressed with bzip2: give it a name that ends in .bz2"),
        (lzma.compress(b"a\n"), "is compressed with xz: give it a name that ends in .xz"),
        (b"\x28\xb5\x2f\xfd\x04", "is compressed with Zstandard: give it a name that ends in .zst"),
        (b"PK\x03\x04\x14", "is a zip archive: unpack it first"),
        ("a\n".encode("utf-16"), "is UTF-16: convert it to UTF-8, for example with iconv"),
        (b"PAR1\x15\x04", "is a Parquet file: name it under `parquet`"),
    ],
)
def test_files_that_are_no_text_say_what_they_are(tmp_path: Path, content: bytes, cure: str) -> None:
    path = tmp_path / "text.GZ"
    path.write_bytes(content)
    with pytest.raises(UserError) as refusal:
        read_lines(path)
    assert str(refusal.value) == f"{path}: {cure}"
    path.write_bytes(content[:1])  # as a whole it may be text, or it is named with its line
    if content[:1].isascii():
        assert read_lines(path) == [content[:1].decode()]
