"""Forced decoding: how probable given translations are, with the numbers that the search would have reported for them.

Comes in: models, vocabularies, options and pairs of lines. Goes out: a `Scored` for each pair, in order. Knows no files.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.decoding.coverage import Coverage
from mtkit.decoding.length_penalties import LENGTH_PENALTIES
from mtkit.decoding.stepping import Stepper
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

LARGEST_OUTPUT = 2**25
"""Most log-probabilities at a time: 128 MiB of float32, several times."""

Tokens = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Scored:
    """A given translation of one line."""

    number: int  # of the line, from 1
    score: float  # log_probability / length penalty, plus the coverage penalty if there is one
    log_probability: float  # sum over tokens and the end token, natural logarithm
    length: int  # in tokens, the end token included; 0 where source and target are blank


class Scorer:
    """One model or an ensemble with its vocabularies, ready to score."""

    def __init__(
        self, models: Sequence[Transformer], vocabularies: Vocabularies, config: schema.Decoding, device: torch.device
    ) -> None:
        """The models must already be on `device` and number text as `vocabularies` do."""
        self._stepper = Stepper(models, device, config.precision, config.ensemble)
        self._longest = min((model.longest for model in models if model.longest is not None), default=None)
        self._vocabularies, self._config = vocabularies, config
        self._coverage = Coverage(config.coverage_penalty) if config.coverage_penalty else None

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
        """Scores (source, target) lines as they come. Reads `buffer` pairs, then yields the scores of all of them.

        Two blank lines score 0, as `translate` says of a blank line. UserError for a line longer than the model can read.
        """
        numbered = iter(pairs)
        first = 1
        while chunk := list(itertools.islice(numbered, self._config.buffer)):
            sources, targets = ([pair[side] for pair in chunk] for side in (0, 1))
            encoded = list(
                zip(self._vocabularies.source.encode(sources), self._vocabularies.target.encode(targets), strict=True)
            )
            self._check(encoded, first)
            for number, (pair, found) in enumerate(zip(encoded, self._found(encoded), strict=True), first):
                yield self._scored(number, pair, *found)
            first += len(chunk)

    def _check(self, pairs: Sequence[Tokens], first: int) -> None:
        """UserError for a line that the model has no positions for."""
        for number, pair in enumerate(pairs, first):
            longest = max(map(len, pair)) + 1
            if self._longest is not None and longest > self._longest:
                raise UserError(
                    f"line {number}: {longest} tokens with the end token, the model has learned positions for "
                    f"{self._longest}: leave the line out or shorten it"
                )

    def _scored(self, number: int, pair: Tokens, log_probability: float, coverage: float) -> Scored:
        if not any(pair):
            return Scored(number, 0.0, 0.0, 0)
        length = len(pair[1]) + 1
        penalty = LENGTH_PENALTIES[self._config.length_penalty](length, self._config.alpha)
        return Scored(number, log_probability / penalty + coverage, log_probability, length)

    def _found(self, pairs: Sequence[Tokens]) -> list[tuple[float, float]]:
        """Log-probability and coverage penalty of each pair. Those of like length are looked at together."""
        order = sorted(range(len(pairs)), key=lambda place: (-len(pairs[place][1]), -len(pairs[place][0])))
        found = [(0.0, 0.0)] * len(pairs)
        start = 0
        while start < len(order):
            longest = len(pairs[order[start]][1]) + 1
            count = LARGEST_OUTPUT // (longest * len(self._vocabularies.target))
            widest = 1
            batch: list[int] = []
            for place in order[start : start + max(1, count)]:
                widest = max(widest, len(pairs[place][0]) + 1)
                if batch and widest * (len(batch) + 1) > self._config.batch_tokens:
                    break
                batch.append(place)
            start += len(batch)
            sides = list(zip(*(pairs[place] for place in batch), strict=True))
            scores = self._stepper.forced_scores(*sides)
            for place, *numbers in zip(batch, scores, self._coverages(*sides), strict=True):
                found[place] = numbers[0], numbers[1]
        return found

    def _coverages(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[float]:
        """The coverage penalty of each pair."""
        if self._coverage is None:
            return [0.0] * len(sources)
        attention = self._stepper.alignments(sources, targets)
        paid = (weights.sum(axis=0)[:-1] for weights in attention)  # the source's end token need not be attended to
        return [float(self._coverage.penalties(each)) for each in paid]
