"""Options of scoring translations."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from mtkit.config.sections.section import Section, as_tuple


class Evaluation(Section):
    """Scoring translations."""

    test_set: str = Field(
        "", description="test set that `mtkit evaluate` scores: a name such as newstest2014; '' = data.test as prepared"
    )
    metrics: Annotated[
        tuple[Literal["bleu", "chrf", "chrf++", "ter", "tokenised-bleu", "compound-split-bleu"], ...],
        BeforeValidator(as_tuple),
    ] = Field(
        ("bleu", "chrf"),
        min_length=1,
        description="scores to print, each with its signature; the last two are the paper's kind (Moses tokens; compounds "
        "split at hyphens), compare with no sacreBLEU score, go beside bleu and need the extra sacremoses",
    )
    lowercase: bool = Field(False, description="compare without regard to case; the signature says so")
    resamples: int = Field(
        1000,
        ge=0,
        description="test sets drawn from the test set, for intervals and the paired bootstrap of several systems; 0 = none",
    )
    trials: int = Field(
        10_000, ge=0, description="exchanges for the approximate randomisation test of several systems; 0 = none"
    )
    seed: int = Field(12345, ge=1, description="of resamples and trials; this one is sacreBLEU's")
    significance_level: float = Field(
        0.05, gt=0.0, lt=1.0, description="systems share a rank unless the p-values of their difference are below this"
    )

    @model_validator(mode="after")
    def _beside_bleu(self) -> Self:
        repeated = sorted({name for name in self.metrics if self.metrics.count(name) > 1})
        if repeated:
            raise ValueError(f"metrics names {', '.join(repeated)} more than once")
        incomparable = [name for name in self.metrics if name in ("tokenised-bleu", "compound-split-bleu")]
        if incomparable and "bleu" not in self.metrics:
            raise ValueError(f"metrics {', '.join(incomparable)} compares with no other's score: give bleu beside it")
        return self
