"""`mtkit score`: how probable a model finds given translations."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from mtkit.cli.options import debug_option, device_option, models_option, set_option
from mtkit.support.errors import UserError

if TYPE_CHECKING:
    from mtkit.decoding.scoring import Scored


@click.command()
@models_option
@click.option("--source", metavar="FILE", required=True, help="Text, one line after another; plain or .gz.")
@click.option("--target", metavar="FILE", required=True, help="Its translation, line by line.")
@click.option("--format", "form", type=click.Choice(["text", "tsv", "jsonl"]), default="text", show_default=True)
@set_option
@device_option
@debug_option
def score(models: tuple[str, ...], source: str, target: str, form: str, overrides: tuple[str, ...], device: str) -> None:
    """Score given translations by forced decoding: line n tells how probable the model finds line n.

    \b
    text   the score
    tsv    line, score, log-probability, length
    jsonl  one object a line with the same

    score = log-probability / penalty of the length, as `mtkit translate` reports it for a translation that it found itself;
    see there for the formula. The length counts tokens and the end token. The sum over all lines, the mean of a token and
    the perplexity are told on stderr.
    """
    from mtkit.cli.models import load_models
    from mtkit.config.loader import override_config
    from mtkit.decoding.scoring import Scorer
    from mtkit.support.device import resolve
    from mtkit.support.lines import count_lines
    from mtkit.support.progress import shown

    counts = [count_lines(name) for name in (source, target)]
    if counts[0] != counts[1]:
        raise UserError(f"line counts differ: {source} {counts[0]} lines, {target} {counts[1]} lines")
    for override in overrides:
        if not override.startswith("decoding."):
            raise UserError(f"--set {override}: score only has use for the section decoding")
    place = resolve(device)
    loaded = load_models(models, [place])
    decoding = override_config(loaded[0].config, overrides).decoding
    scorer = Scorer([each.model for each in loaded], loaded[0].vocabularies, decoding, place)
    total, tokens = 0.0, 0
    one_by_one = ([scored] for scored in scorer.score(_pairs(source, target)))
    for (scored,) in shown(one_by_one, "scoring", counts[0], summary=False):
        click.echo(_FORMATS[form](scored))
        total += scored.log_probability
        tokens += scored.length
    click.echo(f"scored {counts[0]:,} lines, {tokens:,} tokens: log-probability {total:.4f}{_mean(total, tokens)}", err=True)


def _mean(total: float, tokens: int) -> str:
    """What a token of text with this log-probability costs, if there is any."""
    if not tokens:
        return ""
    return f", of a token {total / tokens:.4f}, perplexity {math.exp(min(-total / tokens, 700.0)):.3f}"


def _pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """The lines of both files side by side. UserError naming a line that is not UTF-8."""
    from mtkit.support.lines import decode, raw_lines

    for number, lines in enumerate(zip_longest(raw_lines(source), raw_lines(target), fillvalue=b""), 1):
        first, second = (decode(raw, name, number) for raw, name in zip(lines, (source, target), strict=True))
        yield first, second


def _as_text(scored: "Scored") -> str:
    return f"{scored.score:.6f}"


def _as_tsv(scored: "Scored") -> str:
    return f"{scored.number}\t{scored.score:.6f}\t{scored.log_probability:.6f}\t{scored.length}"


def _as_json(scored: "Scored") -> str:
    fields = asdict(scored)
    return json.dumps({"line": fields.pop("number"), **fields}, allow_nan=False)


_FORMATS = {"text": _as_text, "tsv": _as_tsv, "jsonl": _as_json}
