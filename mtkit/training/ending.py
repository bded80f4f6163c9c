"""Whether a training ends before its last update: after so many epochs, or validations without a new best.

Comes in: an update, or the run with what its validations said. Goes out: yes or no, which therefore does not depend on
whether the run was ever stopped and resumed. Knows nothing of models.
"""

from mtkit.checkpoint import METRICS, Run, State, goodness
from mtkit.config import schema
from mtkit.metrics import read_metrics
from mtkit.training.feed import Update


def is_last(update: Update, config: schema.Training) -> bool:
    """Whether nothing comes after `update`."""
    return update.number == config.updates or (update.closes_epoch and update.epoch + 1 == config.epochs)


def is_too_late(update: Update, config: schema.Training) -> bool:
    """Whether `update` is of an epoch that is not wanted: the run was resumed after its end."""
    return 0 < config.epochs <= update.epoch


def has_lost_patience(run: Run, patience: int) -> bool:
    """Whether the last `patience` validations were none the best so far; never if that is 0."""
    found = read_metrics(run.folder / METRICS).validations if patience else ()
    states = [State(figures.update, figures.loss, figures.bleu, figures.signature) for figures in found]
    rank = goodness(states)
    scores = [rank(state)[:2] for state in states]  # without the update: as good as the best is not better
    return bool(scores) and len(scores) - 1 - scores.index(max(scores)) >= patience
