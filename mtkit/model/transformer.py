"""The Transformer (Vaswani et al. 2017): embeddings, encoder, decoder, output.

Source, target and output share one embedding matrix (section 3.4). Padding is told by boolean masks that are True at real
tokens; what stands at padded positions never reaches a real one. Target padding needs no mask: it comes last, where causal
attention does not look, and the loss leaves it out.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtkit.config import schema
from mtkit.model.attention import LayerCache
from mtkit.model.dropout import Dropout
from mtkit.model.layers import DecoderLayer, EncoderLayer, final_norm
from mtkit.model.positions import POSITIONS


@dataclass
class DecoderCache:
    """Keys and values of the tokens decoded so far, by layer, and how many tokens that is."""

    layers: list[LayerCache]
    length: int = 0

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps the hypotheses `rows` and the `sentences` named, in that order; None keeps all as they are."""
        for layer in self.layers:
            layer.select(rows, sentences)


class Transformer(nn.Module):
    """An encoder-decoder over token ids. `config` gives the sizes, `pieces` the number of rows of the embedding."""

    def __init__(self, config: schema.Model, pieces: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(pieces, config.d_model)
        # Scaled by sqrt(d_model) on the way in, this gives unit variance; on the way out it serves as it is (section 3.4).
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.positions = POSITIONS[config.positions](config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = final_norm(config)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = final_norm(config)

    def _embed(self, tokens: Tensor, first: int = 0) -> Tensor:
        """[B, T] ids at positions first, first + 1, … -> [B, T, D]."""
        embedded: Tensor = self.dropout(
            self.positions(self.embedding(tokens) * math.sqrt(self.config.d_model), first),
        )
        return embedded

    def encode(self, source: Tensor, mask: Tensor | None) -> Tensor:
        """source [B, S] ids, mask [B, S] True at real tokens or None where all are -> memory [B, S, D]."""
        x = self._embed(source)
        for layer in self.encoder:
            x = layer(x, _attention_mask(mask))
        memory: Tensor = self.encoder_norm(x)
        return memory

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor | None, cache: DecoderCache | None = None) -> Tensor:
        """target [R, T] ids beginning with the start token, memory [B, S, D], mask as for `encode` -> hidden [R, T, D].

        R is a multiple of B: the hypotheses of a sentence follow one another. With a cache, `target` holds only the tokens
        not seen before, and the cache is extended by them.
        """
        x = self._embed(target, cache.length if cache else 0)
        for number, layer in enumerate(self.decoder):
            x = layer(x, memory, _attention_mask(mask), cache.layers[number] if cache else None)
        if cache is not None:
            cache.length += target.shape[1]
        hidden: Tensor = self.decoder_norm(x)
        return hidden

    def new_cache(self) -> DecoderCache:
        """An empty cache for `decode`."""
        return DecoderCache([LayerCache() for _ in self.decoder])

    def logits(self, hidden: Tensor) -> Tensor:
        """[…, D] -> unnormalised log-probabilities […, V], by the embedding matrix."""
        return F.linear(hidden, self.embedding.weight)

    def forward(self, source: Tensor, mask: Tensor | None, target: Tensor) -> Tensor:
        """source [B, S], mask [B, S] or None, target [B, T] beginning with the start token -> hidden [B, T, D]."""
        return self.decode(target, self.encode(source, mask), mask)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device


def _attention_mask(mask: Tensor | None) -> Tensor | None:
    """[B, S] -> [B, 1, 1, S], the same for all heads and queries."""
    return None if mask is None else mask[:, None, None, :]


def parameter_count(model: nn.Module) -> int:
    """Weights in all, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
