"""What processes of one job tell each other: who speaks of a failure, what is a restart, whether all are done."""

import time
from pathlib import Path

import pytest

from mtkit.support import job


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The launcher's folder of logs, with one attempt of two processes."""
    for rank in (0, 1):
        (tmp_path / "run_x" / "attempt_0" / str(rank)).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def become(logs: Path, monkeypatch: pytest.MonkeyPatch) -> "type[Become]":
    Become.logs, Become.patch = logs, monkeypatch
    return Become


class Become:
    """Become(rank, attempt): from now on this is that process."""

    logs: Path
    patch: pytest.MonkeyPatch

    def __init__(self, rank: int, attempt: int = 0) -> None:
        folder = self.logs / "run_x" / f"attempt_{attempt}" / str(rank)
        folder.mkdir(parents=True, exist_ok=True)
        self.patch.setenv("TORCHELASTIC_ERROR_FILE", str(folder / "error.json"))


def test_the_first_that_fails_speaks_and_nobody_else(become: type[Become], logs: Path) -> None:
    assert not job.anybody_spoke(logs)
    become(1)
    assert job.may_speak(ValueError())
    assert job.anybody_spoke(logs)
    become(0)
    assert not job.may_speak(ValueError())
    become(0, attempt=1)
    assert job.may_speak(ValueError())


def test_who_lost_another_leaves_the_word_to_it(become: type[Become], monkeypatch: pytest.MonkeyPatch, logs: Path) -> None:
    monkeypatch.setattr(job, "TIME_TO_TELL", (0.3, 0.1))
    become(0)
    begin = time.monotonic()
    assert not job.may_speak(job.PeerLostError())
    assert time.monotonic() - begin >= 0.4
    assert not job.anybody_spoke(logs)
    become(1)
    assert job.may_speak(ValueError())
    become(0)
    begin = time.monotonic()
    assert not job.may_speak(job.PeerLostError())
    assert time.monotonic() - begin < 0.3


@pytest.mark.parametrize("file", [None, "/dev/null"])
def test_without_a_launcher_everybody_speaks(monkeypatch: pytest.MonkeyPatch, file: str | None) -> None:
    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    if file:
        monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", file)
    for error in (ValueError(), job.PeerLostError()):
        assert job.may_speak(error)
    job.note_begun()
    job.note_done()
    assert not job.goes_on()


def test_a_job_goes_on_with_its_own_run_only(become: type[Become]) -> None:
    become(0)
    assert not job.goes_on()
    become(0, attempt=1)
    assert not job.goes_on(), "it had not begun when it was restarted"
    become(1, attempt=1)
    job.note_begun()
    for rank in (0, 1):
        become(rank, attempt=2)
        assert job.goes_on()


def test_all_are_done_or_not(become: type[Become], logs: Path) -> None:
    become(0)
    job.note_done()
    assert not job.all_done(logs, 2)
    become(1)
    job.note_done()
    assert job.all_done(logs, 2)
