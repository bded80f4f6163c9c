"""What searches for the translations of a batch. One class an engine; the dict at the end is the list of them.

Comes in: token ids. Goes out: hypotheses. Knows no text and no order of lines.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.decoding.ctranslate2_engine import CTranslate2Engine
from mtkit.decoding.search import Hypothesis, beam_search
from mtkit.decoding.stepping import Stepper
from mtkit.model.transformer import Transformer


class Engine(Protocol):
    """Models ready to search."""

    def search(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[Hypothesis]]:
        """The n best of each of `sources`, token ids without control tokens, none empty.

        limits: for each the most tokens a hypothesis may have, end token included, at least 1.
        """


class OwnEngine:
    """Our models and our search."""

    def __init__(
        self, models: Sequence[Transformer], vocabularies: Vocabularies, config: schema.Decoding, device: torch.device
    ) -> None:
        self.stepper = Stepper(models, device, config.precision)
        self._config, self._device = config, device

    def search(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[Hypothesis]]:
        """As `Engine.search`."""
        with self.stepper.running():
            best = self.stepper.best if self.stepper.finds_best else None
            state = self.stepper.begin(sources)
            return beam_search(self.stepper.step, state, limits, self._config, self._device, best)


ENGINES: dict[str, Callable[[Sequence[Transformer], Vocabularies, schema.Decoding, torch.device], Engine]] = {
    "mtkit": OwnEngine,
    "ctranslate2": CTranslate2Engine,
}
"""engine(models, vocabularies, options, device). The models lie on `device` and number text as `vocabularies` do."""
