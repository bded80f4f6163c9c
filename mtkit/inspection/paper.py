"""Table 3 of the paper (Vaswani et al. 2017): what it says of a model like the one at hand.

Comes in: a config. Goes out: the row with the same architecture, dropout and label smoothing, if there is one. The files'
names do not matter. Knows nothing of what mtkit itself counts.
"""

from dataclasses import dataclass

from mtkit.config import schema

PIECES = 37_000
"""The paper's shared vocabulary, of about that many."""

BASE: dict[str, object] = {}
BIG: dict[str, object] = {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3}


@dataclass(frozen=True)
class Row:
    """One line of the table: English-German, one checkpoint, newstest2013."""

    name: str  # the table's letter, or base or big
    differs: dict[str, object]  # options of the section `model` that are not base's
    bleu: float  # tokenised, on newstest2013
    millions: int | None = None  # of weights, where the table prints them
    label_smoothing: float = 0.1


TABLE_3 = (
    Row("base", BASE, 25.8, 65),
    Row("A", {"heads": 1}, 24.9),
    Row("A", {"heads": 4}, 25.5),
    Row("A", {"heads": 16}, 25.8),
    Row("A", {"heads": 32}, 25.4),
    Row("B", {"d_k": 16}, 25.1, 58),
    Row("B", {"d_k": 32}, 25.4, 60),
    Row("C", {"encoder_layers": 2, "decoder_layers": 2}, 23.7, 36),
    Row("C", {"encoder_layers": 4, "decoder_layers": 4}, 25.3, 50),
    Row("C", {"encoder_layers": 8, "decoder_layers": 8}, 25.5, 80),
    Row("C", {"d_model": 256}, 24.5, 28),
    Row("C", {"d_model": 1024}, 26.0, 168),
    Row("C", {"d_ff": 1024}, 25.4, 53),
    Row("C", {"d_ff": 4096}, 26.2, 90),
    Row("D", {"dropout": 0.0}, 24.6),
    Row("D", {"dropout": 0.2}, 25.5),
    Row("D", BASE, 25.3, label_smoothing=0.0),
    Row("D", BASE, 25.7, label_smoothing=0.2),
    Row("E", {"positions": "learned"}, 25.7),
    Row("big", BIG, 26.4, 213),
)


def paper_row(config: schema.Config) -> Row | None:
    """The table's row for this model over a vocabulary of the paper's size; None where the table has none."""
    if config.vocabulary.size != PIECES:
        return None
    model, smoothing = _written_out(config.model), config.training.label_smoothing
    for row in TABLE_3:
        if (model, smoothing) == (_written_out(schema.Model.model_validate(row.differs)), row.label_smoothing):
            return row
    return None


def _written_out(model: schema.Model) -> schema.Model:
    """The same model with every width written out, and what it makes no use of as it is by default.

    So is the number of learned positions: the paper does not tell it.
    """
    update: dict[str, object] = {"d_k": model.key_width, "d_v": model.value_width, "key_value_heads": model.groups}
    unused = ["learned_positions"] + (["experts", "experts_per_token", "balance"] if model.feedforward != "experts" else [])
    return model.model_copy(update=update | {name: getattr(schema.Model(), name) for name in unused})
