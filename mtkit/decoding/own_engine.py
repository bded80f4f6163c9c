"""Our models and our search, put together: requests to hypotheses, with all that the options and the requests ask for.

Comes in: a batch of requests. Goes out: their hypotheses. Knows the target's vocabulary, for phrases; no lines, no order.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.data.shortlist import Candidates
from mtkit.data.vocabularies import Vocabularies
from mtkit.decoding.candidates import Beams, Chooser
from mtkit.decoding.constraints import Forbidden, Required
from mtkit.decoding.hypothesis_texts import Texts
from mtkit.decoding.mbr import expected_likeness
from mtkit.decoding.phrases import Breaks
from mtkit.decoding.requests import Request
from mtkit.decoding.rules import Rule, rules_for
from mtkit.decoding.sampling import Samples
from mtkit.decoding.search import Hypothesis, beam_search
from mtkit.decoding.steering import SteeredBeams
from mtkit.decoding.stepping import Stepper
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError


class OwnEngine:
    """One model or an ensemble, on `device`, that numbers text as `vocabularies` do."""

    def __init__(
        self, models: Sequence[Transformer], vocabularies: Vocabularies, config: schema.Decoding, device: torch.device
    ) -> None:
        """UserError if a shortlist is asked for and the vocabularies have none."""
        self.stepper = Stepper(models, device, config.precision, config.ensemble, compile=config.compile)
        self._vocabulary, self._config, self._device = vocabularies.target, config, device
        self._longest = min((model.longest for model in models if model.longest is not None), default=None)
        self._candidates: Candidates | None = None
        if config.shortlist:
            known = vocabularies.shortlist()
            self._candidates = Candidates(known, vocabularies.source, vocabularies.target, config.shortlist)
        self._breaks: Breaks | None = None  # made when needed
        self.rows = _count(config) if config.search == "sampling" else config.beam_size
        """Hypotheses of a sentence that are continued at a time."""
        self.side_by_side = self.stepper.packed and not config.coverage_penalty  # whoever looks at attention is alone

    def search(self, requests: Sequence[Request]) -> list[list[Hypothesis]]:
        """The hypotheses of each request, best first: `n_best`, and more where texts must be distinct."""
        wishes = [request.wishes for request in requests]
        prefixes = self._vocabulary.encode([wish.prefix for wish in wishes])
        begins = [len(prefix) for prefix in prefixes]
        limits = [self._room(request.longest, begin + 1) for request, begin in zip(requests, begins, strict=True)]
        required, texts = None, Texts(self._vocabulary)
        if any(wish.required for wish in wishes):
            required = Required(wishes, limits, begins, texts, self._spelling_breaks())
            limits = [self._room(*pair) for pair in zip(limits, required.needs, strict=True)]
            required.limits = limits
        shortest = [min(request.shortest, limit) for request, limit in zip(requests, limits, strict=True)]
        rules: list[Rule] = rules_for(self._config, shortest, prefixes)
        if any(wish.forbidden for wish in wishes):
            rules.append(Forbidden(wishes, limits, begins, texts, self._spelling_breaks(), required))
        if required:
            # What is forbidden stays so, whatever is insisted on.
            again = [rule for rule in rules if isinstance(rule, Forbidden)]
            rules = [required.watch, *rules, required.insist, *again]
        options = self._config.model_copy(update={"n_best": _count(self._config)})
        with self.stepper.running(watched=self._config.coverage_penalty > 0.0):
            state = self.stepper.begin([request.source for request in requests], self._allowed(requests))
            chooser = self._chooser(requests, required)
            simple = type(chooser) is Beams and chooser.groups == 1 and not rules and not self._config.coverage_penalty
            best = self.stepper.best if simple and self.stepper.finds_best else None
            found = beam_search(self.stepper.step, state, limits, options, self._device, rules, chooser, best)
        return [self._by_risk(hypotheses) for hypotheses in found] if self._config.mbr else found

    def alignments(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """As `Stepper.alignments`."""
        return self.stepper.alignments(sources, targets)

    def _allowed(self, requests: Sequence[Request]) -> list[NDArray[np.int64]] | None:
        """The tokens that each translation may have; None = all."""
        if self._candidates is None:
            return None
        every = np.arange(len(self._vocabulary))
        return [every if request.everything else self._candidates.of(request.source) for request in requests]

    def _room(self, longest: int, need: int) -> int:
        """The limit that leaves room for `need` tokens. UserError if the model has not so many positions."""
        if self._longest is not None and need > self._longest:
            raise UserError(
                f"what a translation must hold takes {need} tokens, the model has learned positions for {self._longest}: "
                "ask for less"
            )
        return max(longest, need)

    def _spelling_breaks(self) -> Breaks:
        if self._breaks is None:
            self._breaks = Breaks(self._vocabulary)
        return self._breaks

    def _chooser(self, requests: Sequence[Request], required: Required | None) -> Chooser:
        if self._config.search == "sampling":
            return Samples(self._config, [(self._config.seed, *request.source) for request in requests], self.rows)
        if required is None or self._config.diverse_groups > 1:  # in small groups what `Required.insist` does is enough
            return Beams(self._config)
        return SteeredBeams(self._config, required)

    def _by_risk(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """The same, those first that are most like all of them."""
        likeness = expected_likeness(self._vocabulary.decode([one.tokens for one in hypotheses]))
        order = sorted(range(len(hypotheses)), key=lambda place: -likeness[place])
        return [hypotheses[place] for place in order]


def _count(config: schema.Decoding) -> int:
    """Hypotheses that the search must find of each sentence."""
    if config.mbr:
        return config.mbr
    return config.beam_size if config.distinct_texts and config.search == "beam" else config.n_best
