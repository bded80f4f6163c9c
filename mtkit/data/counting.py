"""What is counted while pairs are cleaned, and the worst examples of each kind.

Comes in: events. Goes out: `Counts` that add up, whatever the order in which their pieces were counted. Knows no rules.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

REASONS = (
    "invalid_utf8",
    "empty_source",
    "empty_target",
    "copy",
    "language",
    "duplicate",
    "duplicate_source",
    "duplicate_target",
    "held_out",
    "too_long",
    "ratio",
)
"""Why a pair is left out; the first that applies is counted, in the order of the work: too_long and ratio come last."""

CHANGES = (
    "line_separator",
    "control",
    "soft_hyphen",
    "zero_width",
    "nbsp",
    "bom",
    "word_mark",
    "entity",
    "bad_bytes",
    "capitals",
)

SHOWN = 20
"""Examples kept of each kind."""


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


@dataclass(frozen=True)
class Example:
    """A pair as an example of why pairs are dropped; `severity` orders examples of one kind, `order` equal ones."""

    severity: float
    order: int  # its corpus line, from 1 over the whole split
    part: str
    line: int  # in its part
    source: str
    target: str


@dataclass
class Tally:
    """Counts in the making. Pieces that were counted apart are put together with `add`."""

    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    def drop(self, reason: str, example: Example) -> None:
        """A pair is left out."""
        self.dropped[reason] += 1
        self.note(reason, example)

    def note(self, kind: str, example: Example) -> None:
        """An example that may be among the worst of its kind."""
        kept = self.examples.setdefault(kind, [])
        if len(kept) < 2 * SHOWN or example.severity > kept[SHOWN - 1].severity:
            kept.append(example)
            if len(kept) > 2 * SHOWN:
                self.examples[kind] = _worst(kept)

    def add(self, other: "Tally") -> None:
        """What was counted elsewhere."""
        self.read += other.read
        self.dropped.update(other.dropped)
        self.changed.update(other.changed)
        for kind, examples in other.examples.items():
            self.examples[kind] = _worst(self.examples.get(kind, []) + examples)

    def counts(self, byte_order_marks: int = 0) -> Counts:
        """What has been counted so far; the marks at the beginning of files were seen by their reader."""
        dropped = {reason: self.dropped[reason] for reason in REASONS}
        changed = {kind: self.changed[kind] for kind in CHANGES}
        changed["bom"] += byte_order_marks
        return Counts(self.read, self.read - sum(dropped.values()), dropped, changed)

    def worst(self) -> dict[str, tuple[Example, ...]]:
        """The worst examples of each kind, worst first."""
        order = {kind: place for place, kind in enumerate(REASONS)}
        kinds = sorted(self.examples, key=lambda kind: (order.get(kind, len(order)), kind))
        return {kind: tuple(_worst(self.examples[kind])) for kind in kinds}


def _worst(examples: Iterable[Example]) -> list[Example]:
    return heapq.nsmallest(SHOWN, examples, key=lambda one: (-one.severity, one.order))
