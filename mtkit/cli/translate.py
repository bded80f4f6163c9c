"""`mtkit translate`: lines in, translations out, in order. stdout carries nothing else; all talk goes to stderr."""

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from mtkit.cli.options import check_section, debug_option, device_option, set_option
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    import torch

    from mtkit.checkpoint import LoadedModel
    from mtkit.config import schema
    from mtkit.decoding.translator import Translation

STREAM = "-"
"""The name that stands for stdin or stdout."""

REPORT_INTERVAL = 20.0
"""Seconds between progress lines where there is no terminal."""


@click.command()
@click.option(
    "--model",
    "models",
    metavar="RUN",
    multiple=True,
    help="Run folder, or one of its checkpoints; several are an ensemble.  [default: newest in runs/]",
)
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
@click.option("--format", "form", type=click.Choice(["text", "tsv", "jsonl"]), default="text", show_default=True)
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
    overrides: tuple[str, ...],
    device: str,
) -> None:
    """Translate lines of text; line n of the output answers line n of the input.

    \b
    text   the translation; with --n-best N always N lines for each, blank ones
           for a blank line
    tsv    line, rank, score, log-probability, length, translation
    jsonl  one object a line, with all there is to know

    A line without text gives an empty translation. `<`, `&` and the like are text and stay as they are. Lines longer than
    decoding.max_source_tokens are translated in pieces, with a warning.

    score = log-probability / penalty of the length, which counts tokens and the end token. The penalty is
    ((5 + length) / 6)^alpha for decoding.length_penalty=gnmt and length^alpha for average. All options of the section
    decoding are taken from the run's config and can be replaced with --set.
    """
    from mtkit.config.loader import override_config
    from mtkit.decoding.translator import Translator
    from mtkit.support.device import resolve

    _check_files(source, output)
    place = resolve(device)
    loaded = _load(models, place)
    chosen = [f"decoding.{name}={value}" for name, value in (("beam_size", beam_size), ("n_best", n_best)) if value]
    if source == STREAM and sys.stdin is not None and sys.stdin.isatty():
        chosen.insert(0, "decoding.buffer=1")
        click.echo("each line you type is translated at once; end with Ctrl-D", err=True)
    decoding = override_config(loaded[0].config, [*chosen, *overrides]).decoding
    check_section("translate", "decoding", overrides)

    lines = _Lines(source)
    translator = Translator([each.model for each in loaded], loaded[0].vocabularies, decoding, place)
    with _opened(output) as stream:
        _Report(source, output).watch(_written(translator.translate(lines), stream, form, decoding))
        if lines.error is not None:
            raise lines.error


def _check_files(source: str, output: str) -> None:
    """UserError, before any work, for an input that is not there and an output that cannot be."""
    path, target = Path(source), Path(output)
    if source == STREAM:
        if sys.stdin is None:
            raise UserError("stdin is closed: give --input FILE")
    elif not path.exists():
        raise UserError(f"{path.absolute()}: no such file")
    if output == STREAM:
        return
    if source != STREAM and target.exists() and target.samefile(path):
        raise UserError(f"--output {output} is the --input: give it another name")
    if target.is_dir():
        raise UserError(f"--output {output} is a folder: name a file in it")
    if not target.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {target.absolute().parent}: make it first")


def _load(names: Sequence[str], device: "torch.device") -> list["LoadedModel"]:
    """The models named, or that of the newest run; says on stderr which and where. UserError if they cannot go together."""
    from mtkit.checkpoint import load_model, newest_run
    from mtkit.data.vocabularies import shortened

    paths = list(names) or [str(newest_run())]
    loaded = [load_model(path, device) for path in paths]
    told = " and ".join(f"{each.folder}, update {each.step}" for each in loaded)
    click.echo(f"on {device}: {told}{'' if names else ' (the newest run)'}", err=True)
    first = loaded[0]
    for path, each in zip(paths[1:], loaded[1:], strict=True):
        if each.vocabularies.fingerprint != first.vocabularies.fingerprint:
            raise UserError(
                f"vocabulary differs: {paths[0]} has {shortened(first.vocabularies.fingerprint)}, {path} has "
                f"{shortened(each.vocabularies.fingerprint)}: an ensemble needs models trained on the same prepared data"
            )
    return loaded


class _Lines:
    """The lines of a file or of stdin as text. Ends before a line that cannot be read: those before it get their answer."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.error: UserError | None = None

    def __iter__(self) -> Iterator[str]:
        from mtkit.support.lines import decode, raw_lines, split_stream

        label = "stdin" if self._name == STREAM else self._name
        raw = split_stream(sys.stdin.buffer) if self._name == STREAM else raw_lines(self._name)
        try:
            for number, line in enumerate(raw, 1):
                yield decode(line, label, number)
        except UserError as error:
            self.error = error


@contextlib.contextmanager
def _opened(output: str) -> Iterator[BinaryIO]:
    """Where translations go. A file appears once the block ends well; a device or a pipe cannot but be written to."""
    from mtkit.support.files import whole_file, writing

    path = Path(output)
    if output == STREAM:
        yield sys.stdout.buffer
    elif path.exists() and not path.is_file():
        with writing(path), path.open("wb") as stream:
            yield stream
    else:
        with whole_file(path) as stream:
            yield stream


def _written(
    translations: Iterator["Translation"], stream: BinaryIO, form: str, decoding: "schema.Decoding"
) -> Iterator["Translation"]:
    """Writes translations and passes them on. What is read ahead together is handed over together."""
    for translation in translations:
        if form == "text":
            text = _as_text(translation, decoding.n_best)
        elif form == "tsv":
            text = _as_tsv(translation)
        else:
            text = _as_json(translation, decoding)
        stream.write(text.encode("utf-8"))
        if translation.number % decoding.buffer == 0:
            stream.flush()
        yield translation
    stream.flush()


def _as_text(translation: "Translation", n_best: int) -> str:
    """n_best lines; blank ones where there is no such translation."""
    texts = [hypothesis.text for hypothesis in translation.hypotheses]
    return "".join(f"{text}\n" for text in texts + [""] * (n_best - len(texts)))


def _as_tsv(translation: "Translation") -> str:
    """A line for each hypothesis. Translations never hold a tab."""
    return "".join(
        f"{translation.number}\t{rank}\t{one.score:.6f}\t{one.log_probability:.6f}\t{one.length}\t{one.text}\n"
        for rank, one in enumerate(translation.hypotheses, 1)
    )


def _as_json(translation: "Translation", decoding: "schema.Decoding") -> str:
    """One object on one line."""
    import json

    fields = {
        "line": translation.number,
        "source": translation.source,
        "pieces": translation.pieces,
        "warnings": translation.warnings,
        "length_penalty": decoding.length_penalty,
        "alpha": decoding.alpha,
        "hypotheses": [asdict(hypothesis) for hypothesis in translation.hypotheses],
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"


class _Report:
    """What is told on stderr: warnings, progress (a bar on a terminal, else a line now and then) and a summary."""

    def __init__(self, source: str, output: str) -> None:
        self._source = source
        self._bar_fits = sys.stderr.isatty() and not (output == STREAM and sys.stdout.isatty())

    def watch(self, translations: Iterator["Translation"]) -> None:
        """Pulls all translations through and tells of them."""
        from tqdm import tqdm

        from mtkit.support.lines import count_lines

        total = count_lines(self._source) if self._bar_fits and self._source != STREAM else None
        begin = last = time.monotonic()
        lines = 0
        counts = dict.fromkeys(("blank", "in pieces", "cut by the length limit", "repeating themselves"), 0)
        for translation in tqdm(translations, "translating", total, unit=" lines", disable=not self._bar_fits):
            lines += 1
            best = translation.hypotheses[0]
            counts["blank"] += translation.pieces == 0
            counts["in pieces"] += translation.pieces > 1
            counts["cut by the length limit"] += best.truncated
            counts["repeating themselves"] += best.looping
            for warning in translation.warnings:
                tqdm.write(f"WARNING: {warning}", file=sys.stderr)
            now = time.monotonic()
            if not self._bar_fits and now - last >= REPORT_INTERVAL:
                last = now
                click.echo(f"translated {lines:,} lines, {lines / (now - begin):,.1f} lines/s", err=True)
        rate = lines / max(time.monotonic() - begin, 1e-9)
        told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        click.echo(f"translated {lines:,} lines, {rate:,.1f} lines/s: {told}", err=True)
