"""The HTML page beside report.json: the same figures for the eye, with the worst pairs to read.

Comes in: a `Report`. Goes out: one page that needs neither network nor script.
"""

import re
from pathlib import Path

import jinja2

import mtkit
from mtkit.data.folder import BIN, BINS, SELDOM, Report
from mtkit.data.summary import CHANGES_TOLD, REASONS_TOLD, warnings
from mtkit.data.vocabularies import shortened

PAGE = "report.html"

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that must not stand in a page, however they are written."""

TICKS = 6
"""Numbers under a histogram, at most."""

RUNS_SHOWN = 10


def write_page(report: Report, path: Path) -> None:
    """Writes the page about a prepared folder into it."""
    path.write_text(render(report), encoding="utf-8")


def render(report: Report) -> str:
    """The page. All text in it is escaped, and characters that no page may hold are replaced by U+FFFD."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"number": "{:,}".format, "fixed": "{:.2f}".format}
    splits = report.splits.values()
    training = report.splits["train"]
    page = environment.get_template("page.html").render(
        report=report,
        version=mtkit.__version__,
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
    return UNPRINTABLE.sub("\ufffd", page)


def _ticks(bars: int) -> list[int]:
    """The bars under whose left edge a number stands."""
    step = next(step for step in (1, 2, 5, 10, 20, 50) if bars / step <= TICKS or step == 50)
    return list(range(0, bars, step))
