"""`mtkit evaluate`: trained models, or files of translations, to signed scores and comparisons."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtkit.cli.material import Material, called, find_material, given_lines, given_material
from mtkit.cli.options import debug_option, device_option, set_option
from mtkit.cli.translation_input import STREAM
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    import torch

    from mtkit.checkpoint import LoadedModel
    from mtkit.config.schema import Config
    from mtkit.evaluation.comparison import Comparison
    from mtkit.evaluation.scores import Score, Scorer, SentenceScores

TOLD = 10
"""Lines that went wrong in translation and are each told of; of further ones only the number."""


@dataclass(frozen=True)
class _Evaluated:
    """A system, its translation, and what that is held against."""

    name: str
    lines: Sequence[str]
    config: "Config"
    material: Material

    def compares_with(self, other: "_Evaluated") -> bool:
        """Whether scores of the two are of one kind."""
        return self._kind == other._kind and self.material.references == other.material.references

    @property
    def _kind(self) -> tuple[object, ...]:
        evaluation = self.config.evaluation
        return evaluation.metrics, evaluation.lowercase, self.config.data.target_language


@click.command()
@click.option(
    "--model", "models", metavar="RUN", multiple=True, help="Run to score; may be repeated.  [default: newest in runs/]"
)
@click.option(
    "--hypothesis",
    "hypotheses",
    metavar="FILE",
    multiple=True,
    help="Translations to score instead, - for stdin; may be repeated.",
)
@click.option(
    "--test-set", metavar="NAME", help="Test set such as newstest2014, in the config's languages.  [default: the config's]"
)
@click.option("--source", metavar="FILE", help="Text to translate instead of a test set.")
@click.option("--reference", "references", metavar="FILE", multiple=True, help="Its human translation; may be repeated.")
@click.option(
    "--import-scores",
    "imported",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Scores of another tool for these translations, as scripts/comet.sh writes them; may be repeated.",
)
@click.option("--sentences", is_flag=True, help="Also score each line.")
@click.option("--report", metavar="FILE.html", type=click.Path(path_type=Path), help="Page to write about the translations.")
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
    imported: tuple[Path, ...],
    sentences: bool,
    report: Path | None,
    form: str,
    overrides: tuple[str, ...],
    device: str,
) -> None:
    """Score translations with sacreBLEU; every score carries its signature, test set and line count.

    With a model, its config's test set is translated as `mtkit translate` does it, scored, and the translation kept in the
    run folder. newstest2014 is the full set of 3,003 lines (sacreBLEU's wmt14/full). Text is compared as it is: hypotheses
    must be plain, not tokenised.

    Several systems are also compared, the first being the baseline: differences with intervals and p-values (paired
    bootstrap, approximate randomisation), and ranks that systems share unless they differ significantly.

    --report writes one HTML page: scores by sentence length and by rare words, what went wrong, sentences side by side.
    """
    from mtkit.evaluation.comparison import System, compare
    from mtkit.evaluation.unfinished import hypothesis_warnings, reference_warning

    _check_choice(models, hypotheses, test_set, source, references, report)
    for override in overrides:
        if override.partition(".")[0] in ("cleaning", "vocabulary", "model", "training"):
            raise UserError(f"--set {override}: evaluate only has use for the sections data, decoding and evaluation")
    evaluated = _systems(models, hypotheses, test_set, source, references, overrides, device)
    alike = all(each.compares_with(evaluated[0]) for each in evaluated)
    if report and not alike:
        raise UserError(
            f"--report {report}: the systems were scored on other text or with other options: report on each alone"
        )
    shared = _scorer(evaluated[0], imported) if alike else None
    results = []
    for each in evaluated:
        for warning in hypothesis_warnings(each.lines):
            click.echo(f"WARNING: {each.name}: {warning}", err=True)
        scorer = shared or _scorer(each, imported)
        scores = scorer.score(each.lines, each.name, intervals=True)
        results.append((each.name, scores, scorer.sentence_scores(each.lines) if sentences else ()))
    for name, reference in zip(evaluated[0].material.reference_names, evaluated[0].material.references, strict=True):
        if warning := reference_warning(reference, evaluated[0].lines):
            click.echo(f"WARNING: {name}: {warning}", err=True)
    comparisons: tuple[Comparison, ...] = ()
    if shared and len(evaluated) > 1:
        comparisons = compare([System(each.name, each.lines) for each in evaluated], shared)
    elif len(evaluated) > 1:
        click.echo("WARNING: the systems are not compared: they were scored on other text or with other options", err=True)
    click.echo("\n".join(_as_json(results, comparisons) if form == "json" else _as_text(results, comparisons)))
    if report and shared:
        _write_report(report, evaluated, shared, comparisons)


_Results = Sequence[tuple[str, Sequence["Score"], Sequence["SentenceScores"]]]


def _as_text(results: _Results, comparisons: Sequence["Comparison"]) -> Iterator[str]:
    """Scores of each system, the comparison, and then of each line a row of tab-separated columns."""
    from mtkit.evaluation.comparison_text import comparison_text

    for name, scores, _ in results:
        yield name
        for found in scores:
            yield f"  {found}"
    for comparison in comparisons:
        yield ""
        yield from comparison_text(comparison)
    for name, _, by_line in results:
        if by_line:
            yield ""
            yield "\t".join(["system", "line", *(f"{column.metric} {column.signature}" for column in by_line)])
            for number, row in enumerate(zip(*(column.values for column in by_line), strict=True), 1):
                yield "\t".join([name, str(number), *(f"{value:.4f}" for value in row)])


def _as_json(results: _Results, comparisons: Sequence["Comparison"]) -> Iterator[str]:
    """One object."""
    systems = []
    for name, scores, by_line in results:
        told: dict[str, object] = {"system": name, "scores": [found.to_json() for found in scores]}
        systems.append(told | ({"sentences": [column.to_json() for column in by_line]} if by_line else {}))
    whole = {"systems": systems, "comparisons": [comparison.to_json() for comparison in comparisons]}
    yield json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)


def _check_choice(
    models: Sequence[str],
    hypotheses: Sequence[str],
    test_set: str | None,
    source: str | None,
    references: Sequence[str],
    report: Path | None,
) -> None:
    """Refuses options that contradict each other, and a report that cannot be, before any work."""
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
    if [*hypotheses, source, *references].count(STREAM) > 1:
        raise click.UsageError("Only one of the files can be stdin (-).")
    if report:
        from mtkit.inspection.page import check_target

        check_target(report, "--report")


def _systems(
    models: Sequence[str],
    hypotheses: Sequence[str],
    test_set: str | None,
    source: str | None,
    references: Sequence[str],
    overrides: Sequence[str],
    device: str,
) -> list[_Evaluated]:
    """Each system with its translation and what to compare it with."""
    from mtkit.config.loader import override_config
    from mtkit.config.schema import Config

    given = given_material(source, references) if references else None
    if hypotheses:
        config = override_config(Config(), overrides)
        material = given or find_material(config, test_set)
        return [_Evaluated(called(name), given_lines(name), config, material) for name in hypotheses]

    from mtkit.checkpoint import load_model, newest_run
    from mtkit.support.device import resolve

    place = resolve(device)
    found = []
    for path in models or [str(newest_run())]:
        loaded = load_model(path, place)
        config = override_config(loaded.config, overrides)
        material = given or find_material(config, test_set, loaded.folder)
        click.echo(
            f"{loaded.folder}, update {loaded.step}: translating {material.label}, {len(material.references[0])} lines",
            err=True,
        )
        found.append(_Evaluated(path, _translated(loaded, config, material, place), config, material))
    return found


def _scorer(system: _Evaluated, imported: Sequence[Path]) -> "Scorer":
    """What scores `system` and all that compare with it."""
    from mtkit.evaluation.imported import imported_metric
    from mtkit.evaluation.scores import Scorer

    scorer = Scorer(
        system.material.references,
        system.config.evaluation,
        reference_names=system.material.reference_names,
        test_set=system.material.label,
        target_language=system.config.data.target_language,
    )
    for path in imported:
        scorer.add(*imported_metric(path))
    return scorer


def _write_report(
    target: Path, evaluated: Sequence[_Evaluated], scorer: "Scorer", comparisons: Sequence["Comparison"]
) -> None:
    """The page about systems that compare with each other."""
    from mtkit.evaluation.analysis import Texts
    from mtkit.evaluation.comparison import System
    from mtkit.inspection.evaluation_page import write_evaluation_page

    first = evaluated[0]
    material, data = first.material, first.config.data
    write_evaluation_page(
        Texts(material.source, material.references, [System(each.name, each.lines) for each in evaluated]),
        scorer,
        comparisons,
        target,
        source_language=data.source_language,
        target_language=data.target_language,
        frequency=_frequency(first),
        option="--report",
    )
    click.echo(f"the report is in {target}", err=True)


def _frequency(system: _Evaluated) -> "Mapping[str, int] | None":
    """How often the training text beside which `system` was evaluated has the words of the source; None if there is none."""
    from mtkit.evaluation.analysis import word_frequencies
    from mtkit.support.lines import count_lines, decode, raw_lines
    from mtkit.support.progress import shown

    source, data = system.material.source, system.config.data
    path = Path(data.folder or "data") / f"train.{data.source_language}"
    if source is None or not path.is_file():
        return None
    one_by_one = ([decode(raw, str(path), number)] for number, raw in enumerate(raw_lines(path), 1))
    chunks = shown(one_by_one, "counting words of the training text", count_lines(path))
    return word_frequencies((line for chunk in chunks for line in chunk), source)


def _translated(loaded: "LoadedModel", config: "Config", material: Material, device: "torch.device") -> list[str]:
    """The material's source as the model translates it, with a bar on a terminal; also kept in the run folder."""
    from mtkit.decoding.translator import Translator
    from mtkit.support.files import write_text, writing
    from mtkit.support.progress import shown

    assert material.source is not None, "a model is only evaluated on material with a source"
    language = config.data.source_language
    translator = Translator([loaded.model], loaded.vocabularies, config.decoding, device, source_language=language)
    one_by_one = ([translation] for translation in translator.translate(material.source))
    found = [each for chunk in shown(one_by_one, "translating", len(material.source)) for each in chunk]
    lines = [translation.text for translation in found]
    warnings = [warning for translation in found for warning in translation.warnings]
    for warning in warnings[:TOLD]:
        click.echo(f"WARNING: {warning}", err=True)
    if warnings[TOLD:]:
        click.echo(f"WARNING: {len(warnings) - TOLD} more of this kind: mtkit translate tells them all", err=True)
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
