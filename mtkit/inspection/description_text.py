"""Descriptions of configs as text for the eye: one in detail, or several as a table. Nothing is computed here."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mtkit.config import schema
from mtkit.inspection.describe import Description
from mtkit.model.operations import TRAINING
from mtkit.model.parameters import PARTS

WIDTH = 125
"""Columns of a line at most, but where figures are absurdly long."""

SHORTEST = 12
"""Columns that a name has at least."""

GAP = "  "


@dataclass(frozen=True)
class _Column:
    """One of the table: what stands over it (neighbours may share a `group`), and its cell for each config."""

    group: str
    title: str
    cell: Callable[[Description], str]


_COLUMNS = (
    _Column("M weights", "embed", lambda found: _millions(_weights(found, "embedding"))),
    _Column("M weights", "attn", lambda found: _millions(_weights(found, "attention"))),
    _Column("M weights", "ffn", lambda found: _millions(_weights(found, "feed_forward"))),
    _Column("M weights", "total", lambda found: _millions(found.parameters.total)),
    _Column("paper", "M", lambda found: f"{found.paper.millions}" if found.paper and found.paper.millions else ""),
    _Column("paper", "BLEU", lambda found: f"{found.paper.bleu}" if found.paper else ""),
    _Column("MFLOP a token", "source", lambda found: _millions(found.forward.source)),
    _Column("MFLOP a token", "target", lambda found: _millions(found.forward.target)),
    _Column("tokens", "update", lambda found: f"{found.update_tokens:,}"),
    _Column("GB", "train", lambda found: f"{found.training.total / 1e9:.2f}"),
    _Column("GB", "decode", lambda found: f"{found.decoding.total / 1e9:.2f}"),
    _Column("training", "FLOP", lambda found: _power(found.training_operations)),
    _Column("training", "hours", lambda found: _plain(found.hours)),
)

_SIZES = ("d_model", "d_ff", "heads", "encoder_layers", "decoder_layers")

_LEGEND = """\
M weights       millions; shared ones once, embeddings with the output layer, the total with norms and positions
paper           what Table 3 of "Attention Is All You Need" says of this model: millions of weights, BLEU on newstest2013
MFLOP a token   millions, of a forward pass in sentences of {sentence}; with the backward pass {times} times as many
tokens          of an update on each side, at most
GB              training with a micro-batch, decoding a batch to the longest; in passing, operations need some more
training        operations and hours of all updates, at {rate} target tokens/s"""


def table(descriptions: Sequence[Description]) -> str:
    """A row for each config, and what the columns mean."""
    titles = [column.title for column in _COLUMNS]
    grid = [titles, *([column.cell(found) for column in _COLUMNS] for found in descriptions)]
    widths = [max(map(len, cells)) for cells in zip(*grid, strict=True)]
    room = max(SHORTEST, WIDTH - sum(len(GAP) + width for width in widths))
    names = ["config", *(_shortened(found.name.removesuffix(".yaml"), room) for found in descriptions)]
    left = max(map(len, names))
    lines = [f"{' ' * left}{_groups(widths)}"]
    for name, cells in zip(names, grid, strict=True):
        numbers = "".join(GAP + cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{name.ljust(left)}{numbers}".rstrip())
    lengths, rate = {found.sentence for found in descriptions}, _plain(descriptions[0].rate)
    sentence = f"{max(lengths)} tokens{'' if len(lengths) == 1 else ' or as many as the config allows'}"
    return "\n".join([*lines, "", _LEGEND.format(sentence=sentence, times=TRAINING, rate=rate)])


def details(found: Description) -> str:
    """One config: its parts with weights and operations, then what training and decoding take."""
    return "\n\n".join([_heading(found), _parts(found), _work(found)])


def _heading(found: Description) -> str:
    """The sizes, what else is not the paper's, and what the paper says."""
    model, pieces = found.config.model, f"{found.target_pieces:,}"
    if not found.config.vocabulary.shared:
        pieces = f"{found.source_pieces:,} + {pieces}"
    layers = f"{model.encoder_layers} + {model.decoder_layers} layers"
    lines = [f"{found.name}: {layers}, d_model {model.d_model}, d_ff {model.d_ff}, {model.heads} heads, {pieces} pieces"]
    others = {name: value for name, value in model if name not in _SIZES and value != getattr(schema.Model(), name)}
    if others:
        lines.append(", ".join(f"{name} {value}" for name, value in others.items()))
    if found.paper:
        row = found.paper.name if found.paper.name in ("base", "big") else f"row {found.paper.name}"
        weights = f"{found.paper.millions} million weights, " if found.paper.millions else ""
        lines.append(f"the paper (Table 3, {row}): {weights}BLEU {found.paper.bleu} on newstest2013")
    return "\n".join(textwrap.fill(line, WIDTH) for line in lines)


def _parts(found: Description) -> str:
    """Weights and operations by part, those that the model has."""
    rows = [("", "weights", "share", "MFLOP a source token", "a target token")]
    total, forward = found.parameters.total, found.forward
    for part in PARTS:
        weights, operations = found.parameters.parts[part], found.operations[part]
        if weights or operations.source or operations.target:
            label = _label(part, found.config.model)
            rows.append(
                (label, f"{weights:,}", f"{weights / total:.1%}", _some(operations.source), _some(operations.target))
            )
    rows.append(("in all", f"{total:,}", "100.0%", _some(forward.source), _some(forward.target)))
    if found.parameters.active != total:
        active = found.parameters.active
        rows.append(("that one token meets", f"{active:,}", f"{active / total:.1%}", "", ""))
    rows.append(("forward and backward", "", "", _some(TRAINING * forward.source), _some(TRAINING * forward.target)))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join(
        (
            name.ljust(widths[0]) + "".join(GAP + cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        ).rstrip()
        for name, *cells in rows
    )


def _label(part: str, model: schema.Model) -> str:
    """How a part is called; an embedding by all that it serves."""
    tied = {"all": "embedding of source, target, output", "decoder": "embedding of target, output"}
    named = {
        "embedding": tied.get(model.tied_embeddings, "embedding of target"),
        "source_embedding": "embedding of source",
        "output_embedding": "output layer",
    }
    stack, _, sublayer = part.partition("_")
    return named.get(part, f"{stack} {sublayer.replace('_', '-')}".strip())


def _work(found: Description) -> str:
    """Sentences, updates, the whole training, memory."""
    config, training, decoding = found.config.training, found.training, found.decoding
    told = {
        "sentences": [f"of {found.sentence} tokens on each side: what operations and memory are told for"],
        "update": [
            f"at most {found.update_tokens:,} tokens on each side: {found.micro_batches} x {found.micro_batch_tokens:,}"
            f"{'' if config.micro_batch_tokens else ' (auto: in as many parts as the device asks for)'}"
            f"{', each passed through the model twice (R-Drop)' if found.passes > 1 else ''}"
        ],
        "training": [
            f"{config.updates:,} updates: at most {_plain(found.training_tokens / 1e6)} million target tokens, "
            f"{_power(found.training_operations)} operations,",
            f"{_plain(found.hours)} hours at {_plain(found.rate)} target tokens/s",
        ],
        "memory": [
            f"training {_bytes(training.total)}: weights {_bytes(training.weights)}, "
            f"gradients {_bytes(training.gradients)}, moments {_bytes(training.moments)}, "
            f"{f'average {_bytes(training.average)}, ' if training.average else ''}"
            f"activations of a micro-batch {_bytes(training.activations)}",
            f"decoding {_bytes(decoding.total)}: weights {_bytes(decoding.weights)}, "
            f"keys and values {_bytes(decoding.cache)}, scores {_bytes(decoding.scores)}",
            "and on top what operations need in passing: on a CPU a fifth in training, two fifths in decoding",
        ],
    }
    return "\n".join(f"{title if line == lines[0] else '':<11}{line}" for title, lines in told.items() for line in lines)


def _groups(widths: Sequence[int]) -> str:
    """The line over the titles: each group over the middle of its columns."""
    groups = groupby(zip(_COLUMNS, widths, strict=True), key=lambda member: member[0].group)
    spans = ((group, sum(len(GAP) + width for _, width in members)) for group, members in groups)
    return "".join(GAP + group.center(span - len(GAP)) for group, span in spans).rstrip()


def _weights(found: Description, kind: str) -> int:
    """Of all parts whose names hold `kind`."""
    return sum(count for part, count in found.parameters.parts.items() if kind in part)


def _shortened(name: str, room: int) -> str:
    return name if len(name) <= room else f"…{name[len(name) - room + 1 :]}"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.1f}"


def _some(operations: int) -> str:
    """Millions, or nothing where there are none."""
    return _millions(operations) if operations else ""


def _power(count: int) -> str:
    """Such as 9.5e17."""
    return f"{count:.1e}".replace("e+", "e")


def _plain(number: float) -> str:
    """Two or three digits that count, and no fraction of what has them before the point."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number >= 1 else f"{number:.2g}"


def _bytes(count: int) -> str:
    """Three digits that count with their unit, such as 252 MB or 1.01 GB."""
    for power, unit in ((9, "GB"), (6, "MB")):
        if count >= 10**power:
            return f"{_plain(count / 10**power)} {unit}"
    return f"{_plain(count / 1e3)} kB"
