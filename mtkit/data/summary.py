"""A report in words: what a reader of the terminal should know.

Comes in: a `Report`. Goes out: lines of text.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from mtkit.data.folder import Report, SplitReport
from mtkit.data.vocabularies import shortened
from mtkit.data.vocabulary import LARGEST_WORD

MANY_DROPPED = 0.05
"""Share of the training pairs whose loss is worth a warning."""

RUNS_TOLD = 5

REASONS_TOLD = {
    "invalid_utf8": "not UTF-8",
    "empty_source": "no source text",
    "empty_target": "no target text",
    "copy": "both sides equal",
    "language": "another language",
    "duplicate": "there before",
    "duplicate_source": "source there before",
    "duplicate_target": "target there before",
    "held_out": "in validation or test too",
    "too_long": "too long",
    "ratio": "lengths too unequal",
}

CHANGES_TOLD = {
    "line_separator": "line separators inside a sentence, now spaces",
    "control": "control characters, removed",
    "soft_hyphen": "soft hyphens, removed",
    "zero_width": "zero-width and format characters, removed",
    "nbsp": "no-break spaces, now plain spaces",
    "bom": "byte-order marks, removed",
    "word_mark": "U+2581, now spaces",
    "entity": "sentences with HTML entities, now characters",
    "bad_bytes": "bytes that are not UTF-8, now U+FFFD",
    "capitals": "training pairs put in capitals",
}


def summary(report: Report) -> list[str]:
    """Counts, warnings, the vocabulary and how well it covers the text."""
    lines = []
    for name, split in report.splits.items():
        counts = split.counts
        changed = ", ".join(f"{kind} {count}" for kind, count in counts.changed.items() if count)
        lines.append(f"{name}: {counts}; unknown tokens {split.unknown_rate:.2%}")
        if changed:
            lines.append(f"{name}: changed: {changed}")
        if replaced := counts.changed["line_separator"]:
            lines.append(f"{name}: inner line separators replaced: {replaced}")
        if met := split.given_away.get("pairs"):
            lines.append(f"{name}: {met} of {split.lines} pairs met in the training text")
    lines += [f"WARNING: {line}" for line in warnings(report)]
    if normalization := _option(report, "vocabulary", "normalization"):
        lines.append(f"text treatment: vocabulary.normalization {normalization}")
    fingerprint = shortened(report.vocabulary_fingerprint)
    if report.source_vocabulary_size is None:
        lines.append(f"vocabulary: {report.vocabulary_size} pieces, fingerprint {fingerprint}")
    else:
        sizes = f"source {report.source_vocabulary_size} pieces, target {report.vocabulary_size} pieces"
        lines.append(f"vocabularies: {sizes}, fingerprints {fingerprint}")
    return lines


def _option(report: Report, section: str, name: str) -> JsonValue:
    """An option that the data was prepared with; None where the folder is from before there was such an option."""
    options = report.config.get(section)
    return options.get(name) if isinstance(options, dict) else None


def warnings(report: Report) -> list[str]:
    """What is worth a second look."""
    left_out = _option(report, "cleaning", "drop_held_out") not in (None, "none")
    lines = [line for name, split in report.splits.items() for line in _warnings(name, split, left_out=left_out)]
    if report.words_left_out:
        lines.append(f"{report.words_left_out} words of more than {LARGEST_WORD} bytes were not used for the vocabulary")
    return lines


def _warnings(name: str, split: SplitReport, *, left_out: bool) -> Iterator[str]:
    counts = split.counts
    if marks := counts.changed["word_mark"]:
        yield f"{name}: U+2581 occurs {marks} times; the vocabulary uses it for spaces, so it became one"
    if counts.read - counts.kept > MANY_DROPPED * counts.read:
        yield f"{name}: {(counts.read - counts.kept) / counts.read:.1%} of the pairs dropped"
    if split.unknown_tokens:
        yield f"{name}: {split.unknown_tokens} tokens are unknown: their characters are lost"
    met = split.given_away.get("pairs", 0)
    if met and not left_out:
        yield (
            f"{name}: {met} of {split.lines} pairs are in the training text too: leave them out there with "
            "cleaning.drop_held_out=pairs, or the score says little"
        )
    for part in split.parts:
        for first, last in part.misaligned[:RUNS_TOLD]:
            where = part.source if part.source == part.target else f"{part.source} and {part.target}"
            yield f"{name}: lines {first} to {last} of {where} seem not to translate each other"
        if len(part.misaligned) > RUNS_TOLD:
            yield f"{name}: and {len(part.misaligned) - RUNS_TOLD} more such runs, see report.json"
