"""The last step of a model on a CPU: from hidden states to log-probabilities of the next token, all or only the best ones.

The products with the output matrix are most of the work of a small model. They are made a block of the vocabulary at a time,
so that what is made of a block is still in the cache of the CPU, and memory of the same size is used again and again: fresh
memory for all pieces at once costs as much as the product. Where the products are rounded (bfloat16, int8), they choose the
best tokens, whose logits are then computed in float32.

Shapes: R rows, D = d_model, V pieces, N best.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtkit.decoding.linear_maps import MAPS

BLOCK = 4096
"""Pieces of a block."""

RUN = 64
"""Pieces whose maximum stands for them at first, when the best are sought: the best are in the best runs."""


MORE = 4
"""Tokens looked at besides the best, where these are chosen by rounded products."""

NOTHING = 30.0
"""What is so much less likely than another token adds nothing that float32 can hold."""


class Output:
    """The output matrix in one arithmetic. `banned`: tokens that are never among the best, though they have a share."""

    def __init__(self, matrix: Tensor, precision: str, banned: Sequence[int]) -> None:
        """matrix [V, D]."""
        self._matrix = matrix.detach()
        self._rounded = precision != "float32"
        self._blocks = [MAPS[precision](_linear(block)) for block in torch.split(self._matrix, BLOCK)]
        self._banned = list(banned)

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """[…, D] -> […, V], in float32 whatever the arithmetic: rounded products do not tell near pieces apart."""
        if self._rounded:
            return F.linear(hidden, self._matrix).log_softmax(-1)
        return torch.cat([block(hidden) for block in self._blocks], dim=-1).log_softmax(-1)

    def best(self, hidden: Tensor, count: int, bars: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """hidden [R, D] -> log-probabilities and numbers of the `count` most probable tokens, [R, N] each, best first.

        bars [B, V], where R / B rows follow one another: -inf at the tokens that rows may not have, which then have no share
        either, else 0, as for the first of all. Of those barred there may be some at the end, with -inf.
        """
        logits = [block(hidden) for block in self._blocks]
        if bars is None:
            sums = [_logsumexp(part) for part in logits]
        else:
            sums = []
            for part, of_part in zip(logits, torch.split(bars, BLOCK, dim=1), strict=True):
                part.view(len(bars), -1, part.shape[1]).add_(of_part[:, None])
                sums.append(_logsumexp_of_barred(part, logits[0][:, 0] - NOTHING))
        totals = torch.cat(sums, dim=1).logsumexp(1, keepdim=True)  # [R, 1]
        for token in self._banned:
            logits[token // BLOCK][:, token % BLOCK] = -torch.inf
        possible = len(self._matrix) - len(self._banned)
        count = min(count, possible)
        if not self._rounded:
            values, tokens = _best(logits, count)
            return values - totals, tokens
        rounded, tokens = _best(logits, min(count + MORE, possible))
        exact = torch.bmm(self._matrix[tokens], hidden[:, :, None])[:, :, 0].masked_fill_(rounded.isneginf(), -torch.inf)
        values, order = exact.topk(count, dim=1)
        return values - _corrected(totals, rounded, exact), tokens.gather(1, order)


def _linear(matrix: Tensor) -> nn.Linear:
    """The map whose weight is `matrix` [O, I]."""
    pieces, width = matrix.shape
    linear = nn.Linear(width, pieces, bias=False, device="meta")
    linear.weight = nn.Parameter(matrix, requires_grad=False)
    return linear


def _logsumexp(logits: Tensor) -> Tensor:
    """[R, V'], the first ones finite, -> [R, 1]. By way of the log-softmax, which reads once and is four times as fast."""
    return logits[:, :1] - logits.log_softmax(-1)[:, :1]


def _logsumexp_of_barred(logits: Tensor, stand_in: Tensor) -> Tensor:
    """The same where the first ones [R] may be -inf: then `stand_in` takes their places for a moment."""
    first = logits[:, 0].clone()
    logits[:, 0] = torch.where(first.isneginf(), stand_in, first)
    sums = _logsumexp(logits)
    logits[:, 0] = first
    return sums


def _corrected(totals: Tensor, rounded: Tensor, exact: Tensor) -> Tensor:
    """log(sum of exp) [R, 1] of logits of which the `rounded` [R, N] are replaced by the `exact`."""
    change = ((exact - totals).exp() - (rounded - totals).exp()).sum(1, keepdim=True)
    return totals + change.clamp(min=-0.9).log1p()


def _best(logits: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
    """The largest of logits [R, V'] that lie in several tensors beside each other, and their places; [R, N] each."""
    parts = [_in_runs(part) for part in logits]
    highest = torch.cat([part.amax(-1) for part in parts], dim=1)  # [R, runs]
    chosen = highest.topk(min(count, highest.shape[1]), dim=1).indices.sort(dim=1).values
    candidates = highest.new_empty(*chosen.shape, RUN)
    first = 0
    for part in parts:
        rows, ranks = ((chosen >= first) & (chosen < first + part.shape[1])).nonzero(as_tuple=True)
        candidates[rows, ranks] = part[rows, chosen[rows, ranks] - first]
        first += part.shape[1]
    places = (chosen[..., None] * RUN + torch.arange(RUN)).flatten(1)
    values, order = candidates.flatten(1).topk(count, dim=1)
    return values, places.gather(1, order)


def _in_runs(logits: Tensor) -> Tensor:
    """[R, V'] -> [R, runs, RUN], the last one filled up with -inf."""
    missing = -logits.shape[1] % RUN
    whole = F.pad(logits, (0, missing), value=-torch.inf) if missing else logits
    return whole.view(len(logits), -1, RUN)
