"""What searches for the translations of a batch. One class an engine; the dict at the end is the list of them.

Comes in: requests, which hold token ids. Goes out: hypotheses. Knows no lines and no order.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.decoding.ctranslate2_engine import CTranslate2Engine
from mtkit.decoding.own_engine import OwnEngine
from mtkit.decoding.requests import Request
from mtkit.decoding.search import Hypothesis
from mtkit.model.transformer import Transformer


class Engine(Protocol):
    """Models ready to search."""

    rows: int
    """Hypotheses of a sentence that are continued at a time."""
    side_by_side: bool
    """Whether several threads may search at a time, and had better."""

    def search(self, requests: Sequence[Request]) -> list[list[Hypothesis]]:
        """The hypotheses of each request, best first."""

    def alignments(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """As `Stepper.alignments`."""


ENGINES: dict[str, Callable[[Sequence[Transformer], Vocabularies, schema.Decoding, torch.device], Engine]] = {
    "mtkit": OwnEngine,
    "ctranslate2": CTranslate2Engine,
}
"""engine(models, vocabularies, options, device). The models lie on `device` and number text as `vocabularies` do."""
