"""What `mtkit evaluate` holds translations against: files, a named test set, or the test text of prepared data.

Comes in: the options of the command line. Goes out: source and references, under the name that scores carry.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtkit.cli.translation_input import STREAM, check_input
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    from mtkit.config.schema import Config
    from mtkit.data.folder import PreparedData


@dataclass(frozen=True)
class Material:
    """What is translated and what it is compared with."""

    label: str
    source: Sequence[str] | None  # None where only the references were given
    references: Sequence[Sequence[str]]
    reference_names: Sequence[str]


def called(name: str) -> str:
    """What to call a file that may be stdin."""
    return "stdin" if name == STREAM else name


def given_lines(name: str) -> list[str]:
    """All lines of a file, or of stdin. UserError if they cannot be read."""
    from mtkit.support.lines import decode, read_lines, split_stream

    if name != STREAM:
        return read_lines(name)
    check_input(name)
    return [decode(raw, called(name), number) for number, raw in enumerate(split_stream(sys.stdin.buffer), 1)]


def given_material(source: str | None, references: Sequence[str]) -> Material:
    """The files given, each read once. UserError if their line counts differ."""
    names = [called(name) for name in references]
    texts = [given_lines(name) for name in references]
    lines = given_lines(source) if source else None
    for name, text in zip(names, texts, strict=True):
        if source and lines is not None and len(lines) != len(text):
            raise UserError(f"line counts differ: {called(source)} {len(lines)} lines, {name} {len(text)} lines")
    return Material(" + ".join(Path(name).name for name in names), lines, texts, names)


def find_material(config: "Config", test_set: str | None, run: Path | None = None) -> Material:
    """The named test set, or the test text of the prepared data of `run`."""
    from mtkit.data.folder import PreparedData
    from mtkit.evaluation.test_sets import TEST_SETS, load_test_set
    from mtkit.support.lines import read_lines

    data = config.data
    name = test_set or config.evaluation.test_set
    if name:
        named = load_test_set(name, data.source_language, data.target_language, Path(data.folder or "data") / TEST_SETS)
        return Material(named.label, named.source, named.references, [name] * len(named.references))
    prepared = PreparedData.open(data.folder)
    paths = [prepared.text_path("test", language) for language in (data.source_language, data.target_language)]
    label = _test_label(prepared, run)
    return Material(label, read_lines(paths[0]), [read_lines(paths[1])], [str(paths[1])])


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
