"""The output step among the tokens that the sentences of a batch may use: products with these only, each masked to its own.

So what becomes of a sentence depends on none beside it. Its probabilities are normalised over the tokens that it may use.

Shapes: B sentences, R rows (those of a sentence follow one another), V pieces, U of them that some sentence may use.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from mtkit.decoding.output import Output

WORTHWHILE = 0.5
"""Share of all tokens up to which products with these only are worth the packing of their weights anew for each batch."""


@dataclass
class Narrowed:
    """The tokens that a batch may use, and what belongs to them."""

    tokens: Tensor  # [U], in order
    bars: Tensor  # [B, U], 0 where the sentence may use the token, else -inf
    matrices: Sequence[Tensor]  # [U, D] of each model
    outputs: Sequence[Output]  # of each model, on a CPU; else none

    def select(self, sentences: Tensor) -> None:
        """Keeps the sentences [B'], in that order."""
        self.bars = self.bars.index_select(0, sentences)

    def best(self, hidden: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """As `Output.best` of the only model."""
        values, places = self.outputs[0].best(hidden, count, self.bars)
        return values, self.tokens[places]

    def log_probabilities(self, number: int, hidden: Tensor, pieces: int) -> Tensor:
        """[R, D] of a model -> [R, V] of `pieces`, -inf for what may not be used."""
        logits = F.linear(hidden, self.matrices[number].to(hidden.dtype))
        by_sentence = logits.view(len(self.bars), -1, len(self.tokens)) + self.bars[:, None]
        found = by_sentence.log_softmax(-1).view_as(logits)
        return logits.new_full((len(logits), pieces), -torch.inf).index_copy_(1, self.tokens, found)


def narrowed(
    allowed: Sequence[NDArray[np.int64]],
    matrices: Sequence[Tensor],
    outputs: Sequence[Output],
    precision: str,
    never: Sequence[int],
) -> Narrowed:
    """What the sentences may use: tokens in order, `never` among them.

    matrices [V, D] and outputs: those of the models, all tokens; there are no outputs where the models are not packed.
    """
    pieces = len(matrices[0])
    tokens = np.unique(np.concatenate(allowed))
    assert tokens[list(never)].tolist() == list(never), "control tokens are the first, and each sentence has them"
    if len(tokens) > WORTHWHILE * pieces:
        tokens = np.arange(pieces)
    bars = torch.full((len(allowed), len(tokens)), -torch.inf)
    for row, own in enumerate(allowed):
        bars[row, torch.from_numpy(np.searchsorted(tokens, own))] = 0.0
    places = torch.from_numpy(tokens).to(matrices[0].device)
    if len(tokens) < pieces:
        matrices = [matrix.detach().index_select(0, places) for matrix in matrices]
        outputs = [Output(matrix, precision, never) for matrix in matrices] if outputs else []
    return Narrowed(places, bars.to(places.device), matrices, outputs)
