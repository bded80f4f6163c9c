"""What `mtkit translate` writes: translations as text, as tab-separated columns or as JSON, and what it tells on stderr.

Comes in: `Translation`s. Goes out: bytes on a stream; warnings, progress and a summary on stderr.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from mtkit.cli.translation_input import STREAM
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    from mtkit.config import schema
    from mtkit.decoding.translator import TranslatedText, Translation


def as_text(translation: "Translation", decoding: "schema.Decoding") -> str:
    """n_best lines; blank ones where there is no such translation."""
    texts = [hypothesis.text for hypothesis in translation.hypotheses]
    return "".join(f"{text}\n" for text in texts + [""] * (decoding.n_best - len(texts)))


def as_tsv(translation: "Translation", decoding: "schema.Decoding") -> str:
    """A line for each hypothesis. A tab within a translation becomes a space."""
    return "".join(_row(translation.number, rank, one) for rank, one in enumerate(translation.hypotheses, 1))


def _row(number: int, rank: int, one: "TranslatedText") -> str:
    flags = [flag for flag in ("truncated", "looping") if getattr(one, flag)]
    alignment = " ".join(f"{source}-{target}" for source, target in one.alignment)
    numbers = (number, rank, f"{one.score:.6f}", f"{one.log_probability:.6f}", one.length)
    texts = (",".join(flags) or "-", alignment, " ".join(one.tokens), one.text.replace("\t", " "))
    return "\t".join(map(str, (*numbers, *texts))) + "\n"


def as_json(translation: "Translation", decoding: "schema.Decoding") -> str:
    """One object on one line."""
    fields = {
        "line": translation.number,
        "source": translation.source,
        **translation.fields,
        "pieces": translation.pieces,
        "warnings": translation.warnings,
        "length_penalty": decoding.length_penalty,
        "alpha": decoding.alpha,
        "coverage_penalty": decoding.coverage_penalty,
        "hypotheses": [asdict(hypothesis) for hypothesis in translation.hypotheses],
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS: dict[str, Callable[["Translation", "schema.Decoding"], str]] = {"text": as_text, "tsv": as_tsv, "jsonl": as_json}


def check_output(source: str, output: str) -> None:
    """UserError, before any work, for an output that cannot be; source: what is read, which it must not be."""
    path, target = Path(source), Path(output)
    if output == STREAM:
        if sys.stdout is None:
            raise UserError("stdout is closed: give --output FILE")
        return
    if source != STREAM and target.exists() and target.samefile(path):
        raise UserError(f"--output {output} is the --input: give it another name")
    if target.is_dir():
        raise UserError(f"--output {output} is a folder: name a file in it")
    if not target.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {target.absolute().parent}: make it first")


@contextlib.contextmanager
def opened(output: str) -> Iterator[BinaryIO]:
    """Where lines go. A file appears once the block ends well; a device or a pipe cannot but be written to."""
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


def written(
    translations: Iterator["Translation"], stream: BinaryIO, form: str, decoding: "schema.Decoding"
) -> Iterator["Translation"]:
    """Writes translations and passes them on. What is read ahead together is handed over together."""
    for translation in translations:
        # Half a surrogate pair, which only JSON can bring, goes out as the JSON escape that it came as.
        stream.write(FORMATS[form](translation, decoding).encode("utf-8", "backslashreplace"))
        if translation.number % decoding.buffer == 0:
            stream.flush()
        yield translation
    stream.flush()


class Report:
    """What is told on stderr: warnings, progress (a bar on a terminal, else a line now and then) and a summary."""

    def __init__(self, source: str, output: str) -> None:
        self._source = source
        self._bar_fits = sys.stderr.isatty() and not (output == STREAM and sys.stdout.isatty())

    def watch(self, translations: Iterator["Translation"]) -> None:
        """Pulls all translations through and tells of them."""
        from tqdm import tqdm

        from mtkit.support.lines import count_lines
        from mtkit.support.progress import shown

        total = None if self._source == STREAM or not Path(self._source).is_file() else count_lines(self._source)
        begin = time.monotonic()
        lines = 0
        counts = dict.fromkeys(("blank", "in pieces", "cut by the length limit", "repeating themselves"), 0)
        one_by_one = ((each,) for each in translations)
        for (translation,) in shown(one_by_one, "translating", total, bar=self._bar_fits, summary=False):
            lines += 1
            best = translation.hypotheses[0]
            counts["blank"] += translation.pieces == 0
            counts["in pieces"] += translation.pieces > 1
            counts["cut by the length limit"] += best.truncated
            counts["repeating themselves"] += best.looping
            for warning in translation.warnings:
                tqdm.write(f"WARNING: {warning}", file=sys.stderr)
        rate = lines / max(time.monotonic() - begin, 1e-9)
        told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        click.echo(f"translated {lines:,} lines, {rate:,.1f} lines/s: {told}", err=True)
