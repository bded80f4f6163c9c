"""`mtkit translate`: lines in, translations out, in order. stdout carries nothing else; all talk goes to stderr."""

import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtkit.cli.options import check_section, debug_option, device_option, devices_option, models_option, set_option
from mtkit.cli.translation_input import STREAM, Lines, check_input
from mtkit.cli.translation_output import FORMATS, Report, check_output, opened, written
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    import torch

    from mtkit.checkpoint import LoadedModel
    from mtkit.config import schema
    from mtkit.decoding.parts import Line
    from mtkit.decoding.translator import Translation, Translator


@click.command()
@models_option
@click.option(
    "--input", "source", metavar="FILE", default=STREAM, help="Text, one line after another; plain or .gz.  [default: stdin]"
)
@click.option("--output", metavar="FILE", default=STREAM, help="Appears once it is complete.  [default: stdout]")
@click.option(
    "--beam-size", metavar="N", type=click.IntRange(min=1), help="Hypotheses kept; 1 = greedy search.  [default: the run's]"
)
@click.option(
    "--n-best", metavar="N", type=click.IntRange(min=1), help="Translations of each line, best first.  [default: the run's]"
)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option(
    "--input-format",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="jsonl: objects with source, and if you like prefix, required, forbidden.",
)
@devices_option("Devices that share the lines, one process each; the result does not change.")
@set_option
@device_option
@debug_option
def translate(
    models: tuple[str, ...],
    source: str,
    output: str,
    beam_size: int | None,
    n_best: int | None,
    form: str,
    input_format: str,
    devices: int,
    overrides: tuple[str, ...],
    device: str,
) -> None:
    """Translate lines of text; line n of the output answers line n of the input.

    \b
    text   the translation; with --n-best N always N lines for each, blank ones
           for a blank line
    tsv    line, rank, score, log-probability, length, flags (truncated, looping
           or -), word alignment (source-target, from 0), tokens, translation
    jsonl  one object a line, with all there is to know

    A line without text gives an empty translation. `<`, `&` and the like are text and stay as they are. Lines longer than
    decoding.max_source_tokens are translated in pieces, with a warning.

    score = log-probability / penalty of the length, which counts tokens and the end token. The penalty is
    ((5 + length) / 6)^alpha for decoding.length_penalty=gnmt and length^alpha for average; a coverage penalty, if there is
    one, is added. All options of the section decoding are taken from the run's config and can be replaced with --set.

    A JSON line is an object: {"source": "the cat", "prefix": "Die", "required": ["Katze", ["klein", "kleine"]], "forbidden":
    ["Hund"]}. The translation begins with the prefix, holds each required phrase (of a list, one) and no forbidden one;
    other fields come out again with --format jsonl. --set decoding.glossary=FILE requires the translations of
    terms that are in the text.
    """
    from mtkit.cli.models import load_models
    from mtkit.config.loader import override_config
    from mtkit.support.device import several

    check_input(source)
    check_output(source, output)
    places = several(device, devices)
    loaded = load_models(models, places)
    chosen = [f"decoding.{name}={value}" for name, value in (("beam_size", beam_size), ("n_best", n_best)) if value]
    if source == STREAM and sys.stdin is not None and sys.stdin.isatty():
        chosen.insert(0, "decoding.buffer=1")
        click.echo("each line you type is translated at once; end with Ctrl-D", err=True)
    config = override_config(loaded[0].config, [*chosen, *overrides])
    check_section("translate", "decoding", overrides)
    _check_choice(config.decoding, beam_size, devices)

    lines = Lines(source, input_format)
    language = config.data.source_language
    options = config.decoding, language, form != "text"
    with opened(output) as stream, _translating(options, loaded, places, lines) as translations:
        Report(source, output).watch(written(translations, stream, form, config.decoding))
        if lines.error is not None:
            raise lines.error


def _check_choice(decoding: "schema.Decoding", beam_size: int | None, devices: int) -> None:
    """UserError for options that contradict each other."""
    if beam_size and decoding.search == "sampling":
        raise UserError(f"--beam-size {beam_size}: sampling has no beam: leave it out, or set decoding.search=beam")
    if devices > 1 and decoding.buffer < devices:
        raise UserError(
            f"--devices {devices}: decoding.buffer {decoding.buffer} has no line for each: raise it, or use one device"
        )


Options = tuple["schema.Decoding", str, bool]
"""The section decoding, the language of the source, whether details are asked for."""


def _translator(options: Options, loaded: Sequence["LoadedModel"], place: "torch.device") -> "Translator":
    """A translator with these models, which lie on `place`."""
    from mtkit.decoding.translator import Translator

    decoding, language, details = options
    models = [each.model for each in loaded]
    return Translator(models, loaded[0].vocabularies, decoding, place, source_language=language, details=details)


def _elsewhere(options: Options, checkpoints: Sequence[Path], place: "torch.device") -> "Translator":
    """The same in another process, which reads the models itself: they may be larger than shared memory is."""
    from mtkit.checkpoint import load_model

    return _translator(options, [load_model(path, place) for path in checkpoints], place)


@contextlib.contextmanager
def _translating(
    options: Options, loaded: Sequence["LoadedModel"], places: Sequence["torch.device"], lines: Iterable["Line"]
) -> Iterator[Iterator["Translation"]]:
    """The translations of `lines`, made here or by a process for each place."""
    if len(places) == 1:
        yield _translator(options, loaded, places[0]).translate(lines)
        return
    from mtkit.decoding.workers import Workers

    _translator(options, loaded, loaded[0].model.device)  # what is wrong with the options is told here, once
    build = functools.partial(_elsewhere, options, [each.checkpoint for each in loaded])
    with Workers(build, places, options[0].buffer) as workers:
        yield workers.translate(lines)
