"""metrics.jsonl read back: what was written, however the training ended."""

import json
from pathlib import Path

import pytest

from mtkit.metrics import Metrics, Sample, TrainingFigures, ValidationFigures, read_metrics
from mtkit.support.errors import UserError
from mtkit.training.progress import Progress, Window

SAMPLES = (Sample("bako\u2028timu", "timu bako", "timu </script> bako"), Sample("", "", "–"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def window() -> Window:
    made = Window()
    made.tokens, made.updates, made.gradient_norm = 1000, 10, 25.0
    return made


def test_what_a_training_writes_is_read(file: Path) -> None:
    progress = Progress(file, updates=20, done=0, leads=True)
    progress.training(10, 0, loss=3000.0, nll=2000.0, rate=1e-3, window=window())
    progress.validation(10, 1.5, 12.25, "nrefs:1 | validation, 2 lines", 3.0, best=True, samples=SAMPLES)
    progress.validation(20, 1.25, None, "", 4.0, best=False)
    progress.close()
    found = read_metrics(file)
    (training,) = found.training
    assert (training.update, training.loss, training.negative_log_likelihood) == (10, 3.0, 2.0)
    assert (training.learning_rate, training.gradient_norm, training.target_tokens) == (1e-3, 2.5, 1000)
    assert found.validations == (
        ValidationFigures(10, 1.5, 12.25, "nrefs:1 | validation, 2 lines", 3.0, SAMPLES),
        ValidationFigures(20, 1.25, None, "", 4.0, ()),
    )
    assert found.unreadable == 0


def test_before_the_first_record_there_is_nothing(file: Path) -> None:
    assert read_metrics(file) == Metrics()
    file.touch()
    assert read_metrics(file) == Metrics()


def test_of_repeated_updates_the_last_counts(file: Path) -> None:
    file.write_text(
        '{"update": 10, "loss": 5}\n{"update": 20, "loss": 4}\n{"update": 20, "validation_loss": 3}\n'
        '{"update": 30, "loss": 3}\n{"update": 20, "loss": 2}\n{"update": 20, "validation_loss": 1}\n'
    )
    found = read_metrics(file)
    assert [(one.update, one.loss) for one in found.training] == [(10, 5.0), (20, 2.0), (30, 3.0)]
    assert [(one.update, one.loss) for one in found.validations] == [(20, 1.0)]


@pytest.mark.parametrize("torn", [b'{"update": 20, "lo', b'{"update": 20', b"", b"\xc3"])
def test_a_line_that_is_being_written_is_passed_over(file: Path, torn: bytes) -> None:
    file.write_bytes(b'{"update": 10, "loss": 5}\n' + torn)
    found = read_metrics(file)
    assert [one.update for one in found.training] == [10]
    assert found.unreadable == 0


def test_a_whole_last_line_counts_without_its_end(file: Path) -> None:
    file.write_text('{"update": 10, "loss": 5}')
    assert [one.update for one in read_metrics(file).training] == [10]


def test_damaged_lines_are_counted_and_unknown_records_are_not(file: Path) -> None:
    file.write_bytes(
        b'{"update": 10, "loss": 5}\n\xff\xfe\n[1]\n{"loss": 1}\n{"update": "ten", "loss": 1}\n{"update": 30, "news": 1}\n'
    )
    found = read_metrics(file)
    assert [one.update for one in found.training] == [10]
    assert found.unreadable == 4


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "null", '"3"', "[3]"])
def test_what_is_no_finite_number_is_none(file: Path, value: str) -> None:
    file.write_text(f'{{"update": 10, "loss": {value}, "learning_rate": 1e-3}}\n')
    (one,) = read_metrics(file).training
    assert (one.loss, one.learning_rate) == (None, 1e-3)


@pytest.mark.parametrize(
    ("tokens", "seconds", "speed"), [(1000.0, 4.0, 250.0), (1000.0, 0.0, None), (None, 4.0, None), (0.0, 4.0, 0.0)]
)
def test_speed(tokens: float | None, seconds: float | None, speed: float | None) -> None:
    assert TrainingFigures(1, None, None, None, None, tokens, seconds).speed == speed


def test_samples_of_a_strange_shape_do_no_harm(file: Path) -> None:
    lines = [{"update": 10, "validation_loss": 1, "samples": samples} for samples in (3, [3], [{"source": "a"}])]
    file.write_text("".join(json.dumps(line | {"update": number}) + "\n" for number, line in enumerate(lines)))
    assert [one.samples for one in read_metrics(file).validations] == [(), (), (Sample("a", "", ""),)]


def test_a_file_that_cannot_be_read_is_named(file: Path) -> None:
    file.mkdir()
    with pytest.raises(UserError, match=r"metrics\.jsonl: cannot be read \(Is a directory\)"):
        read_metrics(file)
