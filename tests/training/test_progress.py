"""What a training says and records, and what it forgets when it goes on from an earlier update (R5, R14)."""

import json
import math
import re
from pathlib import Path

import pytest

from mtkit.metrics import Sample
from mtkit.training.progress import Progress, Window


def window(*, tokens: int = 1000, updates: int = 10, seconds: float = 4.0, waited: float = 0.0) -> Window:
    """A window that lasted `seconds` of training, and as long again for validation."""
    made = Window()
    made.began -= 2 * seconds
    made.aside = seconds
    made.tokens, made.updates, made.waited, made.gradient_norm = tokens, updates, waited, 25.0
    return made


def recorded(metrics: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in metrics.read_text("utf-8").splitlines()]


def test_a_line_and_a_record_of_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = tmp_path / "metrics.jsonl"
    shown = Progress(metrics, updates=100, done=0, leads=True)
    shown.training(10, 0, loss=3000.0, nll=2000.0, rate=1e-3, window=window(waited=0.04))
    shown.close()
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"update 10/100 \| epoch 1 \| loss 3\.000 \| perplexity 7\.39 \| rate 1\.00e-03 \| gradient norm 2\.50 \| "
        r"2\d\d target tokens/s \| data wait 1% \| 0m36s left",
        line,
    )
    (record,) = recorded(metrics)
    assert record.pop("seconds") == pytest.approx(4.0, abs=0.5)
    assert record == {
        "update": 10,
        "epoch": 0,
        "loss": 3.0,
        "negative_log_likelihood": 2.0,
        "learning_rate": 1e-3,
        "gradient_norm": 2.5,
        "target_tokens": 1000,
        "data_wait_seconds": 0.04,
    }


def test_where_the_peak_is_known_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(tmp_path / "metrics.jsonl", updates=100, done=0, leads=True, work=1e9, peak=1e12)
    shown.training(10, 0, loss=3000.0, nll=2000.0, rate=1e-3, window=window())  # 1,000 tokens in 4 s
    (record,) = recorded(tmp_path / "metrics.jsonl")
    assert record["model_flop_utilisation"] == pytest.approx(0.25, rel=0.1)
    assert re.search(r"target tokens/s \| MFU 2\d\.\d% \| data wait", capsys.readouterr().err)


def test_a_line_and_a_record_of_validation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = tmp_path / "metrics.jsonl"
    shown = Progress(metrics, updates=100, done=0, leads=True)
    seen = Sample("grün\u2028a", "b", "c")
    shown.validation(50, 2.0, 12.345, "nrefs:1|version:2 | validation, 40 lines", 65.0, best=True, samples=[seen])
    shown.validation(60, 2.5, None, "", 1.0, best=False)
    assert capsys.readouterr().err.splitlines() == [
        "validation at update 50 | loss 2.0000 | perplexity 7.39 | BLEU 12.35 | nrefs:1|version:2 | validation, 40 lines | "
        "1m05s | best so far",
        "validation at update 60 | loss 2.5000 | perplexity 12.18 | 0m01s",
    ]
    first, second = recorded(metrics)
    assert first == {
        "update": 50,
        "validation_loss": 2.0,
        "validation_bleu": 12.345,
        "signature": "nrefs:1|version:2 | validation, 40 lines",
        "seconds": 65.0,
        "samples": [{"source": "grün\u2028a", "translation": "b", "reference": "c"}],
    }
    assert (second["validation_bleu"], second["samples"]) == (None, [])


def test_losses_beyond_all_bounds_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(tmp_path / "metrics.jsonl", updates=100, done=0, leads=True)
    for value in (1e9, math.inf, math.nan):
        shown.training(10, 0, loss=value, nll=value, rate=1e-3, window=window(tokens=1))
        shown.validation(10, value, None, "", 1.0, best=False)
    assert len(capsys.readouterr().err.splitlines()) == 6
    records = recorded(tmp_path / "metrics.jsonl")
    assert [record.get("loss", record.get("validation_loss")) for record in records] == [1e9, 1e9, None, None, None, None]


def test_waiting_for_data_is_warned_of_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(tmp_path / "metrics.jsonl", updates=100, done=0, leads=True)
    shown.training(10, 0, 1.0, 1.0, 1e-3, window(waited=0.4))
    assert "WARNING" not in capsys.readouterr().err
    shown.training(20, 0, 1.0, 1.0, 1e-3, window(waited=2.0))
    line, warning = capsys.readouterr().err.splitlines()
    assert "| data wait 50% |" in line
    assert warning.startswith("WARNING: the training waits for data")
    shown.training(30, 0, 1.0, 1.0, 1e-3, window(waited=2.0))
    assert "WARNING" not in capsys.readouterr().err


def test_only_one_process_speaks_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text('{"update": 9}\n')
    shown = Progress(metrics, updates=100, done=0, leads=False)
    shown.training(10, 0, 1.0, 1.0, 1e-3, window(waited=3.0))
    shown.validation(10, 2.0, 1.0, "", 1.0, best=True)
    shown.say("hello")
    shown.advance()
    shown.close()
    assert metrics.read_text() == '{"update": 9}\n'
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_that_begins_where_the_run_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = Progress(tmp_path / "metrics.jsonl", updates=100, done=40, leads=True)
    shown.advance()
    shown.say("between")
    shown.close()
    told = capsys.readouterr()
    assert told.out == ""
    assert "40/100" in told.err
    assert "between\n" in told.err


def test_what_came_after_the_checkpoint_is_forgotten(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text('{"update": 10, "loss": 3}\n{"update": 20, "loss": 2}\n{"update": 30, "loss": 1}\n{"update": 20, "lo')
    Progress(metrics, updates=100, done=20, leads=True)
    assert metrics.read_text() == '{"update": 10, "loss": 3}\n{"update": 20, "loss": 2}\n'
    shown = Progress(metrics, updates=100, done=0, leads=True)
    assert metrics.read_text() == ""
    shown.validation(1, 1.0, None, "", 1.0, best=False)
    assert [record["update"] for record in recorded(metrics)] == [1]


@pytest.mark.parametrize("line", [b"3", b"{}", b'{"update": "x"}', b"[" * 100_000, b"\xff", b'{"update": 10, "lo'])
def test_a_damaged_record_is_forgotten(tmp_path: Path, line: bytes) -> None:
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_bytes(b'{"update": 10}\n' + line + b'\n{"update": 20}\n')
    Progress(metrics, updates=100, done=20, leads=True).close()
    assert recorded(metrics) == [{"update": 10}, {"update": 20}]
