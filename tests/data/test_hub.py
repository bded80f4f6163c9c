"""The hub, by the same path as in production, against a small stand-in on this machine that can also misbehave (D9, D10).

The stand-in answers the requests that `datasets` and `huggingface_hub` make: files with their ETag and commit, the list of
files, what is known of a revision.
"""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

ROOT = Path(__file__).parents[2]
COMMIT = "a" * 40
COUNTS = {"train": 60, "validation": 5, "test": 5}


class StandIn(ThreadingHTTPServer):
    """Serves the data sets in `folder`; `cut` names files whose second half is never sent, `asked` all that was sent."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.cut: set[str] = set()
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """The routes of the hub that are needed."""

    protocol_version = "HTTP/1.1"
    server: StandIn

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path, parts = self.path.partition("?")[0], self.path.partition("?")[0].strip("/").split("/")
        if path == "/":
            self.send(b"ok", body=body)
        elif parts[:2] == ["api", "datasets"] and (self.server.folder / parts[2] / parts[3]).is_dir():
            self.about("/".join(parts[2:4]), parts[4:], body=body)
        elif parts[0] == "datasets" and parts[3:4] == ["resolve"]:
            self.file("/".join(parts[1:3]), "/".join(parts[5:]), body=body)
        else:
            self.send(b"{}", body=body, status=404, headers={"X-Error-Code": "RepoNotFound"})

    def about(self, name: str, rest: list[str], *, body: bool) -> None:
        base = self.server.folder / name
        files = {str(file.relative_to(base)): file.stat().st_size for file in sorted(base.rglob("*")) if file.is_file()}
        if rest[:1] == ["tree"]:
            inside = "/".join(rest[2:])
            told = [
                {"type": "file", "path": file, "size": size, "oid": hashlib.sha1(file.encode()).hexdigest()}
                for file, size in files.items()
                if file.rpartition("/")[0] == inside
            ]
            folders = {file.rpartition("/")[0] for file in files} - {""}
            if not inside:
                told += [{"type": "directory", "path": folder, "size": 0, "oid": "0" * 40} for folder in sorted(folders)]
            self.send(json.dumps(told).encode(), body=body)
            return
        date = "2024-01-01T00:00:00.000Z"
        siblings = [{"rfilename": file} for file in files]
        told_all = {"id": name, "sha": COMMIT, "siblings": siblings, "tags": [], "createdAt": date, "lastModified": date}
        self.send(json.dumps(told_all).encode(), body=body)

    def file(self, name: str, file: str, *, body: bool) -> None:
        path = self.server.folder / name / file
        if not path.is_file():
            self.send(b"", body=body, status=404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        content = path.read_bytes()
        tag = hashlib.sha1(content).hexdigest()
        if body:
            self.server.asked.append(f"{name}/{file}")
        start = int((self.headers.get("Range") or "bytes=0-")[6:].partition("-")[0])
        extra = {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if start:
            extra["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.send(
            content[start:], body=body, status=206 if start else 200, cut=f"{name}/{file}" in self.server.cut, headers=extra
        )

    def send(
        self, content: bytes, *, body: bool, status: int = 200, cut: bool = False, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content[: len(content) // 2] if cut else content)
            self.close_connection = cut


def data_set(folder: Path, *, promised: int = 0) -> None:
    """A data set as wmt/wmt14 is one: parquet files of nested pairs, two for train, and a card that counts them."""
    splits, files = [], []
    for split, count in COUNTS.items():
        shards = 2 if split == "train" else 1
        rows = [{"translation": {"de": f"Satz {split} {i}", "en": f"sentence {split} {i}"}} for i in range(count)]
        for shard in range(shards):
            path = folder / "de-en" / f"{split}-{shard:05d}-of-{shards:05d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            part = rows[shard * count // shards : (shard + 1) * count // shards]
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(part), path)
        told = count + promised * (split == "train")
        splits += [f"  - name: {split}", "    num_bytes: 1000", f"    num_examples: {told}"]
        files += [f"  - split: {split}", f"    path: de-en/{split}-*"]
    types = [
        "  - name: translation",
        "    dtype:",
        "      translation:",
        "        languages:",
        "        - de",
        "        - en",
    ]
    head = ["---", "dataset_info:", "- config_name: de-en", "  features:", *types, "  splits:", *splits]
    sizes = ["  download_size: 4000", "  dataset_size: 3000", "configs:", "- config_name: de-en", "  data_files:"]
    (folder / "README.md").write_text("\n".join([*head, *sizes, *files, "---", ""]))


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    folder = tmp_path_factory.mktemp("hub")
    for name in ("some/pairs", "some/cut", "some/missing", "wmt/wmt14"):
        data_set(folder / name)
    data_set(folder / "some" / "short", promised=1)
    (folder / "some" / "missing" / "de-en" / "validation-00000-of-00001.parquet").unlink()
    server = StandIn(folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def prepare(folder: Path, hub: str, name: str, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """`mtkit prepare --config base.yaml` with data.hub=name."""
    settings = {"PYTHONPATH": str(ROOT), "HF_HOME": str(folder / "home"), "HF_ENDPOINT": hub, "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "mtkit", "prepare", "--config", "base.yaml", "--output", "out"]
    command += [
        "--set",
        f"data.hub={name}",
        "--set",
        "vocabulary.soft_limit=true",
        "--set",
        "evaluation.test_set=''",
        *options,
    ]
    return subprocess.run(
        command, cwd=folder, env=os.environ | settings | environment, capture_output=True, encoding="utf-8", timeout=200
    )


def refused(done: "subprocess.CompletedProcess[str]", folder: Path) -> str:
    """The message of a refusal that is as it should be."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    return done.stderr.splitlines()[-1]


def test_a_data_set_is_downloaded_once_and_then_needs_no_network(hub: StandIn, tmp_path: Path) -> None:
    done = prepare(tmp_path, hub.url, "some/pairs")
    assert done.returncode == 0, done.stderr
    assert "reading some/pairs de-en from the Hugging Face hub" in done.stderr.splitlines()[0]
    assert "some/pairs de-en train: 60 rows, as it must be" in done.stderr
    assert "train: read 60, kept 60, dropped 0" in done.stderr
    text = (tmp_path / "out" / "train.de").read_text().splitlines()
    assert text == [f"Satz train {i}" for i in range(60)], "both files, in order"
    assert not list((tmp_path / "home").rglob("*.arrow")), "no second copy"
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    fetched = len(hub.asked)
    again = prepare(tmp_path, f"http://127.0.0.1:{_closed_port()}", "some/pairs", "--overwrite")
    assert again.returncode == 0, again.stderr
    assert "cannot be reached (" in again.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
    assert len(hub.asked) == fetched


@pytest.mark.slow
def test_an_interrupted_download_is_told_and_goes_on(hub: StandIn, tmp_path: Path) -> None:
    hub.cut = {"some/cut/de-en/train-00001-of-00002.parquet"}
    message = refused(prepare(tmp_path, hub.url, "some/cut"), tmp_path)
    assert "some/cut de-en" in message
    assert "repeat the command: the download goes on where it was" in message
    hub.cut = set()
    before = len(hub.asked)
    done = prepare(tmp_path, hub.url, "some/cut")
    assert done.returncode == 0, done.stderr
    assert "train: read 60, kept 60, dropped 0" in done.stderr
    assert not any("train-00000" in file for file in hub.asked[before:]), "what was there is not fetched again"


@pytest.mark.slow
def test_what_is_missing_or_fewer_than_promised_is_named(hub: StandIn, tmp_path: Path) -> None:
    assert "validation" in refused(prepare(tmp_path, hub.url, "some/missing"), tmp_path)
    message = refused(prepare(tmp_path, hub.url, "some/short"), tmp_path)
    assert "some/short de-en train: 60 rows where 61 should be" in message


def test_another_number_of_rows_than_wmt14_has_is_refused(hub: StandIn, tmp_path: Path) -> None:
    message = refused(prepare(tmp_path, hub.url, "wmt/wmt14"), tmp_path)
    assert "wmt/wmt14 de-en train: 60 rows where 4,508,785 should be: remove it from the cache" in message


def test_without_a_route_it_says_how_to_go_on(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{_closed_port()}"
    done = prepare(tmp_path, nowhere, "wmt/wmt14")
    message = refused(done, tmp_path)
    assert "818 MB to download" in done.stderr.splitlines()[0]
    for part in (f"reached at {nowhere}", "data.train.source=FILE", "data.hub=FOLDER", "HF_HOME"):
        assert part in message


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
