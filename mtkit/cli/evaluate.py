"""`mtkit evaluate`: trained models, or files of translations, to signed scores."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtkit.cli.options import debug_option, device_option, set_option
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    import torch

    from mtkit.checkpoint import LoadedModel
    from mtkit.config.schema import Config
    from mtkit.data.folder import PreparedData


@dataclass(frozen=True)
class _Material:
    """What is translated and what it is compared with."""

    label: str
    source: Sequence[str] | None  # None where only the references were given
    references: Sequence[Sequence[str]]
    reference_names: Sequence[str]


@click.command()
@click.option(
    "--model", "models", metavar="RUN", multiple=True, help="Run to score; may be repeated.  [default: newest in runs/]"
)
@click.option(
    "--hypothesis", "hypotheses", metavar="FILE", multiple=True, help="Translations to score instead; may be repeated."
)
@click.option("--test-set", metavar="NAME", help="Test set such as newstest2014.  [default: the config's]")
@click.option("--source", metavar="FILE", help="Text to translate instead of a test set.")
@click.option("--reference", "references", metavar="FILE", multiple=True, help="Its human translation; may be repeated.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@set_option
@device_option
@debug_option
def evaluate(
    models: tuple[str, ...],
    hypotheses: tuple[str, ...],
    test_set: str | None,
    source: str | None,
    references: tuple[str, ...],
    form: str,
    overrides: tuple[str, ...],
    device: str,
) -> None:
    """Score translations with sacreBLEU; every score carries its signature, test set and line count.

    With a model, its config's test set is translated as `mtkit translate` does it, scored, and the translation kept in the
    run folder. newstest2014 is the full set of 3,003 lines (sacreBLEU's wmt14/full). Text is compared as it is: hypotheses
    must be plain, not tokenised.
    """
    import json

    from mtkit.evaluation.scores import hypothesis_warnings, score

    _check_choice(models, hypotheses, test_set, source, references)
    for override in overrides:
        if override.partition(".")[0] in ("cleaning", "vocabulary", "model", "training"):
            raise UserError(f"--set {override}: evaluate only has use for the sections data, decoding and evaluation")
    results = []
    for name, lines, config, material in _systems(models, hypotheses, test_set, source, references, overrides, device):
        for warning in hypothesis_warnings(lines):
            click.echo(f"WARNING: {name}: {warning}", err=True)
        scores = score(
            lines,
            material.references,
            config.evaluation,
            hypotheses_name=name,
            reference_names=material.reference_names,
            test_set=material.label,
            target_language=config.data.target_language,
        )
        results.append((name, scores))
    if form == "json":
        click.echo(
            json.dumps([{"system": name, "scores": [s.to_json() for s in scores]} for name, scores in results], indent=1)
        )
        return
    for name, scores in results:
        click.echo(name)
        for found in scores:
            click.echo(f"  {found}")


def _check_choice(
    models: Sequence[str], hypotheses: Sequence[str], test_set: str | None, source: str | None, references: Sequence[str]
) -> None:
    """Refuses options that contradict each other."""
    if models and hypotheses:
        raise click.UsageError("Give either --model or --hypothesis, not both.")
    if test_set and (source or references):
        raise click.UsageError("Give either --test-set or --source and --reference, not both.")
    if source and not references:
        raise click.UsageError("--source needs a --reference to compare with.")
    if references and not source and not hypotheses:
        raise click.UsageError("--reference needs the --source to translate, or a --hypothesis.")
    if hypotheses and not references and not test_set:
        raise click.UsageError("--hypothesis needs a --reference or a --test-set to compare with.")


def _systems(
    models: Sequence[str],
    hypotheses: Sequence[str],
    test_set: str | None,
    source: str | None,
    references: Sequence[str],
    overrides: Sequence[str],
    device: str,
) -> list[tuple[str, list[str], "Config", _Material]]:
    """For each system: its name, its translation, the config and what to compare with."""
    from mtkit.config.loader import override_config
    from mtkit.config.schema import Config
    from mtkit.support.lines import read_lines

    if hypotheses:
        config = override_config(Config(), overrides)
        material = _material(config, test_set, source, references)
        return [(name, read_lines(name), config, material) for name in hypotheses]

    from mtkit.checkpoint import load_model, newest_run
    from mtkit.support.device import resolve

    place = resolve(device)
    found = []
    for path in models or [str(newest_run())]:
        loaded = load_model(path, place)
        config = override_config(loaded.config, overrides)
        material = _material(config, test_set, source, references, loaded.folder)
        click.echo(
            f"{loaded.folder}, update {loaded.step}: translating {material.label}, {len(material.references[0])} lines",
            err=True,
        )
        found.append((path, _translated(loaded, config, material, place), config, material))
    return found


def _material(
    config: "Config", test_set: str | None, source: str | None, references: Sequence[str], run: Path | None = None
) -> _Material:
    """The files given, the named test set, or the test text of the prepared data of `run`."""
    from mtkit.data.folder import PreparedData
    from mtkit.evaluation.test_sets import TEST_SETS, load_test_set
    from mtkit.support.lines import read_lines

    if references:
        texts = [read_lines(reference) for reference in references]
        lines = read_lines(source) if source else None
        for reference, text in zip(references, texts, strict=True):
            if lines is not None and len(lines) != len(text):
                raise UserError(f"line counts differ: {source} {len(lines)} lines, {reference} {len(text)} lines")
        return _Material(Path(references[0]).name, lines, texts, references)
    data = config.data
    name = test_set or config.evaluation.test_set
    if name:
        named = load_test_set(name, data.source_language, data.target_language, Path(data.folder or "data") / TEST_SETS)
        return _Material(named.label, named.source, named.references, [name] * len(named.references))
    prepared = PreparedData.open(data.folder)
    paths = [prepared.text_path("test", language) for language in (data.source_language, data.target_language)]
    label = _test_label(prepared, run)
    return _Material(label, read_lines(paths[0]), [read_lines(paths[1])], [str(paths[1])])


def _test_label(prepared: "PreparedData", run: Path | None) -> str:
    """What to call the test text of `prepared`. With a warning and its fingerprints in it, if `run` began beside another.

    No error: the score is right, and to score a run on other text is nothing wrong. But it must not go by the same name.
    """
    from mtkit.checkpoint import Run
    from mtkit.training.provenance import text_fingerprints

    label = f"test of {prepared.folder.resolve().name}"
    before = Run(run).provenance().get("test") if run else None
    now = text_fingerprints(prepared, "test")
    if before in (None, now) or not now:
        return label
    click.echo(
        f"WARNING: {prepared.folder}: its test text is not the one that {run} began beside "
        f"(the run has {before}, now {now}): scores of the two do not compare",
        err=True,
    )
    return f"{label}, source {now['source_sha256'][:8]} target {now['target_sha256'][:8]}"


def _translated(loaded: "LoadedModel", config: "Config", material: _Material, device: "torch.device") -> list[str]:
    """The material's source as the model translates it, with a bar on a terminal; also kept in the run folder."""
    from mtkit.decoding.translator import Translator
    from mtkit.support.files import write_text, writing
    from mtkit.support.progress import shown

    assert material.source is not None, "a model is only evaluated on material with a source"
    language = config.data.source_language
    translator = Translator([loaded.model], loaded.vocabularies, config.decoding, device, source_language=language)
    one_by_one = ([translation.text] for translation in translator.translate(material.source))
    lines = [text for chunk in shown(one_by_one, "translating", len(material.source)) for text in chunk]
    kept = (
        loaded.folder / "translations" / f"{_file_name(material.label)}.step-{loaded.step:08d}.{config.data.target_language}"
    )
    try:
        with writing(kept):
            kept.parent.mkdir(exist_ok=True)
        write_text(kept, "".join(f"{line}\n" for line in lines))
        click.echo(f"kept the translation in {kept}", err=True)
    except UserError as error:  # such as a model of somebody else's: the scores are worth having all the same
        click.echo(f"WARNING: the translation could not be kept: {error}", err=True)
    return lines


def _file_name(label: str) -> str:
    """A label such as 'newstest2014 (wmt14/full)' as part of a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-")
