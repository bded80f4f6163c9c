"""Steps through torch's compiler are the same steps: in few programs, on the same weights, for decoding only."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabulary import Vocabulary
from mtkit.decoding import compiling
from mtkit.decoding.compiling import PROGRAMS
from mtkit.decoding.search import Hypothesis, beam_search
from mtkit.decoding.stepping import Stepper
from mtkit.model.positions import POSITIONS
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
Models = Callable[..., Transformer]
Lines = Callable[..., list[str]]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's compiler warns of torch's own doings


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In place of programs in C++ those of the tracer, which takes no minutes and no compiler; counts them."""
    made = [0]

    def backend(graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        made[0] += 1
        return graph.forward

    monkeypatch.setattr(compiling, "BACKEND", backend)
    torch.compiler.reset()
    return made


def searched(stepper: Stepper, sources: list[list[int]], beam: int) -> list[list[Hypothesis]]:
    options = schema.Decoding(beam_size=beam, n_best=beam)
    with stepper.running():
        limits = [len(source) + 40 for source in sources]
        return beam_search(stepper.step, stepper.begin(sources), limits, options, CPU)


def assert_the_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[one.tokens for one in each] for each in found] == [[one.tokens for one in each] for each in expected]
    sums = ([one.log_probability for each in answers for one in each] for answers in (found, expected))
    assert next(sums) == pytest.approx(next(sums), abs=1e-3)


@pytest.mark.parametrize(("beam", "positions"), [(1, "sinusoidal"), *((4, positions) for positions in POSITIONS)])
def test_a_compiled_search_finds_the_same(
    beam: int, positions: str, vocabulary: Vocabulary, lines: Lines, traced: list[int]
) -> None:
    sizes = {"d_model": 16, "d_ff": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "positions": positions}
    torch.manual_seed(1)
    model = Transformer(schema.Model.model_validate(sizes), len(vocabulary)).eval()
    plain, stepper = Stepper([model], CPU), Stepper([model], CPU, compile=True)
    for count, longest in ((7, 9), (5, 3), (9, 12)):
        sources = vocabulary.encode(lines(count, longest=longest))
        assert_the_same(searched(stepper, sources, beam), searched(plain, sources, beam))
    assert 0 < traced[0] <= 6, (
        "programs: the first step and the others, one hypothesis and several, one sentence and several"
    )
    assert traced[0] < PROGRAMS


def test_an_ensemble_and_bfloat16_too(vocabulary: Vocabulary, random_model: Models, lines: Lines, traced: list[int]) -> None:
    models, sources = [random_model(0), random_model(1)], vocabulary.encode(lines(5))
    assert_the_same(searched(Stepper(models, CPU, compile=True), sources, 3), searched(Stepper(models, CPU), sources, 3))
    before = traced[0]
    narrow = searched(Stepper(models[:1], CPU, "bfloat16", compile=True), sources, 1)
    wide = searched(Stepper(models[:1], CPU, compile=True), sources, 1)
    assert [each[0].log_probability for each in narrow] == pytest.approx([each[0].log_probability for each in wide], rel=0.3)
    assert traced[0] > before, "autocast is compiled in"


def test_the_model_given_stays_as_it_is_and_its_weights_count(random_model: Models, traced: list[int]) -> None:
    model = random_model(3).train()
    stepper = Stepper([model], CPU, compile=True)
    tokens = torch.tensor([[1]])

    def told() -> torch.Tensor:
        with stepper.running():
            return stepper.step(tokens, stepper.begin([[20, 21, 22]]))

    first = told()
    assert traced[0] > 0
    assert all(module.training for module in model.modules())
    assert all(module._compiled_call_impl is None for module in model.modules())
    assert torch.equal(told(), first), "nothing is dropped"
    with torch.no_grad():
        model.embedding.weight.mul_(2.0)
    assert not torch.equal(told(), first), "a training goes on with the same weights"


def test_a_twin_of_a_compiled_module_is_itself(random_model: Models, traced: list[int]) -> None:
    """A training may have compiled its layers: what decodes must not call those."""
    model = random_model(0)
    for layer in model.decoder:
        layer.compile(backend=compiling.BACKEND)
    assert all(layer._compiled_call_impl is None for layer in Stepper([model], CPU).models[0].decoder)


def test_whoever_looks_at_attention_sees_the_same(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    model, sources = random_model(0), vocabulary.encode(lines(3))
    ours, theirs = (Stepper([model], CPU, compile=compile).alignments(sources, sources) for compile in (True, False))
    assert all((one == other).all() for one, other in zip(ours, theirs, strict=True))


def test_int8_has_products_that_the_compiler_does_not_know(random_model: Models) -> None:
    with pytest.raises(UserError, match=r"int8: decoding\.compile .*set decoding\.precision=float32"):
        Stepper([random_model(0)], CPU, "int8", compile=True)


def test_a_compiler_that_fails_is_told(random_model: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    def backend(_graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        raise OSError("no g++ here")

    monkeypatch.setattr(compiling, "BACKEND", backend)
    torch.compiler.reset()
    stepper = Stepper([random_model(0)], CPU, compile=True)
    with stepper.running(), pytest.raises(UserError, match=r"decoding\.compile: .*no g\+\+ here.*decoding\.compile=false"):
        stepper.step(torch.tensor([[1]]), stepper.begin([[20, 21]]))


@pytest.mark.slow
def test_programs_in_cpp_find_the_same(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    torch.compiler.reset()
    model, sources = random_model(5), vocabulary.encode(lines(12))
    for beam in (1, 4):
        assert_the_same(
            searched(Stepper([model], CPU, compile=True), sources, beam), searched(Stepper([model], CPU), sources, beam)
        )
