"""The Transformer (Vaswani et al. 2017): embeddings, encoder, decoder, output.

Source, target and output share one embedding matrix (section 3.4) or have their own. Padding is told by boolean masks that
are True at real tokens; what stands at padded positions never reaches a real one. Target padding needs no mask: it comes
last, where causal attention does not look, and the loss leaves it out.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from mtkit.config import schema
from mtkit.model.attention import View, causal_mask
from mtkit.model.cache import DecoderCache, room
from mtkit.model.dropout import Dropout
from mtkit.model.feedforward import Experts
from mtkit.model.layers import DecoderLayer, EncoderLayer, final_norm
from mtkit.model.positions import POSITIONS, Positions


class Transformer(nn.Module):
    """An encoder-decoder over token ids.

    `config` gives the sizes, `pieces` the number of target tokens, `source_pieces` that of source tokens where these have
    numbers of their own.
    """

    def __init__(self, config: schema.Model, pieces: int, source_pieces: int | None = None) -> None:
        super().__init__()
        assert source_pieces in (None, pieces) or config.tied_embeddings != "all", "one matrix is for one vocabulary"
        self.config = config
        self.recompute = (
            False  # in training, keep only what goes into each layer and compute the rest again for the gradient
        )
        self.embedding = _embedding(pieces, config.d_model)  # of the target, and of what is tied to it
        self.source_embedding = self.output_embedding = None
        if config.tied_embeddings != "all":
            self.source_embedding = _embedding(pieces if source_pieces is None else source_pieces, config.d_model)
        if config.tied_embeddings == "none":
            self.output_embedding = _embedding(pieces, config.d_model)
        self.encoder_positions = POSITIONS[config.positions](config, False)
        self.decoder_positions = POSITIONS[config.positions](config, True)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = final_norm(config)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = final_norm(config)

    def _embed(self, tokens: Tensor, embedding: nn.Embedding, positions: Positions, first: int) -> Tensor:
        """[B, T] ids at positions first, first + 1, … -> [B, T, D]."""
        embedded: Tensor = self.dropout(positions.embed(embedding(tokens) * math.sqrt(self.config.d_model), first))
        return embedded

    def encode(self, source: Tensor, mask: Tensor | None) -> Tensor:
        """source [B, S] ids, mask [B, S] True at real tokens or None where all are -> memory [B, S, D]."""
        x = self._embed(source, self.source_embedding or self.embedding, self.encoder_positions, 0)
        view = _encoder_view(self.encoder_positions, source.shape[1], _attention_mask(mask))
        for layer in self.encoder:
            x = self._through(layer, x, view)
        memory: Tensor = self.encoder_norm(x)
        return memory

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor | None, cache: DecoderCache | None = None) -> Tensor:
        """target [R, T] ids beginning with the start token, memory [B, S, D], mask as for `encode` -> hidden [R, T, D].

        R is a multiple of B: the hypotheses of a sentence follow one another. With a cache, `target` holds only the tokens
        not seen before, and the cache is extended by them.
        """
        sentences, (rows, length) = len(memory), target.shape
        assert rows % sentences == 0, "as many hypotheses for each sentence"
        seen = cache or self.new_cache()
        x = self._embed(target, self.embedding, self.decoder_positions, seen.length).view(sentences, -1, memory.shape[2])
        view = _decoder_view(self.decoder_positions, seen, sentences, rows // sentences, length, target.device)
        view = view if cache is None else _with_spare_places(view, cache, length, target.device)
        for number, layer in enumerate(self.decoder):
            x = self._through(layer, x, view, memory, _attention_mask(mask), cache.layers[number] if cache else None)
        hidden: Tensor = self.decoder_norm(x)
        return hidden.view(rows, length, -1)

    def _through(self, layer: nn.Module, *inputs: object) -> Tensor:
        """The output of `layer`, [B, T, D]."""
        if self.recompute and self.training:
            return checkpoint(layer, *inputs, use_reentrant=False)  # type: ignore[no-any-return]
        output: Tensor = layer(*inputs)
        return output

    def new_cache(self) -> DecoderCache:
        """An empty cache for `decode`."""
        return DecoderCache(len(self.decoder))

    @property
    def output_matrix(self) -> Tensor:
        """[V, D]: the rows whose products with hidden states are the logits."""
        return (self.output_embedding or self.embedding).weight

    def logits(self, hidden: Tensor) -> Tensor:
        """[…, D] -> unnormalised log-probabilities […, V]."""
        return F.linear(hidden, self.output_matrix)

    def forward(self, source: Tensor, mask: Tensor | None, target: Tensor) -> Tensor:
        """source [B, S], mask [B, S] or None, target [B, T] beginning with the start token -> hidden [B, T, D]."""
        return self.decode(target, self.encode(source, mask), mask)

    def imbalance(self, source_mask: Tensor | None, target_mask: Tensor | None) -> Tensor | None:
        """The sum of `Experts.imbalance` over all layers after a forward pass in training; None without experts."""
        found = [
            layer.feed_forward.imbalance(mask)
            for stack, mask in ((self.encoder, source_mask), (self.decoder, target_mask))
            for layer in stack
            if isinstance(layer.feed_forward, Experts)
        ]
        return torch.stack(found).sum() if found else None

    @property
    def longest(self) -> int | None:
        """Tokens of the longest sentence, control token included, that the positions are for; None = any."""
        return self.decoder_positions.longest

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device


def _embedding(pieces: int, d_model: int) -> nn.Embedding:
    """Scaled by sqrt(d_model) on the way in, it has unit variance; on the way out it serves as it is (section 3.4)."""
    embedding = nn.Embedding(pieces, d_model)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    return embedding


def _encoder_view(positions: Positions, length: int, mask: Tensor | None) -> View:
    """All tokens see all real ones; mask [B, 1, 1, S] or None."""
    bias = positions.bias(0, length)
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    return View(mask, False, positions.rotation(0, length))


def _decoder_view(
    positions: Positions, cache: DecoderCache, sentences: int, width: int, length: int, device: torch.device
) -> View:
    """The newest `length` tokens of each of `width` hypotheses see themselves and what these came from."""
    first = cache.length
    seen = cache.see(sentences, width, length, device)  # [B, W * T, N]
    bias, rotation = positions.bias(first, length), positions.rotation(first, length)
    if seen is not None and cache.positions is not None:
        rotation = None if rotation is None else rotation.repeat(1, width, 1)
        if bias is not None:
            bias = bias[:, :, cache.positions].permute(2, 0, 1, 3).repeat(1, 1, width, 1)  # [B, H, W * T, N]
        return View(_hiding(bias, ~seen[:, None]), False, rotation)
    if bias is None and (first == 0 or length == 1):
        return View(None, length > 1, rotation)
    return View(_hiding(bias, ~causal_mask(length, first + length, device)), False, rotation)


def _with_spare_places(view: View, cache: DecoderCache, length: int, device: torch.device) -> View:
    """The same with a mask for all that the cache will give, spare places included, for the newest `length` tokens."""
    mask = view.mask
    if mask is None:
        mask = _hiding(None, ~causal_mask(length, cache.length, device))
    places = mask.shape[-1]
    return View(F.pad(mask, (0, room(places) - places), value=-math.inf), False, view.rotation)


def _hiding(bias: Tensor | None, hidden: Tensor) -> Tensor:
    """What is added to the scores, -inf where they are `hidden`."""
    return (torch.zeros(1, device=hidden.device) if bias is None else bias).masked_fill(hidden, -math.inf)


def _attention_mask(mask: Tensor | None) -> Tensor | None:
    """[B, S] -> [B, 1, 1, S], the same for all heads and queries."""
    return None if mask is None else mask[:, None, None, :]


def parameter_count(model: nn.Module) -> int:
    """Weights in all, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
