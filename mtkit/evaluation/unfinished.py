"""Signs that lines are not finished text: pieces not joined, words still set apart, characters still escaped, no text.

Comes in: lines of hypotheses and references. Goes out: warnings. A score of such lines is a number that compares with no
other.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

SIGNS: Mapping[str, re.Pattern[str]] = {
    "BPE pieces (@@)": re.compile(r"@@( |\Z)"),
    "SentencePiece marks (U+2581)": re.compile("\u2581"),
    "escaped characters (&quot; &apos; &amp; and the like)": re.compile(r"&(quot|apos|amp|lt|gt|#\d+);"),
    "a full stop set off by a space": re.compile(r" \.\Z"),
}
TOLERATED_SHARE = 0.1
"""Share of lines with a sign of unfinished text that passes without a warning."""


def hypothesis_warnings(hypotheses: Sequence[str]) -> tuple[str, ...]:
    """What makes a score of these lines doubtful, one sentence each, for stderr; nothing for raw detokenised text."""
    if not any(line.strip() for line in hypotheses):
        return (f"all {len(hypotheses)} hypotheses are empty",) if hypotheses else ()
    signs: Counter[str] = Counter()
    unfinished = 0
    for line in hypotheses:
        found = [name for name, pattern in SIGNS.items() if pattern.search(line)]
        signs.update(found)
        unfinished += bool(found)
    if unfinished <= TOLERATED_SHARE * len(hypotheses):
        return ()
    kinds = ", ".join(f"{name} in {count}" for name, count in signs.most_common())
    return (
        f"{unfinished} of {len(hypotheses)} hypotheses do not look like finished text: {kinds}; "
        "join the pieces, unescape and detokenise before scoring, or the score cannot be compared with others",
    )


def reference_warning(reference: Sequence[str], hypotheses: Sequence[str]) -> str:
    """What makes a score against this reference doubtful, for stderr; '' where nothing does."""
    empty = sum(
        not line.strip() and bool(hypothesis.strip()) for line, hypothesis in zip(reference, hypotheses, strict=False)
    )
    if not empty:
        return ""
    return (
        f"{empty} of {len(reference)} lines are empty, the hypotheses are not: sacreBLEU counts an empty line "
        "as a reference like any other; leave out the lines that have none"
    )
