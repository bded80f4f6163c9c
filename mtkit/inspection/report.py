"""One HTML page about a training run, for whoever looks at it the next morning and for whoever shows it in class.

Comes in: a run folder, finished or not. Goes out: a page that needs neither network nor script, the same bytes for the same
run. What the page looks like is in report.html beside this file. Knows nothing of how a run is made.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from mtkit.checkpoint import METRICS, Checkpoint, Run
from mtkit.config.catalogue import catalogue, differences
from mtkit.config.loader import dump_config
from mtkit.config.schema import Config
from mtkit.inspection.page import check_target, render_page, write_page
from mtkit.inspection.plot import Plot, Series, plot
from mtkit.metrics import Metrics, ValidationFigures, read_metrics
from mtkit.model.transformer import Transformer, parameter_count

MARKED = 40
"""So many validations get a dot each in a curve; more would hide it."""

SAMPLED = 5
"""The newest validations whose sample translations are shown."""


@dataclass(frozen=True)
class Sentence:
    """A validation sentence and what became of it, validation after validation."""

    source: str
    reference: str
    translations: tuple[tuple[int, str], ...]  # (update, translation)


@dataclass(frozen=True)
class Kept:
    """A checkpoint that lies on the disk."""

    checkpoint: Checkpoint
    damage: str | None  # names the file
    best: bool  # translate and evaluate take it


@dataclass(frozen=True)
class Setting:
    """An option that is not at its default."""

    option: str
    meaning: str
    value: str
    default: str


@dataclass(frozen=True)
class Report:
    """All that the page tells."""

    name: str
    config: Config
    config_text: str
    settings: tuple[Setting, ...]
    provenance: Mapping[str, Any]
    provenance_text: str
    weights: int
    done: int  # updates
    metrics: Metrics
    best: ValidationFigures | None
    plots: tuple[Plot, ...]
    sentences: tuple[Sentence, ...]
    checkpoints: tuple[Kept, ...]


def write_report(run: Run, output: Path) -> None:
    """Writes the page about `run` to the file `output`, whole or not at all. UserError if it cannot be written there."""
    check_target(output, "--output")
    write_page(render(read_run(run)), output, "--output")


def read_run(run: Run) -> Report:
    """Everything about `run` that its folder tells. UserError if its config, vocabulary or provenance cannot be read."""
    config, provenance, metrics = run.config(), run.provenance(), read_metrics(run.folder / METRICS)
    checkpoints = _checkpoints(run)
    steps = [kept.checkpoint.state.step for kept in checkpoints]
    told = [record.update for record in metrics.training] + [record.update for record in metrics.validations]
    done = max(steps + told, default=0)
    vocabularies = run.vocabularies()
    with torch.device("meta"):  # sizes without the memory
        model = Transformer(config.model, len(vocabularies.target), len(vocabularies.source))
    return Report(
        name=run.folder.resolve().name,
        config=config,
        config_text=dump_config(config),
        settings=tuple(
            Setting(option, catalogue()[tuple(option.split("."))].meaning, _shown(value), _shown(default))
            for option, default, value in differences(Config(), config)
        ),
        provenance=provenance,
        provenance_text=json.dumps(provenance, indent=2, ensure_ascii=False),
        weights=parameter_count(model),
        done=done,
        metrics=metrics,
        best=_best(metrics.validations),
        plots=_plots(metrics, config.training.label_smoothing, done),
        sentences=_sentences(metrics.validations),
        checkpoints=checkpoints,
    )


def render(report: Report) -> str:
    """The page."""
    return render_page("report.html", report=report, perplexity=_perplexity)


def _checkpoints(run: Run) -> tuple[Kept, ...]:
    """What is kept; what the training deletes while we look is left out."""
    best = [checkpoint.folder for checkpoint in run.ranked()[-1:]]
    found = []
    for checkpoint in tqdm(run.checkpoints(), "checking checkpoints", leave=False, disable=None):
        damage = checkpoint.damage()
        if damage is None or checkpoint.folder.exists():
            named = damage and damage.replace(f"{checkpoint.folder}/", "")
            found.append(Kept(checkpoint, named, checkpoint.folder in best))
    return tuple(found)


def _best(validations: Sequence[ValidationFigures]) -> ValidationFigures | None:
    """The one with the highest BLEU, or where there is none with the lowest loss; of equals the newest."""
    scored = [(found.bleu, found.update, found) for found in validations if found.bleu is not None]
    if scored:
        return max(scored)[-1]
    losses = [(-found.loss, found.update, found) for found in validations if found.loss is not None]
    return max(losses)[-1] if losses else None


def _plots(metrics: Metrics, label_smoothing: float, last: int) -> tuple[Plot, ...]:
    """The learning curves for which there are figures."""
    training, validations = metrics.training, metrics.validations
    few = len(validations) <= MARKED
    losses = [
        Series("training", [(one.update, one.negative_log_likelihood) for one in training]),
        Series("validation", [(one.update, one.loss) for one in validations], marked=few),
    ]
    if label_smoothing:
        losses.append(Series("training, label-smoothed", [(one.update, one.loss) for one in training]))
    bleu = Series("validation BLEU", [(one.update, one.bleu) for one in validations], marked=few)
    rate = Series("learning rate", [(one.update, one.learning_rate) for one in training])
    speed = Series("target tokens a second", [(one.update, one.speed) for one in training])
    norm = Series("gradient norm", [(one.update, one.gradient_norm) for one in training])
    drawn = (
        plot("loss", "Loss", "nats per target token", losses, last),
        plot("bleu", "Validation BLEU", "BLEU", [bleu], last),
        plot("rate", "Learning rate", "learning rate", [rate], last, from_zero=True),
        plot("speed", "Speed", "target tokens/s", [speed], last, from_zero=True),
        plot("norm", "Gradient norm", "mean of the updates", [norm], last, from_zero=True),
    )
    return tuple(one for one in drawn if one is not None)


def _sentences(validations: Sequence[ValidationFigures]) -> tuple[Sentence, ...]:
    """The samples of the newest validations, by sentence."""
    found: dict[tuple[str, str], Sentence] = {}
    for validation in [one for one in validations if one.samples][-SAMPLED:]:
        for sample in validation.samples:
            key = (sample.source, sample.reference)
            before = found.get(key, Sentence(*key, ()))
            now = (validation.update, sample.translation)
            found[key] = replace(before, translations=(*before.translations, now))
    return tuple(found.values())


def _shown(value: object) -> str:
    """An option's value as a config file has it."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value) or "''"


def _perplexity(loss: float | None) -> float | None:
    """Of a mean negative log-likelihood in nats; None where that is unknown, or too large to mean anything."""
    return math.exp(loss) if loss is not None and loss < 99 else None
