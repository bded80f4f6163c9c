"""Sentence pairs from a data set of the Hugging Face hub, or from a local folder in its layout, through `datasets`.

Comes in: the `data` section of a config and the splits wanted. Goes out: the parts of each. Parquet files are read where the
hub's cache keeps them, a thousand rows at a time, so that there is no second copy; other kinds go through the cache of
`datasets`. A download that was interrupted goes on when the command is repeated.
"""

import os
import re
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtkit.config import schema
from mtkit.data.readers import ROWS, Part, nested_columns, parquet_file, rows
from mtkit.support.errors import UserError
from mtkit.support.files import bytes_text

HUB_ROWS = {
    ("wmt/wmt14", "de-en"): {"train": 4_508_785, "validation": 3_000, "test": 3_003},
    ("wmt/wmt14", "fr-en"): {"train": 40_836_715, "validation": 3_000, "test": 3_003},
}
"""Rows that well-known data sets must have; another number means a broken download or another data set."""

HUB_BYTES = {("wmt/wmt14", "de-en"): 818_467_512, ("wmt/wmt14", "fr-en"): 6_658_118_909}
"""What a first download fetches, where it is known before the hub is asked."""

HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)

LINE_READERS = ("csv", "text")
"""Readers of `datasets` that change text: `NA` becomes nothing, a quotation mark is markup, U+000D ends a line."""

PROBE_SECONDS = 10.0
"""How long the hub may take to answer at all; `datasets` would try for half a minute."""


def hub_parts(
    data: schema.Data, splits: Mapping[str, str], columns: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[Part, ...]]:
    """The parts of each of `splits` (ours -> the hub's). UserError saying how to go on where one cannot be had."""
    local = Path(data.hub).is_dir()
    if not local:
        if not HUB_NAME.fullmatch(data.hub) or Path(data.hub).exists():
            raise UserError(f"data.hub: {data.hub}: neither a folder here nor the name of a data set, such as wmt/wmt14")
        _announce(data)
        _go_offline_if_unreachable()
    import datasets

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    name = _name(data)
    try:
        source = _saved(data.hub) if local else None
        if source is None:
            source = _builder(data)
            if source.name in LINE_READERS:
                raise UserError(
                    f"hub data set {name} is {source.name} files, which change text when they are read: take its "
                    "Parquet form (data.hub_revision=refs/convert/parquet on the hub), or name text or TSV under data.train"
                )
            _check_room(source, name)
        return {ours: _split_parts(source, data, theirs, columns[ours]) for ours, theirs in splits.items()}
    except ConnectionError as error:
        raise UserError(
            f"hub data set {name} can neither be reached at {_endpoint()} nor found in the caches "
            f"{_cache()} and {datasets.config.HF_DATASETS_CACHE}: {_first_line(error)}. "
            f"Without a network use local files (--set data.train.source=FILE --set data.train.target=FILE, likewise "
            "data.validation and data.test), a local folder in the hub's layout (--set data.hub=FOLDER), or a filled cache "
            "(HF_HOME=FOLDER, with HF_HUB_OFFLINE=1 to skip the attempts to connect)"
        ) from None
    except _broken_connection() as error:
        raise UserError(
            f"hub data set {name}: the download from {_endpoint()} broke off: {_first_line(error)}: repeat the command: the "
            "download goes on where it was"
        ) from None
    except (OSError, ValueError, RuntimeError, KeyError, datasets.exceptions.DatasetsError) as error:
        if getattr(error, "errno", None) is not None and not isinstance(error, FileNotFoundError):
            raise  # a full disk and the like
        raise UserError(
            f"hub data set {name} cannot be read: {_first_line(error)}: check data.hub, data.hub_config "
            "and the hub_split of each split ('' for none)"
        ) from None


def _name(data: schema.Data, split: str = "") -> str:
    """What messages call the data set."""
    return " ".join(filter(None, (data.hub, data.hub_config, split)))


def _broken_connection() -> type[Exception]:
    """What the hub's client raises when the network fails it: the root of the errors of whatever it speaks HTTP with."""
    from huggingface_hub.errors import HfHubHTTPError

    roots = [kind for kind in HfHubHTTPError.__mro__ if kind.__name__ in ("HTTPError", "RequestException")]
    return roots[-1]


def _announce(data: schema.Data) -> None:
    """One line before what may be a long download."""
    size = HUB_BYTES.get((data.hub, data.hub_config))
    told = f"{size / 1e6:.0f} MB" if size else "an unknown size"
    print(
        f"reading {_name(data)} from the Hugging Face hub: {told} to download unless already in the cache "
        f"{_cache()} (HF_HOME); to stay offline: HF_HUB_OFFLINE=1, or --set data.hub=FOLDER",
        file=sys.stderr,
    )


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co")


def _cache() -> Path:
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    return Path(os.environ.get("HF_HUB_CACHE", home / "hub"))


def _go_offline_if_unreachable() -> None:
    """Asks the hub for a sign of life; without one `datasets` is told to look into its cache at once."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON"):
        return
    try:
        with urllib.request.urlopen(urllib.request.Request(_endpoint(), method="HEAD"), timeout=PROBE_SECONDS):
            return
    except urllib.error.HTTPError:
        return  # an answer
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        print(f"{_endpoint()} cannot be reached ({reason}): looking into the cache only", file=sys.stderr)
        os.environ["HF_HUB_OFFLINE"] = "1"


def _saved(folder: str) -> Any:
    """What `datasets` has saved in a folder with its own `save_to_disk`; None if it is no such folder."""
    import datasets

    if not any((Path(folder) / file).is_file() for file in ("dataset_dict.json", "state.json")):
        return None
    saved = datasets.load_from_disk(folder)
    return saved if isinstance(saved, datasets.DatasetDict) else datasets.DatasetDict({"train": saved})


def _builder(data: schema.Data) -> Any:
    """What knows the data set's files. Offline these are looked for in the hub's cache."""
    import datasets
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    revision = data.hub_revision or None
    try:
        return datasets.load_dataset_builder(data.hub, data.hub_config or None, revision=revision)
    except ConnectionError as error:
        try:
            folder = snapshot_download(data.hub, repo_type="dataset", revision=revision, local_files_only=True)
            return datasets.load_dataset_builder(folder, data.hub_config or None)
        except (LocalEntryNotFoundError, FileNotFoundError, ValueError, datasets.exceptions.DatasetsError):
            raise error from None


def _check_room(builder: Any, name: str) -> None:
    """UserError if the disk of the cache has no room for the download."""
    needed = builder.info.download_size or 0
    cache = next(place for place in (_cache(), *_cache().absolute().parents) if place.exists())
    free = shutil.disk_usage(cache).free
    if needed > free:
        raise UserError(
            f"hub data set {name} takes {bytes_text(needed)}, {cache} has {bytes_text(free)} free: make room, or set "
            "HF_HOME to a folder on another disk"
        )


def _split_parts(source: Any, data: schema.Data, split: str, columns: tuple[str, str]) -> tuple[Part, ...]:
    """One split as parts, its number of rows checked against what it must be."""
    import datasets

    name = _name(data, split)
    if isinstance(source, datasets.DatasetDict):
        if split not in source:
            raise ValueError(f'Unknown split "{split}". Should be one of {list(source)}')
        parts: tuple[Part, ...] = (_table_part(source[split], name, columns),)
        promised = None
    else:
        files = source.config.data_files if source.name == "parquet" else None
        if files is not None:
            if split not in files:
                raise ValueError(f'Unknown split "{split}". Should be one of {[str(known) for known in files]}')
            local = datasets.DownloadManager(dataset_name=source.dataset_name).download(list(files[split]))
            parts = tuple(
                replace(parquet_file(file, columns), source=label, target=label)
                for file, label in zip(local, _labels(name, files[split]), strict=True)
            )
        else:
            table = datasets.load_dataset(data.hub, data.hub_config or None, split=split, revision=data.hub_revision or None)
            parts = (_table_part(table, name, columns),)
        known = (source.info.splits or {}).get(split)
        promised = known.num_examples if known is not None and known.num_examples else None
    found = sum(part.pairs for part in parts)
    pinned = HUB_ROWS.get((data.hub, data.hub_config), {}).get(split)
    expected = pinned or promised or found
    if found != expected:
        raise UserError(
            f"hub data set {name}: {found:,} rows where {expected:,} should be: remove it from the cache ({_cache()}) "
            "and load it again, or name its revision with data.hub_revision"
        )
    if not Path(data.hub).is_dir():
        print(f"{name}: {found:,} rows{', as it must be' if pinned or promised else ''}", file=sys.stderr)
    return parts


def _labels(name: str, files: Any) -> Iterator[str]:
    """What messages call each file."""
    for file in files:
        yield f"{name} {Path(file).name}" if len(files) > 1 else name


def _table_part(table: Any, name: str, columns: tuple[str, str]) -> Part:
    """A `datasets.Dataset` as a part, read in batches. UserError unless it holds both columns as text."""
    nested = nested_columns(table.features.arrow_schema, columns, f"hub data set {name}")

    def read() -> Iterator[tuple[str, str]]:
        for batch in table.with_format("arrow").iter(batch_size=ROWS):
            yield from rows(batch, columns, nested=nested)

    return Part(name, name, len(table), 0, read, table.dataset_size or 0, digest=table._fingerprint)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
