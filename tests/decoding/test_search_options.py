"""Options of the search against enumeration on a toy, and what they promise each other."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabulary import EOS
from mtkit.decoding.candidates import top
from mtkit.decoding.rules import Rule, rules_for
from mtkit.decoding.sampling import Samples, tempered
from mtkit.decoding.search import Hypothesis
from tests.decoding.toy import FIRST, A, B, Tables, enumerated

C = B + 1


def rules(count: int, shortest: int = 0, prefix: tuple[int, ...] = (), **options: Any) -> list[Rule]:
    return rules_for(schema.Decoding.model_validate(options), [shortest] * count, [prefix] * count)


def repeats(tokens: tuple[int, ...], size: int) -> bool:
    runs = [tokens[place : place + size] for place in range(len(tokens) - size + 1)]
    return len(set(runs)) < len(runs)


CASES: dict[str, tuple[dict[str, Any], Callable[[tuple[int, ...]], bool]]] = {
    "shortest": ({"shortest": 4}, lambda tokens: len(tokens) >= 3),
    "no repeated word": ({"no_repeat_ngram": 1}, lambda tokens: not repeats(tokens, 1)),
    "no repeated pair": ({"no_repeat_ngram": 2}, lambda tokens: not repeats(tokens, 2)),
    "prefix": ({"prefix": (B, A)}, lambda tokens: tokens[:2] == (B, A)),
    "prefix that repeats": (
        {"prefix": (A, A, A), "no_repeat_ngram": 1},
        lambda tokens: tokens[:3] == (A, A, A) and A not in tokens[3:] and not repeats(tokens[3:], 1),
    ),
    "all": (
        {"shortest": 3, "no_repeat_ngram": 2, "prefix": (C,)},
        lambda t: t[:1] == (C,) and len(t) > 1 and not repeats(t, 2),
    ),
}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("case", CASES)
def test_a_beam_as_wide_as_the_tree_finds_the_best_that_the_rules_allow(case: str, seed: int) -> None:
    settings, wanted = CASES[case]
    tables, limits = Tables(seed, sharpness=1 + seed % 3), [5, 4]
    options: dict[str, Any] = {
        "n_best": (1, 5)[seed % 2],
        "alpha": (0.6, 1.5)[seed % 2],
        "coverage_penalty": (0.0, 0.3)[seed // 2 % 2],
    }
    found = tables.search(limits, rules(2, **settings), beam_size=500, **options)
    for sentence, limit in enumerate(limits):
        expected = enumerated(tables, sentence, limit, wanted, **options)[: options["n_best"]]
        ended = [one for one in found[sentence] if not one.truncated]
        assert [one.tokens for one in ended] == [tokens for _, tokens in expected]
        assert [one.score for one in ended] == pytest.approx([score for score, _ in expected], abs=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_a_wider_beam_is_never_worse_once_it_holds_the_tree(seed: int) -> None:
    """And what narrower ones find is never better than the best there is."""
    best = enumerated(Tables(seed), 0, 5)[0][0]
    found = [Tables(seed).search([5], beam_size=beam)[0][0] for beam in (1, 2, 4, 81, 243, 900)]
    scores = [one.score for one in found if not one.truncated]
    assert all(score <= best + 1e-5 for score in scores)
    assert scores[-3:] == pytest.approx([best] * 3, abs=1e-5)


def test_places_of_ended_hypotheses_are_taken_by_the_next_best() -> None:
    tables = Tables(words=3)
    tables.give((), {EOS: 0.5, A: 0.3, B: 0.15, C: 0.05})
    for first in (A, B, C):
        tables.give((first,), {EOS: 1.0})
    tables.search([3], beam_size=2, n_best=2, alpha=0.0)
    assert tables.rows == [1, 2], "the end and two others"


def test_an_end_beyond_the_beam_is_none() -> None:
    tables = Tables(words=3)
    tables.give((), {A: 0.4, B: 0.3, EOS: 0.2, C: 0.1})
    for first in (A, B):
        tables.give((first,), {first: 1.0})
        tables.give((first, first), {EOS: 1.0})
    (found,) = tables.search([5], beam_size=2, n_best=2, alpha=0.0)
    assert [one.tokens for one in found] == [(A, A), (B, B)]


def test_patience_stops_after_so_many_ends() -> None:
    def steps(patience: float) -> int:
        tables = Tables(words=2)
        for place in range(20):
            tables.give((A,) * place, {A: 0.9, EOS: 0.1})
        tables.search([20], beam_size=2, alpha=1.0, length_penalty="average", patience=patience)
        return len(tables.rows)

    assert [steps(patience) for patience in (0.5, 1.0, 2.0)] == [1, 2, 4]
    assert steps(0.0) > 4


def test_diverse_groups_avoid_the_words_of_earlier_groups() -> None:
    """By hand: the second group would choose A too, were it not lowered by more than log(0.6 / 0.3)."""
    tables = Tables(words=3)
    tables.give((), {A: 0.6, B: 0.3, C: 0.1})
    for first in (A, B, C):
        tables.give((first,), {EOS: 1.0})

    def found(diversity: float, groups: int = 2) -> list[tuple[int, ...]]:
        options: dict[str, Any] = {"beam_size": groups, "diverse_groups": groups, "diversity": diversity, "n_best": groups}
        return [one.tokens for one in tables.search([3], **options)[0]]

    assert found(0.69) == [(A,)], "both groups found it: one hypothesis"
    assert found(0.7) == [(A,), (B,)]
    assert found(0.7, groups=3) == [(A,), (B,)], "A is lowered to 0.6 / 4.05, which is more than C"
    assert found(2.0, groups=3) == [(A,), (B,), (C,)]


@pytest.mark.parametrize("seed", range(10))
def test_the_first_group_is_a_search_of_its_own_and_scores_are_not_lowered(seed: int) -> None:
    limits = [4, 9, 6]
    alone = Tables(seed, words=5).search(limits, beam_size=2)
    tables = Tables(seed, words=5)
    options: dict[str, Any] = {"beam_size": 6, "diverse_groups": 3, "n_best": 6}
    for sentence, hypotheses in enumerate(tables.search(limits, **options)):
        assert alone[sentence][0] in hypotheses
        assert len({one.tokens for one in hypotheses}) == len(hypotheses)
        for one in hypotheses:
            path = one.tokens if one.truncated else (*one.tokens, EOS)
            assert one.log_probability == pytest.approx(tables.log_probability(sentence, path), abs=1e-5)
        for n_best in (1, 3):
            again = Tables(seed, words=5).search(limits, **options | {"n_best": n_best})
            assert again[sentence] == hypotheses[:n_best]
    together = tables.search(limits, **options)
    for sentence, limit in enumerate(limits):
        assert Tables(seed, words=5).search([limit], sentences=[sentence], **options) == [together[sentence]]


def sampled(
    tables: Tables, limits: list[int], count: int, sentences: list[int] | None = None, **options: Any
) -> list[list[Hypothesis]]:
    decoding = schema.Decoding.model_validate({"search": "sampling"} | options)
    seeds = [[7, number] for number in (sentences or range(len(limits)))]
    return tables.search(limits, (), Samples(decoding, seeds, count), sentences, search="sampling", **options)


def test_samples_are_as_frequent_as_probable() -> None:
    tables = Tables(seed=5, words=2)
    (found,) = sampled(tables, [3], 4000)
    counts = Counter((*one.tokens, EOS) if not one.truncated else one.tokens for one in found)
    for path, count in counts.items():
        share = math.exp(without_controls(tables, path))
        assert count / 4000 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 4000) + 1e-9)
    assert sum(math.exp(without_controls(tables, path)) for path in counts) > 0.98


def without_controls(tables: Tables, path: tuple[int, ...]) -> float:
    """The path's log-probability where padding, begin and unknown are impossible."""
    allowed = [EOS, *range(FIRST, FIRST + tables.words)]
    rows = [tables.row(0, path[:place])[allowed].logsumexp(0).item() for place in range(len(path))]
    return tables.log_probability(0, path) - sum(rows)


def test_a_sample_depends_on_its_own_seed_alone() -> None:
    limits = [4, 9, 6, 9]
    together = sampled(Tables(3, words=5), limits, 5)
    assert len({one.tokens for one in together[1]}) > 1
    for sentence, limit in enumerate(limits):
        assert sampled(Tables(3, words=5), [limit], 5, [sentence]) == [together[sentence]]
        assert sampled(Tables(3, words=5), [limit], 2, [sentence])[0] == together[sentence][:2]
    for hypotheses in together:
        for one in hypotheses:
            path = one.tokens if one.truncated else (*one.tokens, EOS)
            tables, sentence = Tables(3, words=5), together.index(hypotheses)
            assert one.log_probability == pytest.approx(tables.log_probability(sentence, path), abs=1e-5)


def test_a_cold_sample_is_the_argmax() -> None:
    greedy = Tables(4, words=5).search([9, 5], beam_size=1)
    for options in ({"temperature": 1e-4}, {"top_k": 1}, {"top_p": 1e-9}):
        assert sampled(Tables(4, words=5), [9, 5], 1, **options) == greedy


def test_what_is_drawn_from() -> None:
    probabilities = torch.tensor([0.1, 0.4, 0.0, 0.3, 0.2])

    def shares(**options: Any) -> list[float]:
        decoding = schema.Decoding.model_validate({"search": "sampling"} | options)
        found: list[float] = tempered(probabilities.log(), decoding).tolist()
        return found

    assert shares() == pytest.approx([0.1, 0.4, 0.0, 0.3, 0.2])
    assert shares(top_k=2) == pytest.approx([0.0, 4 / 7, 0.0, 3 / 7, 0.0])
    assert shares(top_k=99) == pytest.approx([0.1, 0.4, 0.0, 0.3, 0.2])
    assert shares(top_p=0.7001) == pytest.approx([0.0, 4 / 9, 0.0, 3 / 9, 2 / 9])
    assert shares(top_p=0.69) == pytest.approx([0.0, 4 / 7, 0.0, 3 / 7, 0.0])
    squares = np.array([0.1, 0.4, 0.0, 0.3, 0.2]) ** 2
    assert shares(temperature=0.5) == pytest.approx((squares / squares.sum()).tolist())


def test_rules_hold_for_samples() -> None:
    tables = Tables(2, words=4)
    decoding = schema.Decoding(search="sampling")
    (found,) = tables.search(
        [7], rules(1, shortest=4, prefix=(B,), no_repeat_ngram=2), Samples(decoding, [[1]], 50), search="sampling"
    )
    for one in found:
        assert one.tokens[0] == B
        assert not repeats(one.tokens, 2)
        assert len(one.tokens) >= 3


@pytest.mark.parametrize("seed", range(5))
def test_top_is_a_stable_sort(seed: int) -> None:
    totals = torch.from_numpy(np.random.default_rng(seed).integers(-3, 3, size=(4, 50)).astype(np.float32))
    totals[totals == -3] = -torch.inf
    for count in (1, 7, 49, 50):
        values, places = top(totals, count)
        for row, value, place in zip(totals.tolist(), values.tolist(), places.tolist(), strict=True):
            expected = sorted(range(50), key=lambda at: (-row[at], at))[:count]
            finite = [at for at in expected if math.isfinite(row[at])]
            assert place[: len(finite)] == finite
            assert value == [row[at] for at in place]
