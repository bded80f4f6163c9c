"""What the decoder remembers of the tokens it has seen, so that a step computes only what is new.

Keys and values of a token lie where they were put first, at a place of its sentence; a search that lets hypotheses branch
and die moves none of them. Which places are whose is told by the lineage: a hypothesis attends to the tokens that it came
from. Places that nobody came from are given up once they are as many as the others.

Memory is taken for a few places more than are in use, and attention goes over all of it and sees none of the spare ones:
reading on is three times as fast as leaving gaps.

Shapes: B sentences, W hypotheses of each, R = B * W rows; N places of a sentence in use, P with the spare
ones; T new tokens of each hypothesis; G heads of keys and values; J = d_k, K = d_v.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

ROOM = 8
"""Places that memory is taken for at a time, at least."""

SHARE = 4
"""Of the places in use, one of so many more: to take memory anew is to copy all that is there."""

WASTE = 2
"""Places in all, for each that is needed, from which on the others are given up."""


def room(places: int) -> int:
    """P: the places that memory is taken for where N = `places` are in use."""
    grain = max(ROOM, 1 << (places // SHARE).bit_length() >> 1)
    return -(-places // grain) * grain


@dataclass
class LayerCache:
    """What one decoder layer remembers."""

    keys: Tensor | None = None  # [B, G, P, J], of the target
    values: Tensor | None = None  # [B, G, P, K]
    memory_keys: Tensor | None = None  # [B, G, S, J], of the source: one for all hypotheses of a sentence
    memory_values: Tensor | None = None  # [B, G, S, K]
    places: int = 0
    """N: places in use."""

    def make_room(self, places: int) -> None:
        """Sees to it that P is enough for so many `places` in use."""
        if self.keys is not None and self.values is not None and self.keys.shape[2] < places:
            self.keys, self.values = (_longer(part[:, :, : self.places], room(places)) for part in (self.keys, self.values))

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Puts new keys [B, G, M, J] and values [B, G, M, K] after the others, for which there is room; [B, G, P, J] and
        [B, G, P, K]: all."""
        end = self.places + keys.shape[2]
        if self.keys is None or self.values is None:
            self.keys, self.values = _longer(keys, room(end)), _longer(values, room(end))
        else:
            self.keys[:, :, self.places : end] = keys
            self.values[:, :, self.places : end] = values
        self.places = end
        return self.keys, self.values

    def keep(self, sentences: Tensor | None, places: Tensor | None) -> None:
        """Of what is there keeps `sentences` [B'] and of each of these `places` [B', N'], in that order; None keeps all."""
        if sentences is not None and self.memory_keys is not None and self.memory_values is not None:
            self.memory_keys, self.memory_values = moved(self.memory_keys, sentences), moved(self.memory_values, sentences)
        if self.keys is None or self.values is None:
            return
        if places is not None:
            self.keys, self.values = (_gathered(part, sentences, places) for part in (self.keys, self.values))
            self.places = places.shape[1]
        elif sentences is not None:
            self.keys, self.values = moved(self.keys, sentences), moved(self.values, sentences)


class DecoderCache:
    """What all layers remember, and whose it is."""

    def __init__(self, layers: int) -> None:
        self.layers = [LayerCache() for _ in range(layers)]
        self.length = 0
        """Tokens of each hypothesis so far."""
        self._sentences = 0
        # None while each sentence has one hypothesis, which came from all that is there.
        self._lineage: Tensor | None = None  # [B, W, N], True where a hypothesis came from the token
        self.positions: Tensor | None = None
        """[B, N]: those of the tokens in their hypotheses; None while they are 0, 1, 2, …"""

    def see(self, sentences: int, width: int, length: int, device: torch.device) -> Tensor | None:
        """Takes note of `length` new tokens of each of `width` hypotheses a sentence.

        Which places each of the new tokens sees [B, W * T, N], True = seen, itself and the other new ones among them; None:
        all before it.
        """
        first, self._sentences = self.length, sentences
        self.length += length
        for layer in self.layers:
            layer.make_room(layer.places + width * length)
        if self._lineage is None and width == 1:
            return None
        if self._lineage is None or self.positions is None:
            self._branch(torch.arange(sentences * width, device=device), first)
        assert self._lineage is not None and self.positions is not None  # noqa: PT018 - the types are the same fact
        own = torch.eye(width, dtype=torch.bool, device=device).repeat_interleave(length, 1)  # [W, W * T]
        causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        new = (own.repeat_interleave(length, 0) & causal.repeat(width, width)).expand(sentences, -1, -1)
        seen = torch.cat([self._lineage.repeat_interleave(length, 1), new], dim=2)
        self._lineage = torch.cat([self._lineage, own.expand(sentences, -1, -1)], dim=2)
        after = torch.arange(first, self.length, device=device).repeat(sentences, width)
        self.positions = torch.cat([self.positions, after], dim=1)
        return seen

    def _branch(self, rows: Tensor, length: int) -> None:
        """Every one of the hypotheses `rows` [R] came from all of the `length` tokens."""
        self._lineage = torch.ones(
            self._sentences, len(rows) // self._sentences, length, dtype=torch.bool, device=rows.device
        )
        self.positions = torch.arange(length, device=rows.device).repeat(self._sentences, 1)

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        """Keeps the hypotheses `rows` [R'] and the `sentences` [B'], in that order; None keeps all as they are.

        Rows may be repeated, and are those of the sentences kept.
        """
        if not self.length:
            return
        self._sentences = self._sentences if sentences is None else len(sentences)
        places = None
        if rows is not None and (self._lineage is not None or len(rows) > self._sentences):
            if self._lineage is None or self.positions is None:
                self._branch(rows, self.length)
            else:
                self._lineage = self._lineage.flatten(0, 1)[rows].view(self._sentences, -1, self._lineage.shape[2])
                self.positions = self.positions if sentences is None else self.positions[sentences]
                places = self._close_up()
        for layer in self.layers:
            layer.keep(sentences, places)

    def _close_up(self) -> Tensor | None:
        """[B, N']: the places to keep, where half of them are of no use any more; None = all."""
        assert self._lineage is not None and self.positions is not None  # noqa: PT018
        used = self._lineage.any(dim=1)  # [B, N]
        needed = int(used.sum(dim=1).max())
        if WASTE * needed > used.shape[1]:
            return None
        places = (~used).to(torch.uint8).argsort(dim=1, stable=True)[:, :needed]
        self._lineage = self._lineage.gather(2, places[:, None].expand(-1, self._lineage.shape[1], -1))
        self.positions = self.positions.gather(1, places)
        return places


def _longer(part: Tensor, places: int) -> Tensor:
    """`part` [B, G, N, J] with spare places after it, [B, G, P = `places`, J]: numbers, nothing when times a weight of 0."""
    return F.pad(part, (0, 0, 0, places - part.shape[2]))


def _gathered(part: Tensor, sentences: Tensor | None, places: Tensor) -> Tensor:
    """Of `part` [B, G, P, J] the `places` [B', N'] of `sentences` [B'], and spare ones; [B', G, P', J]."""
    groups, before = part.shape[1:3]
    kept = torch.arange(len(part), device=part.device) if sentences is None else sentences
    first = (kept[:, None] * groups + torch.arange(groups, device=part.device)) * before  # [B', G], rows of J numbers
    rows = first[..., None] + F.pad(places, (0, room(places.shape[1]) - places.shape[1]))[:, None]
    return part.flatten(0, 2).index_select(0, rows.flatten()).view(*rows.shape, -1)


FEW = 4
"""Moving a row within a tensor takes so many times as long as copying it into a new one."""


def moved(part: Tensor, rows: Tensor) -> Tensor:
    """The `rows` [R'] of `part` [R, …]. On a CPU, where copying is dear, those that stay in place are not moved."""
    if part.device.type == "cpu" and len(rows) <= len(part) and not part.requires_grad:
        moving = (rows != torch.arange(len(rows))).nonzero()[:, 0]
        if FEW * len(moving) <= len(rows):
            return part[: len(rows)].index_copy_(0, moving, part.index_select(0, rows[moving]))
    return part.index_select(0, rows)
