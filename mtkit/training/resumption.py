"""Taking up a run: whether a folder holds one, what must be as it was, what may change and how that is recorded.

Comes in: a folder, the config and the data of today. Goes out: yes or no, what has changed, or why it cannot go on. Knows
nothing of weights.
"""

import sys
from pathlib import Path

from mtkit.checkpoint import CHECKPOINTS, CONFIG, LOCK, METRICS, Run
from mtkit.config.catalogue import differences
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.data.vocabularies import shortened
from mtkit.support.errors import UserError
from mtkit.training.provenance import text_fingerprints, training_fingerprints
from mtkit.training.schedule import learning_rate

FREE = (
    "data.",
    "cleaning.",
    "vocabulary.",
    "decoding.",
    "evaluation.",
    "training.updates",
    "training.epochs",
    "training.hours",
    "training.recompute",
    "training.threads",
    "training.log_interval",
    "training.tensorboard",
    "training.schedule.factor",
    "training.schedule.peak",
    "training.validation.",
    "training.checkpoints.",
)
"""What may change when a run is resumed. The prepared text itself is checked by its fingerprints."""


def holds_run(folder: Path, *, resume: bool) -> bool:
    """Whether there is a run in `folder` to go on with; if not, one may begin there.

    A start that failed half-way has left its lock and perhaps a few files, but no config: it is begun again. UserError if
    `folder` holds a run that is not to be resumed, none that could be, or something else.
    """
    inside = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if CONFIG in inside:
        if not resume:
            raise UserError(f"{folder}: there is a run in it: go on with it by --resume, or take another folder with --run")
        return True
    half_made = LOCK in inside and inside.isdisjoint({CHECKPOINTS, METRICS})
    if inside and not half_made:
        raise UserError(f"{folder}: is not empty and holds no run: take another folder with --run")
    if resume and not folder.is_dir():
        raise UserError(f"{folder.absolute()}: no run to resume: leave --resume out to begin one")
    return False


def check_same_data(run: Run, data: PreparedData) -> None:
    """UserError if the training or validation text or the vocabulary of `data` is not the one that `run` began with."""
    origin = run.provenance()
    now = {
        "training text": ("data", training_fingerprints(data)),
        "validation text": ("validation", text_fingerprints(data, "validation")),
    }
    advice = "resume with the data it began with, or begin another run"
    for what, (key, found) in now.items():
        if key in origin and origin[key] != found:
            raise UserError(
                f"{data.folder}: its {what} is not the one of {run.folder} "
                f"(the run has {origin[key]}, now {found}): {advice}"
            )
    old, new = origin.get("vocabulary", ""), data.report.vocabulary_fingerprint
    if old != new:
        raise UserError(
            f"vocabulary differs: {run.folder} began with {shortened(old)}, {data.folder} has {shortened(new)}: {advice}"
        )


def check_sharing(config: Config, data: PreparedData) -> None:
    """UserError if the sides of `data` share a vocabulary and `config` says they do not, or the other way round."""
    prepared, wanted = (str(shared).lower() for shared in (data.report.shared_vocabulary, config.vocabulary.shared))
    if prepared != wanted:
        raise UserError(
            f"{data.folder}: was prepared with vocabulary.shared={prepared}, the config says {wanted}: "
            f"set vocabulary.shared={prepared}, or prepare the text with this config in another folder"
        )


LEARNING = ("dropout", "attention_dropout", "feedforward_dropout", "balance")
"""Options of a model that decide how it learns and not what it computes."""


def check_same_model(origin: Run, new: Config) -> None:
    """UserError if weights of `origin` would mean something else in the model of `new`, though their shapes may agree."""
    changes = [
        f"model.{name}: {origin.folder} has {before}, now {after}"
        for name, before, after in differences(origin.config().model, new.model)
        if name not in LEARNING
    ]
    if changes:
        raise UserError("cannot begin with the weights of another model:\n" + "\n".join(changes))


def check_same_run(old: Config, new: Config) -> None:
    """UserError with every option of `new` that would make another run of what `old` began, and both values."""
    changes = [
        f"{name}: the run has {before}, now {after}"
        for name, before, after in differences(old, new)
        if not name.startswith(FREE)
    ]
    if changes:
        raise UserError("cannot resume with other settings:\n" + "\n".join(changes))


def record_changes(run: Run, new: Config, done: int) -> list[str]:
    """Makes `new` the config of `run`, taken up after `done` updates. Returns what a reader of the terminal should know.

    What the options were before is kept in the run's provenance.
    """
    old = run.config()
    changes = differences(old, new)
    if not changes:
        return []
    change = {"update": done, "command": sys.argv, "options": {name: [str(a), str(b)] for name, a, b in changes}}
    provenance = run.provenance()
    run.describe(new, provenance | {"changes": [*provenance.get("changes", []), change]})
    told = [f"{name}: {before} -> {after}" for name, before, after in changes]
    return told + _curve(old, new, done + 1)


def _curve(old: Config, new: Config, update: int) -> list[str]:
    """A line if the learning rate of any update from `update` on depends on the number of updates, which has changed."""
    stretched = old.training.model_copy(update={"updates": new.training.updates})
    width = new.model.d_model
    ends = (update, old.training.updates, new.training.updates)
    if all(learning_rate(n, old.training, width) == learning_rate(n, stretched, width) for n in ends):
        return []
    before, after = (learning_rate(update, config.training, width) for config in (old, new))
    told = f"training.updates is also where the {new.training.schedule.kind} schedule ends: its curve changes"
    return [f"{told}; update {update} learns at {after:.2e}, not at {before:.2e}" if before != after else told]
