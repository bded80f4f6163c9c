"""Event files: the figures of metrics.jsonl, and how a resumed run withdraws what it will say again."""

import json
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mtkit.checkpoint import METRICS, Run
from mtkit.support.errors import UserError
from mtkit.support.files import UnwritableError

event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")

OPTIONS = [
    "training.tensorboard=true",
    "training.log_interval=1",
    "training.validation.interval=2",
    "training.validation.bleu=false",
]


def events(file: Path) -> Iterator[Any]:
    """The records of a TFRecord file: length, its checksum, the record, its checksum."""
    data = file.read_bytes()
    while data:
        (length,) = struct.unpack_from("<Q", data)
        event = event_pb2.Event()
        event.ParseFromString(data[12 : 12 + length])
        yield event
        data = data[16 + length :]


def test_the_figures_of_every_record(train: Callable[..., Run], toy_corpus: Path, toy_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for updates in (2, 4):
        options = [*OPTIONS, f"training.updates={updates}"]
        run = train(toy_corpus / "toy.yaml", options, toy_data, folder, resume=updates == 4)
    first, second = sorted((folder / "tensorboard").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    told: dict[int, dict[str, float]] = {}
    for event in (*events(first), *events(second)):
        for value in event.summary.value:
            told.setdefault(event.step, {})[value.tag] = value.simple_value
    wanted: dict[int, dict[str, float]] = {}
    for line in (run.folder / METRICS).read_text("utf-8").splitlines():
        record = json.loads(line)
        numbers = {name: value for name, value in record.items() if isinstance(value, int | float)}
        wanted.setdefault(int(numbers.pop("update")), {}).update(numbers)
    assert sorted(told) == [1, 2, 3, 4]
    assert {step: pytest.approx(figures, rel=1e-6) for step, figures in wanted.items()} == told
    (start,) = [event.step for event in events(second) if event.HasField("session_log")]
    assert start == 3, "what the first run said of later updates is withdrawn"


def test_a_place_that_cannot_be_written(train: Callable[..., Run], toy_corpus: Path, toy_data: Path, tmp_path: Path) -> None:
    run = train(toy_corpus / "toy.yaml", ["training.updates=2"], toy_data, tmp_path / "run")
    (run.folder / "tensorboard").touch()
    with pytest.raises(UnwritableError, match="tensorboard"):
        train(toy_corpus / "toy.yaml", [*OPTIONS, "training.updates=3"], toy_data, run.folder, resume=True)


def test_without_the_library(
    train: Callable[..., Run], toy_corpus: Path, toy_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(UserError, match=r"pip install 'mtkit\[tensorboard\]'"):
        train(toy_corpus / "toy.yaml", OPTIONS, toy_data, tmp_path / "run")
