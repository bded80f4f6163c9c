"""The download of a test set, from a server on this machine in the place of the real one, with everything that can fail."""

import hashlib
import http.server
import io
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS

from mtkit.evaluation import fetching
from mtkit.evaluation.test_sets import load_test_set
from mtkit.support.errors import UserError


def invented(word: str, lines: int) -> list[str]:
    return [f"{word} {number}." for number in range(1, lines + 1)]


def archive(members: dict[str, list[str]]) -> bytes:
    """A .tgz such as WMT's, of files of segments."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, lines in members.items():
            segments = [f'<seg id="{number}">{line}</seg>' for number, line in enumerate(lines, 1)]
            content = "\n".join(['<doc docid="a" genre="news" origlang="en">', *segments, "</doc>", ""]).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


FULL = archive(
    {
        "test-full/newstest2014-deen-src.en.sgm": invented("Sentence", 3003),
        "test-full/newstest2014-deen-ref.de.sgm": invented("Satz", 3003),
    }
)


class Server(http.server.ThreadingHTTPServer):
    """Answers every request with `body`, but says that it is `length` bytes; counts the requests."""

    body, length, status, requests = FULL, len(FULL), 200, 0


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(self.server.length))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Nothing is to be said on stderr."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """In the place of WMT's, for wmt14/full; sacreBLEU's own folder is empty."""
    with Server(("127.0.0.1", 0), Handler) as made:
        dataset = DATASETS["wmt14/full"]
        monkeypatch.setattr(dataset, "_outdir", str(tmp_path / "sacrebleu" / "wmt14/full"))
        monkeypatch.setattr(dataset, "_rawdir", str(tmp_path / "sacrebleu" / "wmt14/full" / "raw"))
        monkeypatch.setattr(dataset, "data", [f"http://127.0.0.1:{made.server_port}/wmt14/test-full.tgz"])
        monkeypatch.setattr(dataset, "md5", [hashlib.md5(FULL).hexdigest()])
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()


def test_a_set_is_downloaded_once_and_needs_no_network_afterwards(server: Server, tmp_path: Path) -> None:
    fetched = load_test_set("newstest2014", "en", "de", tmp_path / "sets")
    assert (fetched.label, fetched.lines) == ("newstest2014 (wmt14/full)", 3003)
    assert (fetched.source[0], fetched.references[0][3002]) == ("Sentence 1.", "Satz 3003.")
    server.status = 500
    assert load_test_set("newstest2014", "en", "de", tmp_path / "sets") == fetched
    assert server.requests == 1
    assert not (tmp_path / "sacrebleu").exists()


def cut_download(server: Server) -> None:
    server.body = FULL[: len(FULL) // 2]


def cut_archive(server: Server) -> None:
    server.body = FULL[: len(FULL) // 2]
    server.length = len(server.body)


def other_page(server: Server) -> None:
    server.body = b"<html>please log in</html>"
    server.length = len(server.body)


def gone(server: Server) -> None:
    server.status = 404


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (cut_download, r"IncompleteRead\(\d+ bytes read, \d+ more expected\)"),
        (cut_archive, r"MD5 sum of downloaded file was incorrect \(got \w+, expected \w+\)"),
        (other_page, "MD5 sum of downloaded file was incorrect"),
        (gone, "HTTP Error 404"),
    ],
)
def test_a_download_that_fails_leaves_nothing_and_works_the_next_time(
    fault: Callable[[Server], None], told: str, server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fault(server)
    for _ in range(2):  # a bad archive is never taken for a good one
        with pytest.raises(UserError, match=rf"newstest2014 \(wmt14/full, en-de\) cannot be downloaded: {told}"):
            load_test_set("newstest2014", "en", "de", tmp_path / "sets")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")  # what sacreBLEU has to say is in the message
    server.body, server.length, server.status = FULL, len(FULL), 200
    assert load_test_set("newstest2014", "en", "de", tmp_path / "sets").lines == 3003


def test_no_route_and_no_answer_are_told_at_once(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PATIENCE", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setattr(DATASETS["wmt14/full"], "data", [f"http://127.0.0.1:{silent.getsockname()[1]}/test-full.tgz"])
        with pytest.raises(UserError, match=r"cannot be downloaded: timed out: from a machine that has it copy"):
            load_test_set("newstest2014", "en", "de", tmp_path / "sets")
    with pytest.raises(UserError, match=r"cannot be downloaded: <urlopen error .*Connection refused.*>: from a machine"):
        load_test_set("newstest2014", "en", "de", tmp_path / "sets")


def test_a_set_of_another_size_is_refused_whoever_signed_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("test-full/newstest2014-deen-src.en.sgm", "test-full/newstest2014-deen-ref.de.sgm")
    server.body = archive({name: invented("A", 2737) for name in names})
    server.length = len(server.body)
    monkeypatch.setattr(DATASETS["wmt14/full"], "md5", [hashlib.md5(server.body).hexdigest()])
    told = r"^the download: newstest2014 .* has 2737 lines \(as many as newstest2014-filtered .* has\), should be 3003"
    with pytest.raises(UserError, match=told):
        load_test_set("newstest2014", "en", "de", tmp_path / "sets")
    server.body = archive({names[0]: invented("A", 3003), names[1]: invented("A", 3002)})
    server.length = len(server.body)
    monkeypatch.setattr(DATASETS["wmt14/full"], "md5", [hashlib.md5(server.body).hexdigest()])
    with pytest.raises(UserError, match=r"^the download: .* 3003 source lines and references of \[3002\] lines"):
        load_test_set("newstest2014", "en", "de", tmp_path / "sets")


def test_an_archive_puts_nothing_outside_its_folder(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.body = archive({f"{tmp_path}/evil": ["x"], "../evil": ["x"]})
    server.length = len(server.body)
    monkeypatch.setattr(DATASETS["wmt14/full"], "md5", [hashlib.md5(server.body).hexdigest()])
    with pytest.raises(UserError, match="cannot be downloaded: "):
        load_test_set("newstest2014", "en", "de", tmp_path / "sets")
    assert list(tmp_path.iterdir()) == []
    assert "extraction_filter" not in vars(tarfile.TarFile)
