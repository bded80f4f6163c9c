"""The search law (7) and T7, T9, T10: against enumeration, the argmax loop and numbers computed by hand."""

import math
from collections import Counter
from typing import Any

import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK
from mtkit.decoding.length_penalties import LENGTH_PENALTIES
from mtkit.decoding.search import beam_search
from tests.decoding.toy import FIRST, A, B, Prefixes, Tables, enumerated


@pytest.mark.parametrize("seed", range(200))
def test_a_beam_as_wide_as_the_tree_finds_what_enumeration_finds(seed: int) -> None:
    """Four symbols, three words and the end, in two sentences of different limits."""
    tables = Tables(seed, sharpness=1 + seed % 3)
    penalty, alpha, n_best = ("gnmt", "average")[seed % 2], (0.0, 0.6, 1.0, 2.0)[seed // 2 % 4], (1, 4, 200)[seed % 3]
    limits = [5, 1 + seed % 5]
    scoring: dict[str, Any] = {"length_penalty": penalty, "alpha": alpha, "coverage_penalty": (0.0, 0.2, 1.0)[seed // 4 % 3]}
    found = tables.search(limits, beam_size=1000, n_best=n_best, **scoring)
    for sentence, limit in enumerate(limits):
        expected = enumerated(tables, sentence, limit, **scoring)[:n_best]
        ended = [hypothesis for hypothesis in found[sentence] if not hypothesis.truncated]
        assert [hypothesis.tokens for hypothesis in ended] == [tokens for _, tokens in expected]
        assert [hypothesis.score for hypothesis in ended] == pytest.approx([score for score, _ in expected], abs=1e-5)
        assert found[sentence][: len(ended)] == ended


@pytest.mark.parametrize("seed", range(50))
def test_beam_1_is_the_argmax_loop(seed: int) -> None:
    tables = Tables(seed, words=6)
    limits = [1 + (seed + place) % 12 for place in range(7)]
    found = tables.search(limits, beam_size=1, alpha=(0.0, 0.6, 2.0)[seed % 3])
    for sentence, limit in enumerate(limits):
        tokens: tuple[int, ...] = ()
        while len(tokens) < limit and tokens[-1:] != (EOS,):
            row = tables.row(sentence, tokens).clone()
            row[[PAD, BOS, UNK]] = -torch.inf
            tokens += (int(row.argmax()),)
        (hypothesis,) = found[sentence]
        assert hypothesis.truncated == (tokens[-1] != EOS)
        assert hypothesis.tokens == (tokens if hypothesis.truncated else tokens[:-1])
        assert hypothesis.log_probability == pytest.approx(tables.log_probability(sentence, tokens), abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_a_sentence_is_searched_as_if_it_were_alone(seed: int) -> None:
    limits = [3, 9, 1, 30, 6]
    options: dict[str, Any] = {"beam_size": 3, "n_best": 2}
    together = Tables(seed, words=5).search(limits, **options)
    for sentence, limit in enumerate(limits):
        assert Tables(seed, words=5).search([limit], sentences=[sentence], **options) == [together[sentence]]


@pytest.mark.parametrize("seed", range(20))
def test_hypotheses_are_distinct_sorted_and_ended_first_and_the_best_does_not_depend_on_n_best(seed: int) -> None:
    limits = [2, 5, 20, 12]
    best = Tables(seed, words=4).search(limits, beam_size=6, n_best=1)
    for n_best in (2, 6):
        tables = Tables(seed, words=4)
        for sentence, hypotheses in enumerate(tables.search(limits, beam_size=6, n_best=n_best)):
            assert hypotheses[0] == best[sentence][0]
            assert len({(one.tokens, one.truncated) for one in hypotheses}) == len(hypotheses) == n_best
            assert hypotheses == sorted(hypotheses, key=lambda one: (one.truncated, -one.score))
            for one in hypotheses:
                path = one.tokens if one.truncated else (*one.tokens, EOS)
                assert one.length == len(path) <= limits[sentence]
                assert one.log_probability == pytest.approx(tables.log_probability(sentence, path), abs=1e-5)
                assert not {PAD, BOS, EOS, UNK} & set(one.tokens)


def test_the_penalties_are_the_formulas() -> None:
    gnmt, average = LENGTH_PENALTIES["gnmt"], LENGTH_PENALTIES["average"]
    assert (gnmt(4, 1.0), gnmt(6, 1.0), average(4, 1.0), average(6, 1.0)) == (1.5, 11 / 6, 4.0, 6.0)
    assert gnmt(7, 0.6) == pytest.approx(2**0.6)
    assert average(9, 0.5) == 3.0
    assert all(penalty(length, 0.0) == 1.0 for penalty in (gnmt, average) for length in (1, 100))


@pytest.mark.parametrize(
    ("penalty", "alpha", "winner", "score"),
    [
        ("gnmt", 0.0, (A, A, A), -4.0),
        ("average", 0.0, (A, A, A), -4.0),
        ("average", 1.0, (B, B, B, B, B), -5 / 6),
        ("gnmt", 1.0, (A, A, A), -4 / 1.5),
    ],
)
def test_two_hypotheses_of_known_sums(penalty: str, alpha: float, winner: tuple[int, ...], score: float) -> None:
    """-4 in 4 tokens against -5 in 6, end tokens counted: each formula has its own winner."""
    tables = Tables(words=2)
    tables.give((), {A: math.exp(-4), B: math.exp(-5)})
    for token, length in ((A, 3), (B, 5)):
        for place in range(1, length):
            tables.give((token,) * place, {token: 1.0})
        tables.give((token,) * length, {EOS: 1.0})
    ((best,),) = tables.search([10], beam_size=2, length_penalty=penalty, alpha=alpha)
    assert best.tokens == winner
    assert best.score == pytest.approx(score, abs=1e-6)


def test_it_goes_on_while_a_live_hypothesis_can_win() -> None:
    """A short hypothesis ends early; a longer one overtakes it only with its last token."""
    tables = Tables(words=2)
    tables.give((), {EOS: 0.5, A: 0.5})
    for place in range(1, 9):
        tables.give((A,) * place, {A: 1.0})
    tables.give((A,) * 9, {EOS: 0.999, A: 0.001})
    ((best,),) = tables.search([10], beam_size=2, length_penalty="average", alpha=1.0)
    assert best.tokens == (A,) * 9
    early = Tables(words=2)
    early.known = tables.known
    ((best,),) = early.search([10], beam_size=2, alpha=0.0)
    assert best.tokens == ()
    assert len(early.rows) == 1, "nothing that costs as much already can win without a length penalty"


def test_ties_are_broken_by_the_lowest_index() -> None:
    words = 2000
    tables = Tables(words=words)
    flat = torch.full((FIRST + words,), -math.log(words + 1))
    for first in range(FIRST, FIRST + words):
        tables.known[0, (first,)] = flat
    tables.known[0, ()] = flat
    (found,) = tables.search([2], beam_size=5, n_best=5, alpha=0.0)
    assert [one.tokens for one in found] == [(), (4,), (4, 4), (4, 5), (4, 6)]


def test_truncated_ones_are_used_only_where_too_few_ended() -> None:
    tables = Tables(words=2)
    tables.give((), {A: 0.9, B: 0.1})
    tables.give((A,), {A: 1.0})
    tables.give((B,), {EOS: 1.0})
    (best,) = tables.search([2], beam_size=2, n_best=1)[0]
    assert (best.tokens, best.truncated, best.length) == ((B,), False, 2)
    first, second = tables.search([2], beam_size=2, n_best=2)[0]
    assert first == best
    assert (second.tokens, second.truncated, second.length) == ((A, A), True, 2)
    assert second.score > first.score, "it would win if it had ended"


def test_finished_sentences_leave_the_batch_and_greedy_search_moves_nothing_else() -> None:
    tables = Tables(words=2)
    for sentence, length in enumerate((1, 4, 2)):
        for place in range(length):
            tables.give((A,) * place, {A: 1.0}, sentence)
        tables.give((A,) * length, {EOS: 1.0}, sentence)
    state = Prefixes(torch.arange(3))
    found = beam_search(tables.step, state, [9, 9, 9], schema.Decoding(beam_size=1), torch.device("cpu"))
    assert [len(one.tokens) for (one,) in found] == [1, 4, 2]
    assert tables.rows == [3, 3, 2, 1, 1]
    assert state.moves == 2, "two times a sentence left; rows never moved besides"


def test_the_first_step_has_one_row_a_sentence_and_no_row_is_kept_for_what_does_not_exist() -> None:
    tables = Tables(seed=1, words=3)
    tables.search([4, 4], beam_size=100, n_best=100)
    assert tables.rows == [2, 2 * 3, 2 * 9, 2 * 27]


def test_random_tables_give_many_kinds_of_results() -> None:
    """Or the properties above would hold of nothing much."""
    kinds: Counter[tuple[int, bool]] = Counter()
    for seed in range(20):
        for (best,) in Tables(seed, words=4).search([2, 5, 20, 12], beam_size=6):
            kinds[len(best.tokens), best.truncated] += 1
    assert len(kinds) > 4


def test_no_sentences_no_answers() -> None:
    assert Tables().search([]) == []
