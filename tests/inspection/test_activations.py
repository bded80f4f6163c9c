"""Counted activations against the bytes that torch keeps for the backward pass of a real forward pass and its loss."""

import numpy as np
import pytest
import torch
from torch import Tensor

from mtkit.config import schema
from mtkit.data.batching import collate
from mtkit.inspection.activations import Shape, count_activations
from mtkit.model import attention
from mtkit.model.parameters import count_parameters
from mtkit.model.positions import POSITIONS, Alibi, Positions, RelativeBias, Rotary
from mtkit.model.transformer import Transformer
from mtkit.support.device import arithmetic
from mtkit.training.loss import TranslationLoss

TOLERANCE = 0.01
"""Left out are the masks, numbers of buckets and the like: a few bytes a token."""

PIECES = 120
PLAIN = schema.Training()


@pytest.fixture(autouse=True)
def fused_in_sixteen_bits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU."""
    monkeypatch.setattr(attention, "NARROW", ())


def kept_by_torch(model: schema.Model, shape: Shape, training: schema.Training = PLAIN) -> int:
    """Bytes of all storages that automatic differentiation keeps, each once, without the model's own."""
    torch.manual_seed(1)
    draw = np.random.default_rng(1)
    loss = TranslationLoss(Transformer(model, PIECES), 0.1, training.rdrop)
    sides = [
        [draw.integers(4, PIECES, length - 1) for _ in range(shape.sentences)] for length in (shape.source, shape.target)
    ]
    sides[0][0] = sides[0][0][:-1]  # as nearly always, something is padded, so there is a mask
    batch = collate(*sides)
    own = {tensor.untyped_storage().data_ptr() for tensor in (*loss.parameters(), *loss.buffers())}
    kept: dict[int, torch.UntypedStorage] = {}  # holds on to them, so that no address is used twice

    def pack(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        arithmetic(torch.device("cpu"), training.precision),
    ):
        value, _ = loss(batch)
    assert value.requires_grad
    return sum(storage.nbytes() for address, storage in kept.items() if address not in own)


def counted(model: schema.Model, shape: Shape, training: schema.Training = PLAIN) -> int:
    return count_activations(model, training, shape, PIECES, count_parameters(model, PIECES, PIECES))


def test_they_are_those_that_torch_keeps(small_model: schema.Model) -> None:
    shape = Shape(sentences=10, source=24, target=19)
    assert counted(small_model, shape) == pytest.approx(kept_by_torch(small_model, shape), rel=TOLERANCE)


def test_in_bfloat16_too(small_model: schema.Model) -> None:
    shape, training = Shape(sentences=10, source=24, target=19), schema.Training(precision="bfloat16")
    assert counted(small_model, shape, training) == pytest.approx(kept_by_torch(small_model, shape, training), rel=TOLERANCE)


@pytest.mark.parametrize(
    "training",
    [
        schema.Training(precision="float16"),
        schema.Training(rdrop=5.0),
        schema.Training(rdrop=5.0, precision="bfloat16"),
        schema.Training(label_smoothing=0.0),
    ],
    ids=["float16", "rdrop", "rdrop-bfloat16", "unsmoothed"],
)
def test_however_it_is_trained(training: schema.Training) -> None:
    shape = Shape(sentences=10, source=24, target=19)
    model = schema.Model(d_model=32, d_ff=80, heads=4)
    assert counted(model, shape, training) == pytest.approx(kept_by_torch(model, shape, training), rel=TOLERANCE)


@pytest.mark.parametrize("shape", [Shape(40, 6, 9), Shape(2, 90, 70), Shape(2, 40, 200)], ids=str)
@pytest.mark.parametrize("positions", ["sinusoidal", "alibi", "relative"])
def test_whatever_the_lengths(shape: Shape, positions: str) -> None:
    model = schema.Model.model_validate({"d_model": 32, "d_ff": 80, "heads": 4, "positions": positions})
    assert counted(model, shape) == pytest.approx(kept_by_torch(model, shape), rel=TOLERANCE)


def test_wider_models_and_more_layers() -> None:
    shape = Shape(4, 30, 30)
    model = schema.Model(d_model=128, d_ff=512, heads=8, encoder_layers=5, decoder_layers=4, norm_placement="pre")
    assert counted(model, shape) == pytest.approx(kept_by_torch(model, shape), rel=0.002)


def test_computed_again_only_what_goes_into_a_layer_is_kept(small_model: schema.Model) -> None:
    shape = Shape(sentences=10, source=24, target=19)
    again, one = schema.Training(recompute=True), small_model.model_copy(update={"encoder_layers": 1, "decoder_layers": 1})
    inputs = 10 * small_model.d_model * 4 * (24 * (small_model.encoder_layers - 1) + 19 * (small_model.decoder_layers - 1))
    more = inputs if small_model.positions != "alibi" else 0  # whose bias is a case of its own
    assert counted(small_model, shape, again) >= counted(one, shape) + more
    assert counted(small_model, shape, again) < 0.8 * counted(small_model, shape)


@pytest.mark.parametrize("like", [Alibi, RelativeBias, Rotary])
def test_a_scheme_of_positions_that_it_has_never_heard_of(like: type[Positions], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POSITIONS, "newcomer", type("Newcomer", (like,), {}))
    model = schema.Model(d_model=32, d_ff=80, heads=4).model_copy(update={"positions": "newcomer"})
    shape = Shape(sentences=10, source=24, target=19)
    assert counted(model, shape) == pytest.approx(kept_by_torch(model, shape), rel=2 * TOLERANCE)
