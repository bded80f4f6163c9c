"""The HTML page beside report.json: the same figures for the eye, with the worst pairs to read.

Comes in: a `Report`. Goes out: one page that needs neither network nor script.
"""

from pathlib import Path

from mtkit.data.folder import BIN, BINS, SELDOM, Report
from mtkit.data.summary import CHANGES_TOLD, REASONS_TOLD, warnings
from mtkit.data.vocabularies import shortened
from mtkit.support.pages import filled

PAGE = "report.html"

TICKS = 6
"""Numbers under a histogram, at most."""

RUNS_SHOWN = 10


def write_page(report: Report, path: Path) -> None:
    """Writes the page about a prepared folder into it."""
    path.write_text(render(report), encoding="utf-8")


def render(report: Report) -> str:
    """The page about a prepared folder."""
    splits = report.splits.values()
    training = report.splits["train"]
    return filled(
        Path(__file__).parent,
        "page.html",
        {"number": "{:,}".format, "fixed": "{:.2f}".format},
        report=report,
        languages=(report.source_language, report.target_language),
        warnings=warnings(report),
        fingerprint=shortened(report.vocabulary_fingerprint),
        bin=BIN,
        last_bar=BINS - 1,
        seldom=SELDOM,
        shown=RUNS_SHOWN,
        ticks=_ticks,
        reasons={reason: told for reason, told in REASONS_TOLD.items() if training.counts.dropped.get(reason)},
        changes={kind: told for kind, told in CHANGES_TOLD.items() if any(one.counts.changed.get(kind) for one in splits)},
        examples=[
            (reason, told, training.examples[reason])
            for reason, told in (*REASONS_TOLD.items(), ("kept_ratio", "kept, with the most unequal lengths"))
            if training.examples.get(reason)
        ],
    )


def _ticks(bars: int) -> list[int]:
    """The bars under whose left edge a number stands."""
    step = next(step for step in (1, 2, 5, 10, 20, 50) if bars / step <= TICKS or step == 50)
    return list(range(0, bars, step))
