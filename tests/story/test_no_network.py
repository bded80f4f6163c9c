"""Once the data is prepared nothing asks the network any more (D10, E6)."""

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def test_train_translate_and_evaluate_ask_for_no_address(
    mtkit: Call, toy_corpus: Path, toy_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("the network was asked")

    shutil.copytree(toy_corpus, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs"))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for arguments in (
        ("train", "--config", "toy.yaml", "--device", "cpu", "--set", "training.updates=20"),
        ("translate", "--device", "cpu", "--input", "test.en"),
        ("evaluate", "--device", "cpu", "--set", "evaluation.resamples=0"),
    ):
        done = mtkit(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
