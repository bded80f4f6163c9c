"""What a training said of itself: RUN/metrics.jsonl, one JSON object a line, written by the training as it goes.

Comes in: that file, perhaps still being written, or of a run that was killed and resumed. Goes out: its figures by update.
A figure that was not finite is None. Knows nothing of how the figures were made or of what becomes of them.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtkit.support.errors import UserError


@dataclass(frozen=True)
class Sample:
    """One validation line as the model saw it at a validation."""

    source: str
    translation: str
    reference: str


@dataclass(frozen=True)
class TrainingFigures:
    """The updates since the record before, up to and with `update`. Losses are nats a target token."""

    update: int
    loss: float | None  # what was minimised, with label smoothing
    negative_log_likelihood: float | None
    learning_rate: float | None  # at `update`
    gradient_norm: float | None  # mean
    target_tokens: float | None
    seconds: float | None  # without validation and checkpoints

    @property
    def speed(self) -> float | None:
        """Target tokens a second."""
        return self.target_tokens / self.seconds if self.target_tokens is not None and self.seconds else None


@dataclass(frozen=True)
class ValidationFigures:
    """A validation after `update`."""

    update: int
    loss: float | None  # mean negative log-likelihood of a target token, nats
    bleu: float | None
    signature: str  # of the BLEU score, and its test set
    seconds: float | None
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Metrics:
    """All records by update, lowest first; of several for one update the last."""

    training: tuple[TrainingFigures, ...] = ()
    validations: tuple[ValidationFigures, ...] = ()
    ended: str = ""  # why the training was over before its last update; '' if it was not
    unreadable: int = 0  # lines that are no record, but for a last one that was not written to its end


def read_metrics(path: Path) -> Metrics:
    """The records in the file `path`; none if it is not there yet. UserError if it cannot be read."""
    try:
        *lines, torn = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return Metrics()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    records = [_record(line) for line in lines]
    if (last := _record(torn)) is not None:
        records.append(last)
    training: dict[int, TrainingFigures] = {}
    validations: dict[int, ValidationFigures] = {}
    for record in filter(None, records):
        update = record["update"]
        if "validation_loss" in record:
            validations[update] = _validation(update, record)
        elif "loss" in record:
            training[update] = _training(update, record)
    return Metrics(
        training=tuple(training[update] for update in sorted(training)),
        validations=tuple(validations[update] for update in sorted(validations)),
        ended=str((records[-1] or {}).get("ended", "")) if records else "",
        unreadable=records.count(None),
    )


def _record(line: bytes) -> dict[str, Any] | None:
    """The object on a line if it says which update it is about. What else is in it was perhaps added by a newer mtkit."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("update"), int) else None


def _training(update: int, record: dict[str, Any]) -> TrainingFigures:
    names = ("loss", "negative_log_likelihood", "learning_rate", "gradient_norm", "target_tokens", "seconds")
    return TrainingFigures(update, *(_number(record.get(name)) for name in names))


def _validation(update: int, record: dict[str, Any]) -> ValidationFigures:
    samples = record.get("samples")
    return ValidationFigures(
        update,
        loss=_number(record["validation_loss"]),
        bleu=_number(record.get("validation_bleu")),
        signature=str(record.get("signature") or ""),
        seconds=_number(record.get("seconds")),
        samples=tuple(
            Sample(*(str(sample.get(name, "")) for name in ("source", "translation", "reference")))
            for sample in (samples if isinstance(samples, list) else [])
            if isinstance(sample, dict)
        ),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
