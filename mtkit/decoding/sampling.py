"""Drawing tokens instead of taking the most probable ones: every hypothesis of a sentence is an independent sample.

Comes in: log-probabilities of the next token. Goes out: one continuation of each sample. Knows no model and no text. A
sentence's draws depend on its seed alone, whatever is translated beside it and however many samples are drawn.

Shapes: S sentences, G samples of each, V pieces.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.decoding.candidates import Candidates, Live, add_sums


class Samples:
    """`count` samples of each sentence. seeds: for each sentence whole numbers that together seed its draws."""

    width = 1

    def __init__(self, options: schema.Decoding, seeds: Sequence[Sequence[int]], count: int) -> None:
        self.groups = count
        self._options = options
        self._draws = [[np.random.default_rng([*seed, sample]) for sample in range(count)] for seed in seeds]

    def __call__(self, log_probabilities: Tensor, live: Live) -> Candidates:
        """One token for each of log_probabilities [S, G, 1, V], by the inverse of the cumulative distribution."""
        shares = tempered(log_probabilities[:, :, 0], self._options).cumsum(-1)
        draws = np.array([[draw.random() for draw in self._draws[sentence]] for sentence in live.running.tolist()])
        # Scaled to the last value, which is 1 but for rounding, so that a share of 0 is never met.
        wanted = torch.from_numpy(draws).to(shares.device)[..., None] * shares[..., -1:]
        tokens = torch.searchsorted(shares, wanted, right=True).clamp_(max=shares.shape[-1] - 1)
        sums = add_sums(log_probabilities, live.sums)[:, :, 0].gather(2, tokens)
        return Candidates(sums.cpu().numpy(), np.zeros(tokens.shape, dtype=np.int64), tokens.cpu().numpy())


def tempered(log_probabilities: Tensor, options: schema.Decoding) -> Tensor:
    """log_probabilities [..., V] -> the distribution [..., V] that is drawn from, float64.

    First the temperature; then only the `top_k` most probable pieces; of these the fewest that together reach `top_p`
    (Holtzman et al. 2020). Pieces as probable as the last one kept are kept too.
    """
    logits = log_probabilities.double() / options.temperature
    if 0 < options.top_k < logits.shape[-1]:
        logits = logits.masked_fill(logits < logits.topk(options.top_k).values[..., -1:], -torch.inf)
    shares = logits.softmax(-1)
    if options.top_p < 1.0:
        falling = shares.sort(-1, descending=True).values
        before = falling.cumsum(-1) - falling
        least = falling.masked_fill(before >= options.top_p, torch.inf).min(-1, keepdim=True).values
        shares = shares.masked_fill(shares < least, 0.0)
        shares = shares / shares.sum(-1, keepdim=True)
    return shares
