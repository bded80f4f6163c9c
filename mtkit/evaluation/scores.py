"""Scores of translations: lines in, sacreBLEU's numbers with their signatures out.

Comes in: hypothesis lines and one list of reference lines per reference set, as raw text. Goes out: one `Score` per metric.
The lines are handed to sacreBLEU as they are, so a score here is the one its command line prints. Knows nothing of files,
models or downloads.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mtkit.config.schema import Evaluation
from mtkit.evaluation.test_sets import NEWSTEST2014_BY_LINES
from mtkit.support.errors import UserError

METRICS: Mapping[str, Callable[[Evaluation, str], Metric]] = {
    # `force` only silences sacreBLEU's own remark on tokenised input, which `hypothesis_warnings` makes for every metric.
    "bleu": lambda config, language: BLEU(lowercase=config.lowercase, trg_lang=language, force=True),
    "chrf": lambda config, language: CHRF(lowercase=config.lowercase),
    "chrf++": lambda config, language: CHRF(lowercase=config.lowercase, word_order=2),
    # TER disregards case whatever `lowercase` says, as TERCOM and sacreBLEU's command line do; its signature says case:lc.
    "ter": lambda config, language: TER(),
}
"""Name in the config -> sacreBLEU's metric, from the options and the target language (BLEU's tokeniser follows it)."""

SIGNS_OF_UNFINISHED_TEXT: Mapping[str, re.Pattern[str]] = {
    "BPE pieces (@@)": re.compile(r"@@( |\Z)"),
    "SentencePiece marks (U+2581)": re.compile("\u2581"),
    "escaped quotes (&quot; &apos;)": re.compile(r"&(quot|apos);"),
    "a full stop set off by a space": re.compile(r" \.\Z"),
}
TOLERATED_SHARE = 0.1
"""Share of lines with a sign of unfinished text that passes without a warning."""


@dataclass(frozen=True)
class Score:
    """One number and all that is needed to compare it with another."""

    metric: str
    """Name as in the config: bleu, chrf, chrf++, ter."""
    value: float
    """0 to 100, unrounded; higher is better, but for TER lower is (and it may exceed 100)."""
    summary: str
    """sacreBLEU's own words: name, value to two digits and, for BLEU, precisions, brevity penalty and lengths."""
    signature: str
    """sacreBLEU's own signature."""
    test_set: str
    """What was translated: label of a test set or name of a reference file; '' if it has no name."""
    sentences: int
    """Lines scored."""

    def __str__(self) -> str:
        """All of it on one line."""
        lines = f"{self.sentences} line{'' if self.sentences == 1 else 's'}"
        return f"{self.summary} | {self.signature} | {f'{self.test_set}, ' if self.test_set else ''}{lines}"

    def to_json(self) -> dict[str, str | float | int]:
        """The fields by name, for `json.dumps`."""
        return asdict(self)


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    config: Evaluation,
    *,
    hypotheses_name: str = "",
    reference_names: Sequence[str] = (),
    test_set: str = "",
    target_language: str = "",
) -> tuple[Score, ...]:
    """Scores `hypotheses` with each of `config.metrics`, in that order.

    `references` holds one list of lines per reference set, not one per sentence. The names serve messages and the report;
    `test_set` defaults to the names of the references. `target_language` chooses BLEU's tokeniser as `sacrebleu -l` does
    (13a, but zh, ja-mecab and ko-mecab for these three); the signature names it.

    Raises UserError if a reference has another number of lines than the hypotheses, if there are none, or if the
    tokeniser of the target language is not installed.
    """
    assert references, "no reference given"
    assert not any(isinstance(reference, str) for reference in references), "references: one list of lines per reference set"
    _check_counts(hypotheses, references, hypotheses_name, reference_names)
    scores = []
    for name in config.metrics:
        metric = _metric(name, config, target_language)
        result = metric.corpus_score(hypotheses, references)
        scores.append(
            Score(
                metric=name,
                value=float(result.score),
                summary=result.format(width=2),
                signature=metric.get_signature().format(),
                test_set=test_set or " ".join(reference_names),
                sentences=len(hypotheses),
            )
        )
    return tuple(scores)


def hypothesis_warnings(hypotheses: Sequence[str]) -> tuple[str, ...]:
    """What makes a score of these lines doubtful, one sentence each, for stderr; nothing for raw detokenised text."""
    if not any(line.strip() for line in hypotheses):
        return (f"all {len(hypotheses)} hypotheses are empty",) if hypotheses else ()
    signs: Counter[str] = Counter()
    unfinished = 0
    for line in hypotheses:
        found = [name for name, pattern in SIGNS_OF_UNFINISHED_TEXT.items() if pattern.search(line)]
        signs.update(found)
        unfinished += bool(found)
    if unfinished <= TOLERATED_SHARE * len(hypotheses):
        return ()
    kinds = ", ".join(f"{name} in {count}" for name, count in signs.most_common())
    return (
        f"{unfinished} of {len(hypotheses)} hypotheses do not look like finished text: {kinds}; "
        "join the pieces, unescape and detokenise before scoring, or the score cannot be compared with others",
    )


def _metric(name: str, config: Evaluation, target_language: str) -> Metric:
    try:
        return METRICS[name](config, target_language)
    except (ImportError, RuntimeError) as error:  # MeCab and its dictionaries are extras of sacreBLEU
        raise UserError(
            f"evaluation.metrics: {name} for target language {target_language} needs a tokeniser that is not installed: "
            f"{' '.join(str(error).split())}"
        ) from None


def _check_counts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    hypotheses_name: str,
    reference_names: Sequence[str],
) -> None:
    """sacreBLEU's metric classes silently score as many lines as the shortest side has, so this has to be refused here."""
    assert not reference_names or len(reference_names) == len(references), "as many names as references"
    names = [f" {name}" for name in reference_names]
    if not names:
        names = [""] if len(references) == 1 else [f" #{number}" for number in range(1, len(references) + 1)]
    given = len(hypotheses)
    wrong = [(name, len(lines)) for name, lines in zip(names, references, strict=True) if len(lines) != given]
    where = f"{hypotheses_name}: " if hypotheses_name else ""
    if not wrong:
        if not given:
            raise UserError(f"{where}hypotheses 0 lines, reference{names[0]} 0 lines: there is nothing to score")
        return
    counts = ", ".join([f"hypotheses {given} lines", *(f"reference{name} {lines} lines" for name, lines in wrong)])
    advice = "line n of the hypotheses must translate line n of the source"
    expected = wrong[0][1]
    if given in NEWSTEST2014_BY_LINES and expected in NEWSTEST2014_BY_LINES:
        advice = (
            f"of newstest2014 there are two sets: {expected} lines is {NEWSTEST2014_BY_LINES[expected]}, "
            f"these hypotheses have as many as {NEWSTEST2014_BY_LINES[given]}: score them against that one"
        )
    raise UserError(f"{where}{counts}: {advice}")
