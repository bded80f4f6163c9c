"""What is changed in sentence pairs and which of them are left out, by what stands in the pair itself.

Comes in: `SentencePair`s as read, later the lengths of their sides in tokens. Goes out: cleaned pairs or the reason to drop
them, counted. Knows nothing of files, of vocabularies or of other pairs.
"""

import functools
import html
import re
import unicodedata
from collections.abc import Callable

from mtkit.config import schema
from mtkit.data import language
from mtkit.data.corpus import SentencePair
from mtkit.data.counting import Counts, Example, Tally
from mtkit.data.normalisation import JOINERS, LINE_SEPARATORS, NORMALISATIONS, WORD_MARK, finding
from mtkit.data.readers import BAD_BYTES
from mtkit.support.lines import decode

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
SEPARATORS = re.compile(f"[{LINE_SEPARATORS}]+")

SHORT_PAIR = 10
"""Pairs of at most so many pieces on both sides may have any ratio."""

LONGEST_SHOWN = 300
"""Characters of a sentence that an example keeps."""


def _character_kinds() -> dict[str, str]:
    """The kind, as counted in the report, of each character that cleaning may change and a reader would not see."""
    kinds = {"\xad": "soft_hyphen", "\ufeff": "bom", WORD_MARK: "word_mark"}
    kinds |= dict.fromkeys(LINE_SEPARATORS, "line_separator")
    kinds |= dict.fromkeys("\xa0\u2007\u202f", "nbsp")
    for character in map(chr, range(0x10000)):
        category = unicodedata.category(character)
        if category == "Cc" and character != "\t":
            kinds.setdefault(character, "control")
        elif category == "Cf" and character not in JOINERS:
            kinds.setdefault(character, "zero_width")
    return kinds


@functools.cache
def _counted(normalization: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Finds the characters that a choice of `vocabulary.normalization` changes, and the kind of each."""
    kinds = NORMALISATIONS[normalization].changes(_character_kinds())
    return re.compile(f"[{''.join(map(re.escape, kinds))}]"), kinds


def example(pair: SentencePair, severity: float, order: int = 0) -> Example:
    """The pair as an example, its text cut to a readable length."""
    source, target = (text[:LONGEST_SHOWN].encode("utf-8", "replace").decode() for text in (pair.source, pair.target))
    return Example(severity, order or pair.line, str(pair.part), pair.line, source, target)


def in_capitals(text: str, spared: tuple[str, ...] = ()) -> str:
    """The text in capitals, but for the symbols of `spared` in it."""
    parts = finding(spared).split(text) if spared else [text]  # every second one is a symbol
    return "".join(part if place % 2 else part.upper() for place, part in enumerate(parts))


class Cleaner:
    """Cleans pairs, one after another, and counts. Only `training` pairs can be dropped."""

    def __init__(
        self,
        config: schema.Cleaning,
        *,
        training: bool,
        normalization: str = "nfc",
        languages: frozenset[str] = frozenset(),
    ) -> None:
        """`languages` (ISO 639-1) are those of the text."""
        self._config = config
        self._training = training
        self._normalise: Callable[[str], str] = NORMALISATIONS[normalization].treat
        self._counted, self._kinds = _counted(normalization)
        self._languages = languages
        self.tally = Tally()

    def clean(self, pair: SentencePair, order: int = 0) -> SentencePair | None:
        """The pair with cleaned text, or None if it is dropped (and counted); `order` is its line in the whole split.

        Outside training the target is a reference: only bad bytes and inner line separators are replaced in it.
        UserError naming file, line, byte and column for bad bytes, if that is the policy.
        """
        self.tally.read += 1
        source, target = pair.source, pair.target
        if not (source.isascii() and target.isascii()) and (BAD_BYTES.search(source) or BAD_BYTES.search(target)):
            if not self._valid(pair):
                self._drop("invalid_utf8", pair, 0.0, order)
                return None
            source, target = self._replaced_bytes(source), self._replaced_bytes(target)
        source = self._cleaned(source)
        if not self._training:
            return SentencePair(source, self._reference(target), pair.line, pair.part)
        target = self._cleaned(target)
        cleaned = SentencePair(source, target, pair.line, pair.part)
        if found := self._reason(source, target):
            self._drop(found[0], cleaned, found[1], order)
            return None
        return cleaned

    def as_compared(self, reference: str) -> str:
        """A reference as its sentence would look in training."""
        return self._normalise(unescape(reference) if self._config.unescape_entities else reference)

    def counts(self, byte_order_marks: int = 0) -> Counts:
        """What has been counted so far."""
        return self.tally.counts(byte_order_marks)

    def _drop(self, reason: str, pair: SentencePair, severity: float, order: int) -> None:
        self.tally.drop(reason, example(pair, severity, order))

    def _valid(self, pair: SentencePair) -> bool:
        """False if a pair with bad bytes must go; UserError if they are not to be tolerated."""
        if self._config.on_bad_utf8 == "error":
            sides = {pair.part.source: pair.source, pair.part.target: pair.target}
            if len(sides) == 1:  # both in one line of one file: count columns from its beginning
                sides = {pair.part.source: f"{pair.source}\t{pair.target}"}
            for name, text in sides.items():
                decode(text.encode("utf-8", errors="surrogateescape"), name, pair.line)
        return self._config.on_bad_utf8 == "replace" or not self._training

    def _replaced_bytes(self, text: str) -> str:
        text, count = BAD_BYTES.subn("\ufffd", text)
        self.tally.changed["bad_bytes"] += count
        return text

    def _cleaned(self, text: str) -> str:
        if self._config.unescape_entities and "&" in text:
            plain = unescape(text)
            self.tally.changed["entity"] += plain != text
            text = plain
        for character in self._counted.findall(text):
            self.tally.changed[self._kinds[character]] += 1
        return self._normalise(text)

    def _reference(self, text: str) -> str:
        text, count = SEPARATORS.subn(" ", text)
        self.tally.changed["line_separator"] += count
        return text

    def _reason(self, source: str, target: str) -> tuple[str, float] | None:
        """Why a pair of cleaned sentences is left out of the training, and how bad it is, or None."""
        if not source:
            return "empty_source", len(target)
        if not target:
            return "empty_target", len(source)
        if self._config.drop_copies and source == target:
            return "copy", len(source)
        if self._config.drop_foreign:
            sure = max(language.foreign(text, self._languages) for text in (source, target))
            if sure >= self._config.drop_foreign:
                return "language", sure
        return None


def unescape(text: str) -> str:
    """HTML entities that end in a semicolon as characters, once; `?a=1&copy=2` is no entity."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text)


def length_reason(source_length: int, target_length: int, config: schema.Cleaning) -> str | None:
    """Why a pair with so many pieces (without end tokens) is left out of the training, or None."""
    shorter, longer = sorted((source_length, target_length))
    if longer > config.max_tokens:
        return "too_long"
    if longer > SHORT_PAIR and longer > config.max_ratio * shorter:
        return "ratio"
    return None


def length_severity(source_length: int, target_length: int, reason: str) -> float:
    """How bad the lengths of a pair are, for `too_long` and for `ratio`."""
    shorter, longer = sorted((source_length, target_length))
    return float(longer) if reason == "too_long" else longer / max(shorter, 1)
