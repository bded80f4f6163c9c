"""Scores of another tool, such as COMET, read from a file: sentence by sentence, and only for the lines they were made of.

Comes in: a JSON file as scripts/comet.sh writes it. Goes out: a metric like sacreBLEU's. The file holds

    {"metric": "comet", "signature": "…", "lower_is_better": false,
     "systems": [{"name": "…", "sha256": "…", "scores": [0.81, …]}, …]}

where sha256 is that of the translation's lines, each ended by \\n, so that scores of another translation are refused.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from sacrebleu.metrics.base import Metric, Signature
from sacrebleu.metrics.base import Score as MetricScore

from mtkit.evaluation.metrics import METRICS, Counted
from mtkit.support.errors import UserError

OWN_NAMES = frozenset({*METRICS, "chrf2", "chrf2++"})
"""What an imported metric may not be called, in small letters: nothing else would tell its scores from sacreBLEU's."""


def _metric_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+_.-]*", value):
        raise ValueError(f"must be a word such as comet, found {value!r}")
    if value.lower() in OWN_NAMES:
        raise ValueError(f"{value} is the name of a score of sacreBLEU's: give it another")
    return value


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ImportedSystem(_Record):
    """The scores of one translation."""

    name: str
    sha256: str
    scores: tuple[FiniteFloat, ...]


class ImportedScores(_Record):
    """The file."""

    metric: Annotated[str, AfterValidator(_metric_name)]
    signature: str = Field(min_length=1)
    lower_is_better: bool = False
    systems: tuple[ImportedSystem, ...]


class _GivenSignature(Signature):
    """A signature that is known as it stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.info: dict[str, Any] = {}

    def format(self, short: bool = False) -> str:
        return self._text


class ImportedMetric(Metric):
    """The mean of the scores of a translation's sentences."""

    def __init__(self, path: Path, content: ImportedScores) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._path, self._content = path, content

    def get_signature(self) -> Signature:
        """As the file has it."""
        return _GivenSignature(self._content.signature)

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: object) -> list[list[float]]:
        digest = lines_sha256(hypotheses)
        found = [system for system in self._content.systems if system.sha256 == digest]
        if not found:
            known = ", ".join(f"{system.name} ({system.sha256[:12]})" for system in self._content.systems) or "nothing"
            raise UserError(
                f"{self._path}: has no {self._content.metric} of the translation with sha256 {digest[:12]}, but of {known}: "
                "score this translation again (scripts/comet.sh)"
            )
        if len({system.scores for system in found}) > 1:
            names = " and ".join(system.name for system in found)
            raise UserError(
                f"{self._path}: has different scores of one translation, as {names}: score it again (scripts/comet.sh)"
            )
        if len(found[0].scores) != len(hypotheses):
            raise UserError(
                f"{self._path}: {found[0].name} has {len(found[0].scores)} scores for {len(hypotheses)} lines: "
                "score it again (scripts/comet.sh)"
            )
        return [[value, 1.0] for value in found[0].scores]

    def _compute_score_from_stats(self, stats: Any) -> MetricScore:
        return MetricScore(self._content.metric, float(stats[0] / stats[1]))

    def _aggregate_and_compute(self, stats: Any) -> MetricScore:
        return self._compute_score_from_stats(np.sum(stats, axis=0))

    def _cache_references(self, references: Sequence[Sequence[str]]) -> list[Any]:
        return []  # they were the other tool's business

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[Any]:
        raise NotImplementedError("sentences are scored by the other tool")


def imported_metric(path: Path) -> tuple[str, Counted]:
    """The metric of a file of scores, and its name. UserError if the file cannot be read or is no such file."""
    content = read_imported(path)
    metric = ImportedMetric(path, content)
    return content.metric, Counted(metric, [], lower_is_better=content.lower_is_better, decimals=4)


def read_imported(path: Path) -> ImportedScores:
    """The content of the file. UserError if it cannot be read or is no such file."""
    try:
        return ImportedScores.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{path}: not a file of scores such as scripts/comet.sh writes: {f'{where}: ' if where else ''}{first['msg']}"
        ) from None


def lines_sha256(lines: Sequence[str]) -> str:
    """Hexadecimal SHA-256 of the lines, each ended by \\n: that of a plain file with them."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode("utf-8")).hexdigest()
