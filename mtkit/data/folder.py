"""The prepared data folder: what lies in it and how it is opened.

Comes in: a folder that `preparation` wrote. Goes out: its report, vocabularies, numbered pairs and raw text. Knows nothing
of how they were made.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from mtkit.data.binarized import Pairs, Weights
from mtkit.data.counting import Counts, Example
from mtkit.data.vocabularies import Vocabularies, shortened
from mtkit.support.errors import UserError

FORMAT_VERSION = 1
REPORT = "report.json"

SELDOM = 20
"""Pieces that occur less often are hardly learned."""

BIN, BINS = 8, 64
"""Tokens that a bar of a length histogram spans, and its bars."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PartReport(_Record):
    """Where some of a split's lines came from: names of files or of the hub data set, and how many pairs it has."""

    source: str
    target: str
    pairs: int
    kept: int | None = None  # how many of them were left; nothing in folders from before it was counted
    weight: float = 1.0  # how often an epoch of training has each
    tag: str = ""
    misaligned: tuple[tuple[int, int], ...] = ()  # first and last line of runs that seem not to translate each other


class SplitReport(_Record):
    """One prepared split. Lines are those of its text files; tokens are without end tokens."""

    parts: tuple[PartReport, ...]
    counts: Counts
    lines: int
    source_tokens: int
    target_tokens: int
    unknown_tokens: int
    source_sha256: str
    target_sha256: str
    source_characters: int = 0
    target_characters: int = 0
    byte_tokens: int = 0  # tokens that spell a single byte
    source_lengths: tuple[int, ...] = ()  # sentences with up to 8 tokens, 16, 24, ... ; the last: and all longer ones
    target_lengths: tuple[int, ...] = ()
    examples: dict[str, tuple[Example, ...]] = {}  # the worst pairs that were dropped, by reason, and `kept_ratio`
    given_away: dict[str, int] = {}  # lines of validation or test whose pair, source, target training has too

    @property
    def unknown_rate(self) -> float:
        """Share of tokens that are unknown: 0 with a vocabulary that spells rare characters in bytes."""
        return self.unknown_tokens / max(self.source_tokens + self.target_tokens, 1)


class Coverage(_Record):
    """How the training text uses a vocabulary."""

    side: str
    pieces: int
    used: int  # at least once
    seldom: int  # at least once, fewer than `SELDOM` times


class Report(_Record):
    """What `prepare` did: the content of report.json."""

    format_version: int
    source_language: str
    target_language: str
    source_vocabulary_size: int | None = None  # where the source has a vocabulary of its own, else nothing
    vocabulary_size: int  # of the target's, which is then the source's too
    vocabulary_fingerprint: str  # as `Vocabularies` has it
    words_left_out: int
    splits: dict[str, SplitReport]
    coverage: tuple[Coverage, ...] = ()
    config: dict[str, JsonValue]

    @property
    def shared_vocabulary(self) -> bool:
        """Whether both sides were numbered with one vocabulary."""
        return self.source_vocabulary_size is None


MADE = re.compile(
    r"report\.(json|html)|vocabulary(\.source|\.target)?\.model|shortlist\.safetensors|test_sets|"
    r"(train|validation|test)\.([\w-]+|(index|source|target)\.bin|pairs\.json)"
)
"""Names of all that `prepare` puts into a folder."""


def check_replaceable(folder: Path) -> None:
    """UserError unless `folder` is a prepared one that holds nothing else: what a user put there must not be lost."""
    if not (folder / REPORT).is_file():
        raise UserError(f"{folder}: not a prepared data folder, so --overwrite does not replace it: give another --output")
    for name in sorted(path.name for path in folder.iterdir()):
        if not MADE.fullmatch(name):
            raise UserError(
                f"{folder / name}: not made by mtkit prepare, so --overwrite does not delete it: move it away, or give "
                "another --output"
            )


@dataclass(frozen=True)
class PreparedData:
    """A prepared data folder, opened."""

    folder: Path
    report: Report

    @classmethod
    def open(cls, folder: str | Path) -> "PreparedData":
        """Checks that `folder` is one that this version can read. UserError if not."""
        folder = Path(folder)
        try:
            report = Report.model_validate_json((folder / REPORT).read_bytes())
        except OSError:
            raise UserError(
                f"{folder}: not a prepared data folder (no {REPORT} in it): run mtkit prepare --config ... first"
            ) from None
        except ValidationError:
            raise UserError(f"{folder / REPORT}: damaged or of another version: run mtkit prepare again") from None
        if report.format_version != FORMAT_VERSION:
            raise UserError(
                f"{folder}: prepared in format {report.format_version}, this version of mtkit reads {FORMAT_VERSION}: "
                "run mtkit prepare again"
            )
        return cls(folder, report)

    def vocabularies(self) -> Vocabularies:
        """The vocabularies of the folder. UserError if one is damaged or they are not those the pairs were numbered with."""
        vocabularies = Vocabularies.load(self.folder, shared=self.report.shared_vocabulary)
        if vocabularies.fingerprint != self.report.vocabulary_fingerprint:
            raise UserError(
                f"{self.folder / vocabularies.file_name}: vocabulary differs: {shortened(vocabularies.fingerprint)}, but "
                f"the data was numbered with {shortened(self.report.vocabulary_fingerprint)}: run mtkit prepare again"
            )
        return vocabularies

    def pairs(self, split: str) -> Pairs:
        """The numbered pairs of `split`. UserError if it was not prepared or a file of it is damaged."""
        pairs = Pairs.open(self.folder, self._known(split))
        pairs.weights = self._weights(split)
        if len(pairs) != self.report.splits[split].lines:
            raise UserError(
                f"{self.folder}: {split} has {len(pairs)} pairs, its report says otherwise: run mtkit prepare again"
            )
        return pairs

    def _weights(self, split: str) -> Weights | None:
        """Those of the split's parts; None where all are 1."""
        parts = self.report.splits[split].parts
        if all(part.weight == 1.0 for part in parts):
            return None
        ends = np.cumsum([part.kept or 0 for part in parts])
        return Weights(ends, np.array([part.weight for part in parts]))

    def text_path(self, split: str, language: str) -> Path:
        """The file with the raw text of `split` in `language`, one sentence a line."""
        assert language in (self.report.source_language, self.report.target_language)
        path = self.folder / f"{self._known(split)}.{language}"
        if not path.is_file():
            raise UserError(f"{path}: no such file: run mtkit prepare again")
        return path

    def _known(self, split: str) -> str:
        if split not in self.report.splits:
            raise UserError(
                f"{self.folder}: no {split} data was prepared: set data.{split}.source and data.{split}.target "
                "and run mtkit prepare again"
            )
        return split
