"""What is changed in sentence pairs and which of them are left out, counted.

Comes in: `SentencePair`s as read, later the lengths of their sides in tokens. Goes out: cleaned pairs or the reason to drop
them, and `Counts` that add up. Knows nothing of files or vocabularies beyond the text treatment of `vocabulary.normalise`.
"""

import hashlib
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from mtkit.config import schema
from mtkit.data.corpus import SentencePair
from mtkit.data.vocabulary import JOINERS, WORD_MARK, normalise
from mtkit.support.lines import decode

REASONS = ("invalid_utf8", "empty_source", "empty_target", "copy", "duplicate", "too_long", "ratio")
CHANGES = ("line_separator", "control", "soft_hyphen", "zero_width", "nbsp", "bom", "word_mark", "entity", "bad_bytes")

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
LINE_SEPARATORS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
BAD_BYTES = re.compile("[\udc80-\udcff]+")  # what decoding with surrogateescape makes of them

SHORT_PAIR = 10
"""Pairs of at most so many pieces on both sides may have any ratio."""


def _character_kinds() -> dict[str, str]:
    """The kind, as counted in the report, of each character that cleaning changes and a reader would not see."""
    kinds = {"\xad": "soft_hyphen", "\ufeff": "bom", WORD_MARK: "word_mark"}
    kinds |= dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "line_separator")
    kinds |= dict.fromkeys("\xa0\u2007\u202f", "nbsp")
    for character in map(chr, range(0x10000)):
        category = unicodedata.category(character)
        if category == "Cc" and character != "\t":
            kinds.setdefault(character, "control")
        elif category == "Cf" and character not in JOINERS:
            kinds.setdefault(character, "zero_width")
    return kinds


CHARACTER_KINDS = _character_kinds()
COUNTED = re.compile(f"[{''.join(map(re.escape, CHARACTER_KINDS))}]")


@dataclass(frozen=True)
class Counts:
    """How many pairs came in, how many stayed, why the others went, and how often each kind of change was made."""

    read: int
    kept: int
    dropped: Mapping[str, int]
    changed: Mapping[str, int]

    def __post_init__(self) -> None:
        assert self.read == self.kept + sum(self.dropped.values()), self

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.dropped.items() if count)
        total = sum(self.dropped.values())
        return f"read {self.read}, kept {self.kept}, dropped {total}{f' ({reasons})' if reasons else ''}"


class Cleaner:
    """Cleans the pairs of one split, one after another, and counts. Only `training` pairs can be dropped."""

    def __init__(self, config: schema.Cleaning, *, training: bool) -> None:
        self._config = config
        self._training = training
        self._read = 0
        self._dropped: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
        self._seen: set[bytes] = set()

    def clean(self, pair: SentencePair) -> SentencePair | None:
        """The pair with cleaned text, or None if it is dropped (and counted).

        Outside training the target is a reference: only bad bytes and inner line separators are replaced in it.
        UserError naming file, line, byte and column for bad bytes, if that is the policy.
        """
        self._read += 1
        source, target = pair.source, pair.target
        if not (source.isascii() and target.isascii()) and (BAD_BYTES.search(source) or BAD_BYTES.search(target)):
            if not self._valid(pair):
                self._dropped["invalid_utf8"] += 1
                return None
            source, target = self._replaced_bytes(source), self._replaced_bytes(target)
        source = self._cleaned(source)
        if not self._training:
            return SentencePair(source, self._reference(target), pair.line, pair.part)
        target = self._cleaned(target)
        if reason := self._reason(source, target):
            self._dropped[reason] += 1
            return None
        return SentencePair(source, target, pair.line, pair.part)

    def keeps_lengths(self, source_length: int, target_length: int) -> bool:
        """Whether a pair that `clean` kept stays, now that its lengths in pieces are known; counted if not."""
        reason = length_reason(source_length, target_length, self._config) if self._training else None
        if reason:
            self._dropped[reason] += 1
        return reason is None

    def counts(self, byte_order_marks: int = 0) -> Counts:
        """What has been counted so far; the marks at the beginning of files were seen by their reader."""
        dropped = {reason: self._dropped[reason] for reason in REASONS}
        changed = {kind: self._changed[kind] for kind in CHANGES}
        changed["bom"] += byte_order_marks
        return Counts(self._read, self._read - sum(dropped.values()), dropped, changed)

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
        self._changed["bad_bytes"] += count
        return text

    def _cleaned(self, text: str) -> str:
        if self._config.unescape_entities and "&" in text:
            plain = unescape(text)
            self._changed["entity"] += plain != text
            text = plain
        for character in COUNTED.findall(text):
            self._changed[CHARACTER_KINDS[character]] += 1
        return normalise(text)

    def _reference(self, text: str) -> str:
        text, count = LINE_SEPARATORS.subn(" ", text)
        self._changed["line_separator"] += count
        return text

    def _reason(self, source: str, target: str) -> str | None:
        """Why a pair of cleaned sentences is left out of the training, or None."""
        if not source:
            return "empty_source"
        if not target:
            return "empty_target"
        if self._config.drop_copies and source == target:
            return "copy"
        if self._config.drop_duplicates:
            digest = hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=16).digest()
            if digest in self._seen:
                return "duplicate"
            self._seen.add(digest)
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
