"""A test set through sacreBLEU: its own copy where that is complete, else a download that leaves nothing behind.

Comes in: sacreBLEU's name of a set, a language pair. Goes out: lines. The archive's checksum is sacreBLEU's business, and
so is what it makes of the archive. Knows nothing of where the lines are kept afterwards.
"""

import contextlib
import copy
import logging
import socket
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

from sacrebleu.dataset import DATASETS
from sacrebleu.dataset.wmt_xml import WMTXMLDataset

from mtkit.support.lines import read_lines

PATIENCE = 30.0
"""Seconds without a word from the other side after which a download has failed."""

_FAILURES = (OSError, EOFError, HTTPException, tarfile.TarError, zipfile.BadZipFile, SystemExit)
"""SystemExit: sacreBLEU's way of saying that a checksum or a certificate is wrong."""


class FetchError(Exception):
    """The set cannot be had; the message tells why."""


def own_folder(name: str) -> Path:
    """Where sacreBLEU itself keeps the set."""
    return Path(DATASETS[name]._outdir)


def fetch(name: str, pair: str) -> tuple[list[list[str]], bool]:
    """Source lines, then the lines of each reference; and whether they were downloaded now. Raises FetchError."""
    dataset = DATASETS[name]
    if _is_there(dataset, pair):
        return _lines(dataset, pair), False
    with tempfile.TemporaryDirectory(prefix="mtkit-") as folder:
        # A download of sacreBLEU's own that fails leaves a bad archive, which it takes for a good one the next time.
        apart = copy.copy(dataset)
        apart._outdir, apart._rawdir = folder, str(Path(folder) / "raw")
        return _lines(apart, pair), True


def _is_there(dataset: Any, pair: str) -> bool:
    """Whether sacreBLEU can hand out the set without a download."""
    asks_its_raw_file = isinstance(dataset, WMTXMLDataset)  # which references there are
    if asks_its_raw_file:
        archives = [Path(dataset._rawdir) / dataset._get_tarball_filename(url) for url in dataset.data or ()]
        return all(
            archive.is_file() and archive.stat().st_size for archive in [*archives, Path(dataset._get_langpair_path(pair))]
        )
    return all(Path(dataset._get_txt_file_path(pair, field)).is_file() for field in dataset.fieldnames(pair))


def _lines(dataset: Any, pair: str) -> list[list[str]]:
    said: list[str] = []
    try:
        with _sacrebleus_words(said), _patience(), _safe_extraction():
            paths = [dataset.get_source_file(pair), *dataset.get_reference_files(pair)]
        return [read_lines(path) for path in paths]
    except _FAILURES as error:
        reason = said[0] if isinstance(error, SystemExit) and said else str(error) or type(error).__name__
        raise FetchError(" ".join(reason.split()).rstrip(".")) from None


@contextlib.contextmanager
def _sacrebleus_words(said: list[str]) -> Iterator[None]:
    """What sacreBLEU has to say goes into `said` and not to stderr."""
    logger, listener = logging.getLogger("sacrebleu"), logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage().removeprefix("Fatal: "))  # type: ignore[method-assign]
    before = logger.propagate
    logger.propagate = False
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.propagate = before


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """An end to waiting: sacreBLEU sets none."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextlib.contextmanager
def _safe_extraction() -> Iterator[None]:
    """No member of a tar archive is put outside its folder, whatever it is called."""
    before = tarfile.TarFile.__dict__.get("extraction_filter")
    tarfile.TarFile.extraction_filter = staticmethod(tarfile.data_filter)
    try:
        yield
    finally:
        if before is None:
            del tarfile.TarFile.extraction_filter
        else:
            tarfile.TarFile.extraction_filter = before
