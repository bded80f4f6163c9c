"""A toy in place of a model: next-token log-probabilities as tables, small enough to enumerate every sequence."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtkit.config import schema
from mtkit.data.vocabulary import EOS
from mtkit.decoding.candidates import Chooser
from mtkit.decoding.coverage import LEAST
from mtkit.decoding.length_penalties import LENGTH_PENALTIES
from mtkit.decoding.rules import Rule
from mtkit.decoding.search import Hypothesis, beam_search

FIRST = 4  # the first token that is no control token
A, B = FIRST, FIRST + 1


@dataclass
class Prefixes:
    """A search state that remembers the tokens of each row and the number of each sentence."""

    sentences: Tensor  # [S]
    tokens: Tensor | None = None  # [R, T]
    moves: int = 0
    tables: "Tables | None" = None

    @property
    def attention(self) -> NDArray[np.float32]:
        """[R, L], of the latest step."""
        assert self.tokens is not None
        assert self.tables is not None
        owners = self.sentences.repeat_interleave(len(self.tokens) // len(self.sentences)).tolist()
        prefixes = [tuple(row[1:]) for row in self.tokens.tolist()]
        return np.stack([self.tables.attention(owner, prefix) for owner, prefix in zip(owners, prefixes, strict=True)])

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        assert rows is not None or sentences is not None, "nothing to do"
        self.moves += 1
        if rows is not None and self.tokens is not None:
            self.tokens = self.tokens[rows]
        if sentences is not None:
            self.sentences = self.sentences[sentences]


class Tables:
    """Next-token log-probabilities as a function of (sentence, prefix), random unless given: the step of a search."""

    def __init__(self, seed: int = 0, words: int = 3, sharpness: float = 1.0) -> None:
        self.seed, self.words, self.sharpness = seed, words, sharpness
        self.rows: list[int] = []  # of each step
        self.known: dict[tuple[int, tuple[int, ...]], Tensor] = {}
        self.looks: dict[int, NDArray[np.float32]] = {}  # [97, 3], by sentence

    def give(self, prefix: tuple[int, ...], probabilities: dict[int, float], sentence: int = 0) -> None:
        """Sets what follows a prefix, by token; all others become impossible."""
        row = torch.full((FIRST + self.words,), -torch.inf)
        for token, probability in probabilities.items():
            row[token] = math.log(probability)
        self.known[sentence, prefix] = row

    def row(self, sentence: int, prefix: tuple[int, ...]) -> Tensor:
        if (sentence, prefix) not in self.known:
            random = np.random.default_rng([self.seed, sentence, *prefix])
            logits = torch.from_numpy(random.normal(size=FIRST + self.words) * self.sharpness).float()
            logits[EOS] += len(prefix) - 4  # or the shortest would always win
            self.known[sentence, prefix] = torch.log_softmax(logits, dim=0)
        return self.known[sentence, prefix]

    def step(self, newest: Tensor, state: Prefixes) -> Tensor:
        self.rows.append(len(newest))
        state.tokens = newest if state.tokens is None else torch.cat([state.tokens, newest], dim=1)
        owners = state.sentences.repeat_interleave(len(newest) // len(state.sentences)).tolist()
        prefixes = [tuple(row[1:]) for row in state.tokens.tolist()]
        return torch.stack([self.row(owner, prefix) for owner, prefix in zip(owners, prefixes, strict=True)])

    def log_probability(self, sentence: int, path: tuple[int, ...]) -> float:
        """Sum over the tokens of the path, which may hold the end token."""
        return math.fsum(self.row(sentence, path[:place])[token].item() for place, token in enumerate(path))

    def attention(self, sentence: int, prefix: tuple[int, ...]) -> NDArray[np.float32]:
        """[3]: how what follows a prefix looks at three source tokens; sums to 1."""
        if sentence not in self.looks:
            drawn = np.random.default_rng([self.seed, 1, sentence]).dirichlet([0.3] * 3, size=97)
            self.looks[sentence] = drawn.astype(np.float32)
        place = 0
        for token in prefix:
            place = 7 * place + token
        look: NDArray[np.float32] = self.looks[sentence][place % 97]
        return look

    def search(
        self,
        limits: list[int],
        rules: Sequence[Rule] = (),
        chooser: Chooser | None = None,
        sentences: Sequence[int] | None = None,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """The search of sentences 0, 1, …, or of those named."""
        state = Prefixes(torch.arange(len(limits)) if sentences is None else torch.tensor(sentences), tables=self)
        decoding = schema.Decoding.model_validate(options)
        return beam_search(self.step, state, limits, decoding, torch.device("cpu"), rules, chooser)


def enumerated(
    tables: Tables,
    sentence: int,
    limit: int,
    wanted: Callable[[tuple[int, ...]], bool] = lambda tokens: True,
    **options: object,
) -> list[tuple[float, tuple[int, ...]]]:
    """Scores and tokens of all `wanted` sequences that end within `limit` tokens, end token included, best first."""
    decoding = schema.Decoding.model_validate({"beam_size": 1000} | options)
    penalty = LENGTH_PENALTIES[decoding.length_penalty]
    found = []
    for length in range(limit):
        for tokens in filter(wanted, itertools.product(range(FIRST, FIRST + tables.words), repeat=length)):
            score = tables.log_probability(sentence, (*tokens, EOS)) / penalty(length + 1, decoding.alpha)
            if decoding.coverage_penalty:
                paid = sum(tables.attention(sentence, tokens[:place]) for place in range(length + 1))
                score += decoding.coverage_penalty * float(np.log(np.clip(paid, LEAST, 1.0)).sum())
            found.append((score, tokens))
    return sorted(found, key=lambda one: -one[0])
