"""The cache law (5), T8 and half of the search law (7): steps, full passes and the scores of a search agree."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.data.vocabulary import Vocabulary
from mtkit.decoding.linear_maps import MAPS, lacking
from mtkit.decoding.search import Hypothesis, beam_search
from mtkit.decoding.stepping import NEVER, DecodingState, Stepper
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
Models = Callable[..., Transformer]
Lines = Callable[..., list[str]]


class Uncached:
    """The same step without a cache: every prefix goes through the whole decoder again, alone."""

    def __init__(self, model: Transformer, sources: list[list[int]]) -> None:
        self.stepper, self.sources = Stepper([model], CPU), sources

    def start(self) -> "Prefixes":
        return Prefixes(list(range(len(self.sources))), [[] for _ in self.sources])

    def step(self, newest: Tensor, state: "Prefixes") -> Tensor:
        beam = len(newest) // len(state.sentences)
        state.prefixes = [[*prefix, int(token)] for prefix, token in zip(state.prefixes, newest[:, 0], strict=True)]
        rows = []
        for row, prefix in enumerate(state.prefixes):
            begun = self.stepper.begin([self.sources[state.sentences[row // beam]]])
            rows.append(self.stepper.step(torch.tensor([prefix]), begun))
        return torch.cat(rows)


class Prefixes:
    def __init__(self, sentences: list[int], prefixes: list[list[int]]) -> None:
        self.sentences, self.prefixes = sentences, prefixes

    def select(self, rows: Tensor | None, sentences: Tensor | None) -> None:
        if rows is not None:
            self.prefixes = [self.prefixes[row] for row in rows.tolist()]
        if sentences is not None:
            self.sentences = [self.sentences[sentence] for sentence in sentences.tolist()]


def cached(models: list[Transformer], sources: list[list[int]], options: schema.Decoding) -> list[list[Hypothesis]]:
    stepper = Stepper(models, CPU, options.precision)
    with stepper.running():
        limits = [len(source) + 6 for source in sources]
        return beam_search(stepper.step, stepper.begin(sources), limits, options, CPU)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 7])
def test_with_and_without_cache(beam: int, count: int, vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    sources = vocabulary.encode(lines(count, longest=4))
    options = schema.Decoding(beam_size=beam, n_best=beam)
    for seed in range(2):
        model = random_model(seed)
        slow = Uncached(model, sources)
        with slow.stepper.running():
            limits = [len(source) + 6 for source in sources]
            expected = beam_search(slow.step, slow.start(), limits, options, CPU)
        found = cached([model], sources, options)
        assert [[one.tokens for one in best] for best in found] == [[one.tokens for one in best] for best in expected]


def path_scores(found: list[list[Hypothesis]]) -> list[tuple[int, Hypothesis]]:
    return [(sentence, one) for sentence, best in enumerate(found) for one in best if not one.truncated]


@pytest.mark.parametrize("models", [1, 3])
def test_the_score_of_a_search_is_the_score_of_forced_decoding(
    models: int, vocabulary: Vocabulary, random_model: Models, lines: Lines
) -> None:
    sources = vocabulary.encode(lines(12))
    ensemble = [random_model(seed) for seed in range(models)]
    ended = path_scores(cached(ensemble, sources, schema.Decoding(beam_size=4, n_best=4)))
    assert len(ended) > 10
    assert len({one.length for _, one in ended}) > 3
    stepper = Stepper(ensemble, CPU)
    forced = stepper.forced_scores([sources[sentence] for sentence, _ in ended], [one.tokens for _, one in ended])
    assert forced == pytest.approx([one.log_probability for _, one in ended], abs=1e-4)
    alone = [stepper.forced_scores([sources[sentence]], [one.tokens])[0] for sentence, one in ended[:5]]
    assert alone == pytest.approx(forced[:5], abs=1e-4)


def test_steps_are_the_full_forward_pass(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    model, sources = random_model(1), vocabulary.encode(lines(5))
    tokens = torch.randint(4, len(vocabulary), (5, 9), generator=torch.Generator().manual_seed(0))
    stepper = Stepper([model], CPU)
    with stepper.running():
        state = stepper.begin(sources)
        for place in range(tokens.shape[1]):
            by_step = stepper.step(tokens[:, place : place + 1], state)
            at_once = stepper.step(tokens[:, : place + 1], stepper.begin(sources))
            torch.testing.assert_close(by_step, at_once, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(by_step.exp().sum(dim=1), torch.ones(5))


def test_select_moves_everything_that_belongs_to_a_hypothesis(
    vocabulary: Vocabulary, random_model: Models, lines: Lines
) -> None:
    """Sentences 2 and 0 of three go on, with hypotheses in another order and one of them twice."""
    stepper, sources = Stepper([random_model(2), random_model(3)], CPU), vocabulary.encode(lines(3))
    first = torch.tensor([[10, 11], [20, 21], [30, 31]]).reshape(6, 1)

    def advanced(chosen: list[list[int]], tokens: Tensor, beam: int) -> DecodingState:
        state = stepper.begin(chosen)
        stepper.step(torch.ones(len(chosen), 1, dtype=torch.int64), state)
        state.select(torch.arange(len(chosen)).repeat_interleave(beam), None)
        stepper.step(tokens, state)
        return state

    with stepper.running():
        moved = advanced(sources, first, 2)
        moved.select(torch.tensor([5, 5, 0, 1]), torch.tensor([2, 0]))
        expected = advanced([sources[2], sources[0]], torch.tensor([[31], [31], [10], [11]]), 2)
        newest = torch.tensor([[40], [41], [42], [43]])
        torch.testing.assert_close(stepper.step(newest, moved), stepper.step(newest, expected), atol=1e-4, rtol=1e-4)


def test_an_ensemble_is_the_normalised_geometric_mean(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    models, sources, begin = (
        [random_model(0), random_model(1)],
        vocabulary.encode(lines(4)),
        torch.ones(4, 1, dtype=torch.int64),
    )

    def distribution(members: list[Transformer]) -> Tensor:
        stepper = Stepper(members, CPU)
        with stepper.running():
            return stepper.step(begin, stepper.begin(sources)).exp()

    one, two, both = distribution(models[:1]), distribution(models[1:]), distribution(models)
    product = (one * two).sqrt()
    torch.testing.assert_close(both, product / product.sum(dim=1, keepdim=True))
    torch.testing.assert_close(distribution([models[0], models[0]]), one)


def test_models_keep_their_mode_and_dropout_is_off(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    model, sources = random_model(0, dropout=0.5), vocabulary.encode(lines(4))
    expected = cached([model], sources, schema.Decoding())
    model.train()
    state: Any = torch.get_rng_state()
    assert cached([model], sources, schema.Decoding()) == expected
    assert model.training
    assert model.encoder[0].training
    assert torch.equal(torch.get_rng_state(), state), "training must not notice that it was looked at"
    assert torch.is_grad_enabled()


def test_bfloat16_is_close_and_scores_are_float32(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    model, sources = random_model(0), vocabulary.encode(lines(4))
    begin = torch.ones(4, 1, dtype=torch.int64)
    results = []
    for precision in ("float32", "bfloat16"):
        stepper = Stepper([model], CPU, precision)
        with stepper.running():
            results.append(stepper.step(begin, stepper.begin(sources)))
    assert results[1].dtype == torch.float32
    assert not torch.equal(results[0], results[1])
    assert (results[0].exp() - results[1].exp()).abs().max() < 0.3
    for best in cached([model], sources, schema.Decoding(precision="bfloat16")):
        assert best[0].log_probability < 0


@pytest.mark.skipif(lacking("float32") is not None, reason="a torch without oneDNN")
def test_the_best_of_a_step_are_those_of_the_whole_step(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    stepper, sources = Stepper([random_model(4)], CPU), vocabulary.encode(lines(6))
    assert stepper.finds_best
    newest = torch.ones(6, 1, dtype=torch.int64)
    with stepper.running():
        whole = stepper.step(newest, stepper.begin(sources))
        values, tokens = stepper.best(newest, stepper.begin(sources), 7)
    whole[:, list(NEVER)] = -torch.inf
    torch.testing.assert_close(values, whole.topk(7).values)
    assert torch.equal(tokens, whole.topk(7).indices)
    assert not Stepper([random_model(4)] * 2, CPU).finds_best


@pytest.mark.parametrize("precision", [name for name in MAPS if lacking(name) is None])
def test_a_search_over_the_best_of_each_step_is_the_search_over_all(
    precision: str, vocabulary: Vocabulary, random_model: Models, lines: Lines
) -> None:
    """Also in rounded arithmetic, where both tell the log-probabilities in float32 and choose alike but for near ties."""
    stepper, sources = Stepper([random_model(2)], CPU, precision), vocabulary.encode(lines(40))
    options, limits = schema.Decoding(n_best=2), [len(source) + 6 for source in sources]
    with stepper.running():
        whole, best = (
            beam_search(stepper.step, stepper.begin(sources), limits, options, CPU, best_of_step=way)
            for way in (None, stepper.best)
        )
    same = [[one.tokens for one in few] == [one.tokens for one in all_] for few, all_ in zip(best, whole, strict=True)]
    assert sum(same) >= (40 if precision == "float32" else 36)
    for few, all_ in zip(best, whole, strict=True):
        if few[0].tokens == all_[0].tokens:
            assert few[0].score == pytest.approx(all_[0].score, abs=1e-4 if precision == "float32" else 0.1)


def test_int8_is_refused_where_there_is_none(random_model: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    with pytest.raises(UserError, match=r"decoding\.precision int8: this CPU has no VNNI: set decoding\.precision=float32"):
        Stepper([random_model(0)], CPU, "int8")
    with pytest.raises(UserError, match=r"decoding\.precision int8: this cuda has none here"):
        Stepper([random_model(0)], torch.device("cuda"), "int8")
