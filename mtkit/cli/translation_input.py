"""What `mtkit translate` and `mtkit score` read: lines of text, or JSON objects with wishes and fields of their own.

Comes in: a file or stdin. Goes out: `Line`s. A JSON line is an object:

    {"source": "the text", "prefix": "Der", "required": ["Haus", ["Katze", "Kater"]], "forbidden": ["Hund"], ...}

Only `source` must be there. Each entry of `required` is a phrase, or a list of phrases of which one will do; what is
there twice is wanted twice. Fields of any other name come out again beside the translation.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtkit.support.errors import UserError

if TYPE_CHECKING:
    from mtkit.decoding.parts import Line

STREAM = "-"
"""The name that stands for stdin or stdout."""

OWN_FIELDS = ("line", "pieces", "warnings", "length_penalty", "alpha", "coverage_penalty", "hypotheses")
"""What the output says of a line besides the fields of the input."""


def check_input(name: str) -> None:
    """UserError for an input that is not there."""
    if name == STREAM:
        if sys.stdin is None:
            raise UserError("stdin is closed: name a file instead")
    elif not Path(name).exists():
        raise UserError(f"{Path(name).absolute()}: no such file")


class Lines:
    """The lines of a file or of stdin. Ends before a line that cannot be read: those before it get their answer."""

    def __init__(self, name: str, form: str) -> None:
        """form: text or jsonl."""
        self._name, self._form = name, form
        self.error: UserError | None = None

    def __iter__(self) -> Iterator["Line"]:
        from mtkit.decoding.parts import Line
        from mtkit.support.lines import decode, raw_lines, split_stream

        label = "stdin" if self._name == STREAM else self._name
        raw = split_stream(sys.stdin.buffer) if self._name == STREAM else raw_lines(self._name)
        try:
            for number, line in enumerate(raw, 1):
                text = decode(line, label, number)
                yield Line(text) if self._form == "text" else parsed(text, f"{label}:{number}")
        except UserError as error:
            self.error = error


def parsed(text: str, where: str) -> "Line":
    """A JSON line. UserError, beginning with `where`, that names what is wrong with it."""
    from mtkit.data.normalisation import nfc
    from mtkit.decoding.parts import Line
    from mtkit.decoding.phrases import Wishes, counted

    fields = _object(text, where)
    source = fields.get("source")
    if not isinstance(source, str):
        raise UserError(f'{where}: "source" is {_told(fields, "source")}: give the text to translate')
    for name in OWN_FIELDS:
        if name in fields:
            raise UserError(f'{where}: the output has a field "{name}" of its own: rename it')
    prefix = fields.get("prefix", "")
    if not isinstance(prefix, str):
        raise UserError(f'{where}: "prefix" is {_told(fields, "prefix")}: give text')
    required = []
    for phrase in _listed(fields, "required", where):
        alternatives = phrase if isinstance(phrase, list) else [phrase]
        if not alternatives or not all(isinstance(each, str) for each in alternatives):
            raise UserError(
                f'{where}: "required" holds {json.dumps(phrase)}: give phrases, or lists of phrases to choose from'
            )
        required.append(tuple(alternatives))
    forbidden = _listed(fields, "forbidden", where)
    if not all(isinstance(phrase, str) for phrase in forbidden):
        raise UserError(f'{where}: "forbidden" is {_told(fields, "forbidden")}: give a list of phrases')
    wishes = Wishes(prefix, counted(required), tuple(forbidden))
    wishes.check(where, nfc)  # what the vocabulary leaves of it is looked at later
    return Line(source, wishes, {name: value for name, value in fields.items() if name != "source"})


def _object(text: str, where: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise UserError(f"{where}: {constant} is no JSON: write null")

    def number(digits: str) -> int | float:
        if not math.isfinite(float(digits)):
            told = digits if len(digits) < 20 else f"{digits[:20]}…"
            raise UserError(f"{where}: {told} is too large a number: write it as text")
        return int(digits) if digits.lstrip("-").isdigit() else float(digits)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise UserError(f"{where}: there are {count} fields {json.dumps(name)}: leave one of them")
        return dict(pairs)

    try:
        fields = json.loads(text, parse_constant=refuse, parse_int=number, parse_float=number, object_pairs_hook=once)
    except (json.JSONDecodeError, RecursionError) as error:
        column = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f'{where}: not JSON{column}: each line must be an object such as {{"source": "text"}}') from None
    if not isinstance(fields, dict):
        raise UserError(f'{where}: {text[:40]!r} is no object: each line must be one, such as {{"source": "text"}}')
    return fields


def _listed(fields: dict[str, Any], name: str, where: str) -> list[Any]:
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise UserError(f'{where}: "{name}" is {_told(fields, name)}: give a list of phrases')
    return value


def _told(fields: dict[str, Any], name: str) -> str:
    return json.dumps(fields[name], ensure_ascii=False)[:60] if name in fields else "missing"
