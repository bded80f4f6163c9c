"""Lexical constraints in the search: phrases that a translation must hold, and phrases that it must not.

Comes in: phrases for each sentence, the tokens so far. Goes out: rules for the search. Knows no model.
Sentences without constraints cost nothing.

What counts is the text: whether a phrase is there is asked of the decoded tokens, however they spell it. Only what is put
into a translation is put there in the vocabulary's own spelling.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mtkit.data.normalisation import WORD_MARK
from mtkit.data.vocabulary import EOS, Vocabulary
from mtkit.decoding.candidates import Integers
from mtkit.decoding.hypothesis_texts import Texts, Tokens
from mtkit.decoding.phrases import Breaks, Demand, Spelling, Wishes, open_ended, pattern, spelling

Keys = set[tuple[int, Tokens]]
"""Hypotheses by sentence and tokens."""


class Forbidden:
    """Phrases that do not come. A hypothesis that ends with one goes on with letters, so that it ends with another word."""

    def __init__(
        self,
        wishes: Sequence[Wishes],
        limits: Sequence[int],
        begins: Sequence[int],
        texts: Texts,
        breaks: Breaks,
        required: "Required | None" = None,
    ) -> None:
        """wishes, limits, begins (tokens of its forced prefix): by sentence.

        Where something is required too, the end of a hypothesis must be free for it.
        """
        self._begins = begins
        self._phrases = [wish.forbidden for wish in wishes]
        self._letters = [[texts.vocabulary.normalise(phrase) for phrase in phrases] for phrases in self._phrases]
        self._patterns = [pattern(phrases, texts.vocabulary.normalise) if phrases else None for phrases in self._phrases]
        tails = required.needs if required else [1] * len(limits)
        self._late = [limit - tail for limit, tail in zip(limits, tails, strict=True)]
        """From this token on, by sentence, no phrase may even stand at the end of a hypothesis."""
        self._spared = required.letters if required else [set[int]()] * len(limits)
        self._texts, self._vocabulary, self._breaks = texts, texts.vocabulary, breaks
        self._endings: dict[int, tuple[Tensor, set[int]]] = {}  # by sentence, made when needed
        self._completers = [self._completers_of(phrases) for phrases in self._phrases]

    def __call__(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        """Forbids whole hypotheses [S, H, V], or all tokens after which a phrase would be there."""
        hypotheses, length = history.shape[1:]
        watched = [
            row
            for row, sentence in enumerate(running.tolist())
            if self._patterns[sentence] and length > self._begins[sentence]
        ]
        keys = [tuple(each) for row in watched for each in history[row, :, 1:].tolist()]
        for place, (key, text) in enumerate(zip(keys, self._texts(keys), strict=True)):
            row, hypothesis = watched[place // hypotheses], place % hypotheses
            sentence = int(running[row])
            target = log_probabilities[row, hypothesis]
            banned = self._banned(sentence, text)
            if banned is not None:
                target.masked_fill_(banned.to(target.device), -torch.inf)
            late = length >= self._late[sentence]
            tokens = self._completers[sentence]
            if late:
                unclear, endings = self._phrase_endings(sentence)
                target.masked_fill_(unclear.to(target.device), -torch.inf)
                tokens = tokens | endings
            if tokens:
                target[self._completing(sentence, key, sorted(tokens), late=late)] = -torch.inf

    def _banned(self, sentence: int, text: str) -> Tensor | None:
        """[V]: what may not follow `text`; None: anything may."""
        found = self._patterns[sentence]
        assert found is not None
        if not any(phrase in text for phrase in self._letters[sentence]):
            return None
        banned = None
        for match in found.finditer(text):
            if match.end() < len(text) or open_ended(match[0]):
                return torch.ones_like(self._breaks.goes_on)
            banned = ~self._breaks.goes_on
        return banned

    def _completing(self, sentence: int, key: Tokens, tokens: list[int], *, late: bool) -> list[int]:
        """Those of `tokens` that bring a phrase that no letters can undo; if `late`, any that would stand at the end."""
        found = self._patterns[sentence]
        assert found is not None
        texts = self._texts.after(key, tokens)
        return [
            token
            for token, text in zip(tokens, texts, strict=True)
            if any(open_ended(match[0]) or (late and match.end() == len(text)) for match in found.finditer(text))
        ]

    def _completers_of(self, phrases: Sequence[str]) -> set[int]:
        """Tokens that may bring the last character of a phrase that is there whatever follows: too late for a way out."""
        lasts = {normalised[-1] for phrase in phrases if open_ended(normalised := self._vocabulary.normalise(phrase))}
        pieces = enumerate(self._vocabulary.pieces) if lasts else ()
        first = self._vocabulary.first_byte
        in_bytes = set() if first is None else {first + last.encode("utf-8", "replace")[-1] for last in lasts}
        return in_bytes | {token for token, piece in pieces if not lasts.isdisjoint(piece)}

    def _phrase_endings(self, sentence: int) -> tuple[Tensor, set[int]]:
        """[V]: tokens of which nobody can tell what they end; and those that may be the last of a phrase."""
        if sentence not in self._endings:
            spared = self._spared[sentence]
            unclear = self._breaks.unclear.clone()
            unclear[list(spared)] = False
            spelt = [
                WORD_MARK + self._vocabulary.normalise(phrase).replace(" ", WORD_MARK) for phrase in self._phrases[sentence]
            ]
            suffixes = {phrase[start:] for phrase in spelt for start in range(len(phrase))}
            last = {token for token, piece in enumerate(self._vocabulary.pieces) if piece in suffixes}
            self._endings[sentence] = unclear, last | spared
        return self._endings[sentence]


@dataclass(frozen=True)
class _Wanted:
    """A demand with what finds it and what spells it."""

    count: int
    phrases: tuple[str, ...]  # normalised
    found: re.Pattern[str]
    spellings: tuple[Spelling, ...]
    shortest: int  # tokens of its shortest spelling
    always_whole: bool  # whether it is there whatever follows it
    letters: frozenset[int]  # tokens of its spellings
    nothing: tuple[int, ...]  # of each spelling no token matched


@dataclass(frozen=True)
class _Standing:
    """How far a hypothesis has come: for each demand, and for each of its spellings."""

    closed: tuple[int, ...]  # times it is there for good
    pending: tuple[bool, ...]  # whether it is there once more, if the next token ends the word
    matched: tuple[tuple[int, ...], ...]  # tokens of each spelling that the hypothesis ends with
    needs: tuple[int, int]  # tokens needed after one that begins nothing: [1] if it ends the word before it, [0] if not
    offered: tuple[int, ...]  # tokens that begin or go on with something that is lacking; none if nothing is
    sought: tuple[str, ...]  # what is lacking
    between: bool  # whether nothing is begun or pending


Standings = dict[tuple[int, Tokens], _Standing]
"""By sentence and hypothesis."""


class Required:
    """What is demanded of each sentence and what its hypotheses still lack.

    `watch` is the first of a search's rules, `insist` a late one. A sentence's limit must leave room for its `needs`.
    """

    def __init__(
        self,
        wishes: Sequence[Wishes],
        limits: Sequence[int],
        begins: Sequence[int],
        texts: Texts,
        breaks: Breaks,
    ) -> None:
        """begins: tokens of each sentence's forced prefix."""
        vocabulary = texts.vocabulary
        self._demands = [[_wanted(demand, wish.forbidden, vocabulary) for demand in wish.required] for wish in wishes]
        self.limits, self._begins = limits, begins
        rooms = [sum(wanted.count * wanted.shortest for wanted in each) for each in self._demands]
        # Two more: for a word that a forbidden phrase makes longer, and the end token.
        self.needs = [begin + room + 2 if room else 1 for begin, room in zip(begins, rooms, strict=True)]
        """Tokens that each sentence has to have room for."""
        self._texts, self._breaks = texts, breaks
        spellings = [[spelt for wanted in each for spelt in wanted.spellings] for each in self._demands]
        self.letters = [{token for spelt in each for token in spelt.tokens} for each in spellings]
        """All tokens that spell something for each sentence."""
        self._ends_word: list[bool] = breaks.ends_word.tolist()
        self._standings: Standings = {}
        self._insisted: Keys = set()  # hypotheses made to go on with what they lack
        self.offers: list[tuple[int, int, int]] = []
        """(row, hypothesis, token) of the latest step: what hypotheses could go on with towards what they lack."""
        self._raw: Tensor | None = None
        self._keys: list[Tokens] = []  # all hypotheses of the latest step from whose sentences anything is demanded

    def steers(self, sentence: int) -> bool:
        """Whether anything is demanded of the sentence."""
        return bool(self._demands[sentence])

    def watch(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        """Looks at every hypothesis and keeps the log-probabilities of what it could go on with."""
        rows = [row for row, sentence in enumerate(running.tolist()) if self._demands[sentence]]
        hypotheses = history.shape[1]
        tokens = [tuple(each) for row in rows for each in history[row, :, 1:].tolist()]
        texts = self._texts(tokens)
        known, self._standings, self.offers = self._standings, {}, []
        for place, (text, key) in enumerate(zip(texts, tokens, strict=True)):
            row, hypothesis = rows[place // hypotheses], place % hypotheses
            sentence = int(running[row])
            if (sentence, key) not in self._standings:
                self._standings[sentence, key] = self._standing(sentence, text, key, known)
            if len(key) >= self._begins[sentence]:
                self.offers += [(row, hypothesis, token) for token in self._standings[sentence, key].offered]
        self._keys = tokens
        self._raw = log_probabilities[_columns(self.offers, log_probabilities)] if self.offers else None

    def insist(self, log_probabilities: Tensor, history: Integers, running: Integers) -> None:
        """No end before all is there, and nothing that leaves too little room for the rest.

        A hypothesis that would rather end goes on with what it lacks.
        """
        rows = [row for row, sentence in enumerate(running.tolist()) if self._demands[sentence]]
        if not rows:
            return
        ends = log_probabilities[..., EOS]
        ending = ((ends == log_probabilities.amax(-1)) & ends.isfinite()).tolist()  # those that would rather end
        if self._raw is not None:
            log_probabilities[_columns(self.offers, log_probabilities)] = self._raw
            too_early = {(row, hypothesis, EOS) for row, hypothesis, _ in self.offers}
            log_probabilities[_columns(sorted(too_early), log_probabilities)] = -torch.inf
        before, self._insisted = self._insisted, set()
        keys = iter(self._keys)
        for row in rows:
            sentence = int(running[row])
            for hypothesis, ends_here in enumerate(ending[row]):
                key = next(keys)
                if len(key) >= self._begins[sentence]:
                    wanted = self._insistence(sentence, key, ends=ends_here, before=before)
                    self._restrict(log_probabilities, (row, hypothesis), sentence, key, wanted)

    def _insistence(self, sentence: int, key: Tokens, *, ends: bool, before: Keys) -> Sequence[int]:
        """The tokens that the hypothesis must choose from, to have what it lacks; empty where it is free."""
        standing = self._standings[sentence, key]
        if not standing.offered or not (ends or (sentence, key[:-1]) in before):
            return ()
        begun = (
            [
                each.tokens[matched]
                for wanted, spelt in zip(self._demands[sentence], standing.matched, strict=True)
                for each, matched in zip(wanted.spellings, spelt, strict=True)
                if 0 < matched < len(each.tokens) and each.tokens[matched] in standing.offered
            ]
            if (sentence, key[:-1]) in before
            else []
        )
        if begun or ends:
            self._insisted.add((sentence, key))
        return begun or (standing.offered if ends else ())

    def _restrict(
        self, log_probabilities: Tensor, place: tuple[int, int], sentence: int, key: Tokens, wanted: Sequence[int]
    ) -> None:
        """Of the hypothesis at `place`: only `wanted` tokens, if there are any, and only what leaves room."""
        standing = self._standings[sentence, key]
        room = self.limits[sentence] - len(key) - 2  # tokens after the next one, before the end token
        broken, whole = standing.needs
        if not wanted and broken <= room:
            return
        row = log_probabilities[place]  # [V]
        fitting = [token for token in standing.offered if self.lacking(sentence, key, token) <= room]
        kept = [token for token in wanted if token in fitting] or fitting
        values = row[kept].clone()
        if wanted or whole > room:
            end = row[EOS].clone()
            row.fill_(-torch.inf)
            if not wanted:
                row[EOS] = end  # -inf, unless nothing is lacking: then it may end
        else:
            row.masked_fill_(~self._breaks.ends_word.to(row.device), -torch.inf)
        row[kept] = values

    def _standing(self, sentence: int, text: str, key: Tokens, known: Standings) -> _Standing:
        """Of the hypothesis `key`, whose text this is; `known`: of all of the step before."""
        demands = self._demands[sentence]
        if not key:
            nothing = [wanted.nothing for wanted in demands]
            return _standing(demands, [0] * len(demands), [False] * len(demands), nothing)
        parent, closes = known[sentence, key[:-1]], self._ends_word[key[-1]]
        # Most are not there or have long been: a look at the letters is ten times as fast as the patterns.
        if parent.between and key[-1] not in self.letters[sentence] and not any(phrase in text for phrase in parent.sought):
            return parent
        closed, pending, matched = [], [], []
        for place, wanted in enumerate(demands):
            ends = []
            if parent.closed[place] < wanted.count and any(phrase in text for phrase in wanted.phrases):
                ends = [match.end() == len(text) for match in wanted.found.finditer(text)]
            seen = len(ends) - (bool(ends) and ends[-1] and not wanted.always_whole)
            # Spaces and bytes at the end do not show in the text: what was whole before them still is.
            closed.append(max(seen, parent.closed[place] + (parent.pending[place] and closes)))
            pending.append(len(ends) > closed[-1])
            if key[-1] in wanted.letters:
                befores = zip(wanted.spellings, parent.matched[place], strict=True)
                matched.append(tuple(each.advance(before, key[-1]) for each, before in befores))
            else:
                matched.append(wanted.nothing)
        return _standing(demands, closed, pending, matched)

    def settled(self, sentence: int, key: Tokens) -> bool:
        """Whether the hypothesis `key`, one of the latest step, has all for good."""
        return not self._standings[sentence, key].needs[0]

    def lacking(self, sentence: int, key: Tokens, token: int) -> int:
        """Tokens that the hypothesis `key`, one of the latest step, needs after `token` until all is there."""
        standing = self._standings[sentence, key]
        closes = self._ends_word[token]
        if token not in self.letters[sentence]:
            return standing.needs[closes]
        with_pending = without = standing.needs[closes]
        begun = []
        for wanted, closed, pending, matched in zip(
            self._demands[sentence], standing.closed, standing.pending, standing.matched, strict=True
        ):
            missing = wanted.count - closed - (pending and closes)
            if missing <= 0 or token not in wanted.letters:
                continue
            after = [each.advance(length, token) for each, length in zip(wanted.spellings, matched, strict=True)]
            if any(length == len(each.tokens) for each, length in zip(wanted.spellings, after, strict=True)):
                missing -= 1
                with_pending -= wanted.shortest
                without -= wanted.shortest if wanted.always_whole else 0
            if missing:
                begun += [
                    (len(each.tokens) - length - wanted.shortest, self._ends_word[each.tokens[length]])
                    for each, length in zip(wanted.spellings, after, strict=True)
                    if 0 < length < len(each.tokens)
                ]
        savings = [with_pending + more if whole else without + more for more, whole in begun]
        return min([with_pending, *savings])


def _standing(
    demands: Sequence[_Wanted], closed: Sequence[int], pending: Sequence[bool], matched: Sequence[tuple[int, ...]]
) -> _Standing:
    """The standing with what follows from it."""
    offered: set[int] = set()
    sought: list[str] = []
    needs = [0, 0]
    for wanted, times, once_more, spelt in zip(demands, closed, pending, matched, strict=True):
        needs[0] += max(0, wanted.count - times) * wanted.shortest
        needs[1] += max(0, wanted.count - times - once_more) * wanted.shortest
        sought += wanted.phrases if times < wanted.count else ()
        if times + once_more < wanted.count:
            for each, length in zip(wanted.spellings, spelt, strict=True):
                offered |= {each.tokens[0], each.tokens[length % len(each.tokens)]}
    between = not any(pending) and not any(map(any, matched))
    return _Standing(
        tuple(closed), tuple(pending), tuple(matched), (needs[0], needs[1]), tuple(sorted(offered)), tuple(sought), between
    )


def _columns(rows: Sequence[tuple[int, ...]], tensor: Tensor) -> tuple[Tensor, ...]:
    """An index into `tensor` for each of the rows, at least one."""
    return tuple(torch.from_numpy(np.array(rows, dtype=np.int64)).to(tensor.device).unbind(1))


def _wanted(demand: Demand, banned: Sequence[str], vocabulary: Vocabulary) -> _Wanted:
    """The demand without those alternatives that would bring a banned phrase."""
    alternatives = demand.alternatives
    if banned:
        bad = pattern(banned, vocabulary.normalise)
        alternatives = tuple(phrase for phrase in alternatives if not bad.search(vocabulary.normalise(phrase)))
    spellings = tuple(spelling(phrase, vocabulary) for phrase in alternatives)
    return _Wanted(
        demand.count,
        tuple(vocabulary.normalise(phrase) for phrase in alternatives),
        pattern(alternatives, vocabulary.normalise),
        spellings,
        min(len(each.tokens) for each in spellings),
        all(each.open_ended for each in spellings),
        frozenset(token for each in spellings for token in each.tokens),
        (0,) * len(spellings),
    )
