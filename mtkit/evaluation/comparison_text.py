"""A comparison of systems as a table of plain text."""

from collections.abc import Iterator, Sequence

from mtkit.evaluation.comparison import Comparison, Standing


def comparison_text(comparison: Comparison) -> Iterator[str]:
    """The lines of the table: the systems in their order, the best rank first where the order leaves it open."""
    first = comparison.standings[0].score
    yield f"{first.summary.partition(' = ')[0]} of {len(comparison.standings)} systems | {first.signature} | {first.set}"
    head = ["rank", "score", "95 % interval", "delta", "95 % interval", "p boot", "p rand", "system"]
    rows = [head, *([*_cells(one, first.decimals)] for one in comparison.standings)]
    kept = [column for column in range(len(head)) if any(row[column] for row in rows[1:])]
    widths = {column: max(len(row[column]) for row in rows) for column in kept}
    for row in rows:
        cells = [row[column].rjust(widths[column]) for column in kept[:-1]]
        yield f"  {'  '.join([*cells, row[kept[-1]]])}"
    made = bool(comparison.resamples) + bool(comparison.trials)
    ranks = (
        f"; rank = 1 + systems that are better with p < {comparison.significance_level:g}{' by both' if made == 2 else ''}"
    )
    yield f"  {comparison.tests}{ranks if made else ''}"


def _cells(standing: Standing, decimals: int) -> Sequence[str]:
    score, difference = standing.score, standing.difference
    own = score.interval
    cells = [
        str(standing.rank),
        f"{score.value:.{decimals}f}",
        f"{own.mean:.{decimals}f} ± {own.half_width:.{decimals}f}" if own else "",
    ]
    if difference is None:
        return [*cells, "", "", "", "", f"{standing.system} (baseline)"]
    interval = difference.interval
    verdict = f" ({difference.verdict})" if difference.verdict else ""
    return [
        *cells,
        f"{difference.delta:+.{decimals}f}",
        f"{interval.mean:+.{decimals}f} ± {interval.half_width:.{decimals}f}" if interval else "",
        "" if difference.bootstrap_p is None else f"{difference.bootstrap_p:.4f}",
        "" if difference.randomisation_p is None else f"{difference.randomisation_p:.4f}",
        f"{standing.system}{verdict}",
    ]
