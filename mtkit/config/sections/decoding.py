"""Options of the search for a translation."""

from typing import Literal, Self

from pydantic import Field, model_validator

from mtkit.config.sections.section import Section


class Decoding(Section):
    """The search for a translation. Defaults are the paper's."""

    engine: Literal["mtkit", "ctranslate2"] = Field(
        "mtkit", description="what searches: mtkit; or ctranslate2 = the runtime of that name (extra: ctranslate2)"
    )
    search: Literal["beam", "sampling"] = Field(
        "beam", description="beam: the best that a beam finds; sampling: n_best independent random translations"
    )
    beam_size: int = Field(4, ge=1, le=1000, description="hypotheses kept a sentence; 1 = greedy search")
    length_penalty: Literal["gnmt", "average"] = Field(
        "gnmt",
        description="score = sum of log-probabilities / penalty; gnmt: ((5 + L) / 6)^alpha (Wu et al. 2016), average: "
        "L^alpha; L counts the end-of-sentence token",
    )
    alpha: float = Field(0.6, ge=0.0, le=10.0, description="strength of the length penalty; 0 = none")
    coverage_penalty: float = Field(
        0.0,
        ge=0.0,
        description="beta of Wu et al. 2016: finished hypotheses lose where they left the source unattended; 0 = none",
    )
    patience: float = Field(
        0.0,
        ge=0.0,
        description="stop once patience * beam_size hypotheses have ended (Kasai et al. 2022; most toolkits: 1); 0 = only "
        "when no live one can win",
    )
    n_best: int = Field(1, ge=1, description="translations printed a line, best first; at most beam_size")
    distinct_texts: bool = Field(False, description="of n_best translations with the same text print only the best")
    diverse_groups: int = Field(1, ge=1, description="groups the beam is divided in, which avoid each other's words")
    diversity: float = Field(
        0.5, ge=0.0, description="log-probability a token loses for each earlier group that just chose it"
    )
    no_repeat_ngram: int = Field(0, ge=0, description="no so many tokens in a row come twice in a translation; 0 = all may")
    temperature: float = Field(1.0, gt=0.0, description="of sampling: log-probabilities are divided by it; below 1 = safer")
    top_k: int = Field(0, ge=0, description="of sampling: draw only from so many most probable tokens; 0 = all")
    top_p: float = Field(
        1.0, gt=0.0, le=1.0, description="of sampling: draw only from the fewest tokens that reach this share together"
    )
    seed: int = Field(
        1, ge=0, description="of sampling: same seed and same line, same translation, whatever stands beside it"
    )
    mbr: int = Field(
        0,
        ge=0,
        description="choose, of so many samples or hypotheses of the beam, the one most like all others in chrF (minimum "
        "Bayes risk); 0 = the best by score",
    )
    ensemble: Literal["log_probability", "probability"] = Field(
        "log_probability", description="what is averaged over several models: geometric or arithmetic mean of probabilities"
    )
    max_length_factor: float = Field(1.0, ge=0.0, description="longest output = factor * source tokens + constant")
    max_length_constant: int = Field(50, ge=1, description="longest output = factor * source tokens + constant, in tokens")
    min_length_factor: float = Field(0.0, ge=0.0, description="shortest output = factor * source tokens + constant")
    min_length_constant: int = Field(0, ge=0, description="shortest output = factor * source tokens + constant, in tokens")
    max_source_tokens: int = Field(
        1024, ge=8, description="a longer line is translated in pieces, split at sentence ends or spaces, with a warning"
    )
    long_lines: Literal["split", "truncate", "error"] = Field(
        "split",
        description="what becomes of lines over max_source_tokens: pieces, only the beginning, or the end of the work",
    )
    split_sentences: bool = Field(
        False,
        description="translate each sentence of a line on its own and keep the spacing between them (extra: sentences)",
    )
    glossary: str = Field(
        "",
        description="file of source term TAB translation [TAB other translation ...]: used where the term occurs; '' = none",
    )
    check_copies: bool = Field(
        False,
        description="warn of lines whose vocabulary.symbols, web or e-mail addresses or numbers did not come through",
    )
    shortlist: int = Field(
        0,
        ge=0,
        le=200,
        description="faster on a CPU: search among so many likely translations of each source piece only, and what is "
        "frequent or copied; lines that must hold something are searched in full; needs vocabulary.shortlist; 0 = off",
    )
    batch_tokens: int = Field(4096, ge=1, description="padded source tokens translated at a time")
    buffer: int = Field(2000, ge=1, description="lines read ahead to sort by length; 1 = answer each line at once")
    precision: Literal["float32", "bfloat16", "int8"] = Field(
        "float32",
        description="arithmetic of the model while decoding; int8: weights and what they are multiplied with in 8 bits",
    )

    compile: bool = Field(
        False,
        description="compile the steps of the decoder (torch.compile, any shapes): a minute at the start, faster on a GPU",
    )

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        faults = self._beam_faults() if self.search == "beam" else self._sampling_faults()
        if self.mbr and self.mbr < max(2, self.n_best):
            faults.append(f"mbr {self.mbr} is too few to choose from: give at least {max(2, self.n_best)}, or 0 for none")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def _beam_faults(self) -> list[str]:
        faults = []
        if self.n_best > self.beam_size:
            faults.append(f"n_best {self.n_best} is more than beam_size {self.beam_size}")
        if self.beam_size % self.diverse_groups:
            faults.append(
                f"beam_size {self.beam_size} cannot be divided in diverse_groups {self.diverse_groups} of one size"
            )
        if self.mbr > self.beam_size:
            faults.append(f"mbr {self.mbr} is more than beam_size {self.beam_size}: raise it, or set search=sampling")
        for name, idle in (("temperature", 1.0), ("top_k", 0), ("top_p", 1.0)):
            if getattr(self, name) != idle:
                faults.append(f"{name} {getattr(self, name)} is for sampling: set search=sampling too")
        return faults

    def _sampling_faults(self) -> list[str]:
        return [
            f"{name} {getattr(self, name)} is for a beam, and search is sampling: leave it at {idle}"
            for name, idle in (("diverse_groups", 1), ("patience", 0.0))
            if getattr(self, name) != idle
        ]
