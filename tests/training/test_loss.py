"""The label-smoothed loss against torch's, and what it leaves out."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from mtkit.config import schema
from mtkit.data.batching import collate
from mtkit.data.vocabulary import PAD
from mtkit.model.transformer import Transformer
from mtkit.training import loss as loss_module
from mtkit.training.loss import TranslationLoss, smoothed_loss, two_pass_loss


def inputs(rows: int, width: int, pieces: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """hidden, weight (both want gradients) and targets, some of them equal."""
    torch.manual_seed(1)
    hidden, weight = torch.randn(rows, width, dtype=dtype), torch.randn(pieces, width, dtype=dtype)
    target = torch.randint(pieces, (rows,))
    target[-1] = target[0]
    return hidden.requires_grad_(), weight.requires_grad_(), target


def of_torch(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(hidden @ weight.T, target, reduction="sum", label_smoothing=smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_value_and_gradients_are_torchs(smoothing: float) -> None:
    hidden, weight, target = inputs(7, 5, 11)
    loss, _ = smoothed_loss(hidden, weight, target, smoothing)
    expected = of_torch(hidden, weight, target, smoothing)
    assert torch.allclose(loss, expected, rtol=0, atol=1e-10)
    # Scaled, as the division by an update's tokens does.
    for ours, theirs in zip(
        torch.autograd.grad(0.3 * loss, (hidden, weight)), torch.autograd.grad(0.3 * expected, (hidden, weight)), strict=True
    ):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_those_of_the_value(smoothing: float) -> None:
    hidden, weight, target = inputs(4, 3, 6)
    assert torch.autograd.gradcheck(lambda h, w: smoothed_loss(h, w, target, smoothing)[0], (hidden, weight))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_likelihood_is_not_smoothed(smoothing: float) -> None:
    hidden, weight, target = inputs(7, 5, 11)
    _, seen = smoothed_loss(hidden, weight, target, smoothing)
    expected = -(hidden @ weight.T).log_softmax(1)[torch.arange(7), target].sum()
    assert torch.allclose(seen, expected, rtol=0, atol=1e-10)


def test_the_likelihood_has_no_gradient() -> None:
    loss, likelihood = smoothed_loss(*inputs(7, 5, 11), 0.1)
    assert loss.requires_grad
    assert not likelihood.requires_grad


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_extreme_logits_stay_finite_and_right(smoothing: float) -> None:
    """Logits 1e4, -1e4 and 0 for every target: probabilities of 0 and 1 in float32."""
    hidden = torch.tensor([[1e4]] * 3 + [[-1e4]] * 3, requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0], [0.0]], requires_grad=True)
    target = torch.tensor([0, 1, 2] * 2)
    exact = (hidden.detach().double().requires_grad_(), weight.detach().double().requires_grad_())
    for row in range(6):
        each = slice(row, row + 1)
        loss, likelihood = smoothed_loss(hidden[each], weight, target[each], smoothing)
        expected = of_torch(exact[0][each], exact[1], target[each], smoothing)
        plain = of_torch(exact[0][each], exact[1], target[each], 0.0)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6, abs=1e-3)
        assert likelihood.item() == pytest.approx(plain.item(), rel=1e-6, abs=1e-3)
        ours, theirs = torch.autograd.grad(loss, (hidden, weight)), torch.autograd.grad(expected, exact)
        for seen, wanted in zip(ours, theirs, strict=True):
            assert torch.allclose(seen.double(), wanted, rtol=1e-6, atol=1e-3)


def test_a_sure_and_right_model_loses_nothing() -> None:
    hidden, weight = torch.tensor([[200.0]]), torch.tensor([[1.0], [-1.0]])
    loss, likelihood = smoothed_loss(hidden, weight, torch.tensor([0]), 0.0)
    assert (loss.item(), likelihood.item()) == (0.0, 0.0)


def test_bfloat16_is_close_to_float32() -> None:
    hidden, weight, target = inputs(60, 64, 200, torch.float32)
    with torch.no_grad():
        weight.mul_(0.25)  # logits of a few units, as in training
    expected, plain = smoothed_loss(hidden, weight, target, 0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, likelihood = smoothed_loss(hidden, weight, target, 0.1)
    assert loss.dtype == likelihood.dtype == torch.float32
    assert loss.item() != expected.item(), "bfloat16 was used"
    assert loss.item() == pytest.approx(expected.item(), rel=2e-3)
    assert likelihood.item() == pytest.approx(plain.item(), rel=2e-3)
    gradients = torch.autograd.grad(loss, (hidden, weight)), torch.autograd.grad(expected, (hidden, weight))
    for seen, wanted in zip(*gradients, strict=True):
        assert seen.dtype == torch.float32
        assert (seen - wanted).norm() < 0.01 * wanted.norm()


def model() -> Transformer:
    sizes = schema.Model(d_model=8, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    torch.manual_seed(1)
    return Transformer(sizes, 20).double()


def test_a_batch_loses_what_its_sentences_lose_alone() -> None:
    """Padding has no share in the loss, and sums are sums."""
    random = np.random.default_rng(1)
    pairs = [(random.integers(4, 20, source), random.integers(4, 20, target)) for source, target in ((3, 5), (6, 1), (2, 0))]
    loss = TranslationLoss(model(), 0.1)
    weights = list(loss.parameters())
    together = loss(collate(*zip(*pairs, strict=True)))
    alone = [loss(collate([source], [target])) for source, target in pairs]
    for number in (0, 1):
        assert torch.allclose(together[number], sum(sums[number] for sums in alone), rtol=0, atol=1e-10)
    apart = torch.autograd.grad(sum(sums[0] for sums in alone), weights)
    for seen, wanted in zip(torch.autograd.grad(together[0], weights), apart, strict=True):
        assert torch.allclose(seen, wanted, rtol=0, atol=1e-10)


def test_the_loss_is_of_the_next_token_under_the_models_logits() -> None:
    transformer = model()
    batch = collate([np.array([5, 6]), np.array([7])], [np.array([8, 9, 10]), np.array([11])])
    logits = transformer.logits(transformer(batch.source, batch.source_mask, batch.target_input))
    expected = F.cross_entropy(
        logits.flatten(0, 1), batch.target_output.flatten(), reduction="sum", label_smoothing=0.1, ignore_index=PAD
    )
    loss, likelihood = TranslationLoss(transformer, 0.1)(batch)
    assert torch.allclose(loss, expected, rtol=0, atol=1e-10)
    _, plain = TranslationLoss(transformer, 0.0)(batch)
    assert likelihood.item() == plain.item()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_two_passes_without_rdrop_are_the_mean_of_two_losses(smoothing: float) -> None:
    hidden, weight, target = inputs(7, 5, 11)
    again = torch.randn_like(hidden)
    seen = two_pass_loss((hidden, again), weight, target, smoothing, 0.0)
    parts = [smoothed_loss(states, weight, target, smoothing) for states in (hidden, again)]
    for value, (first, second) in zip(seen, zip(*parts, strict=True), strict=True):
        assert torch.allclose(value, (first + second) / 2, rtol=0, atol=1e-10)


def test_rdrop_adds_the_divergence_of_the_two_distributions() -> None:
    hidden, weight, target = inputs(7, 5, 11)
    again = torch.randn_like(hidden)
    without, _ = two_pass_loss((hidden, again), weight, target, 0.1, 0.0)
    seen, _ = two_pass_loss((hidden, again), weight, target, 0.1, 5.0)
    first, second = ((states @ weight.T).log_softmax(-1) for states in (hidden, again))
    both = F.kl_div(first, second, log_target=True, reduction="sum") + F.kl_div(
        second, first, log_target=True, reduction="sum"
    )
    assert torch.allclose(seen - without, 5.0 / 4 * both, rtol=0, atol=1e-10)
    same, _ = two_pass_loss((hidden, hidden), weight, target, 0.1, 5.0)
    assert torch.allclose(same, smoothed_loss(hidden, weight, target, 0.1)[0], rtol=0, atol=1e-10)


def test_rdrop_is_for_training_and_draws_two_masks() -> None:
    torch.manual_seed(1)
    sizes = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.3}
    model = Transformer(schema.Model.model_validate(sizes), 20)
    batch = collate([np.arange(4, 9)], [np.arange(6, 15)])
    plain, twice = TranslationLoss(model, 0.1), TranslationLoss(model, 0.1, 5.0)
    assert torch.equal(twice.eval()(batch)[0], plain.eval()(batch)[0])
    model.train()
    torch.manual_seed(2)
    first, second = plain(batch)[0], plain(batch)[0]
    torch.manual_seed(2)
    assert twice(batch)[0] > (first + second) / 2 + 0.01


def test_unequally_busy_experts_cost_in_training_alone_and_by_the_token() -> None:
    torch.manual_seed(1)
    sizes = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    options = {"feedforward": "experts", "experts": 3, "balance": 0.0}
    model = Transformer(schema.Model.model_validate(sizes | options), 20)
    batch = collate([np.arange(4, 9), np.arange(4, 6)], [np.arange(6, 15), np.arange(4, 5)])
    loss = TranslationLoss(model, 0.1)
    free = loss(batch)[0]
    model.config = model.config.model_copy(update={"balance": 0.5})
    cost = float((loss(batch)[0] - free).detach())
    tokens, layers = 10 + 2, 2
    assert 0.9 * layers * 0.5 * tokens < cost < 3 * layers * 0.5 * tokens
    model.eval()
    assert torch.allclose(loss(batch)[0], free)


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    hidden, weight, target = inputs(7, 5, 11)
    whole = smoothed_loss(hidden, weight, target, 0.1)
    expected = torch.autograd.grad(whole[0], (hidden, weight))
    monkeypatch.setitem(loss_module.CHUNK, "cpu", 11 * rows)
    seen = smoothed_loss(hidden, weight, target, 0.1)
    assert torch.allclose(torch.stack(seen), torch.stack(whole), rtol=0, atol=1e-12)
    for ours, theirs in zip(torch.autograd.grad(seen[0], (hidden, weight)), expected, strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_without_gradients_none_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation needs the value alone, a third of the work."""
    hidden, weight, target = inputs(7, 5, 11)
    expected = smoothed_loss(hidden, weight, target, 0.1)
    monkeypatch.setattr(torch, "mm", None)
    with torch.no_grad():
        seen = smoothed_loss(hidden, weight, target, 0.1)
    assert torch.equal(torch.stack(seen), torch.stack(expected).detach())
    with pytest.raises(TypeError):
        smoothed_loss(hidden, weight, target, 0.1)


def of_experts(rdrop: float = 0.0) -> TranslationLoss:
    """Without dropout, so that both passes of R-Drop are alike."""
    torch.manual_seed(1)
    sizes = {"d_model": 16, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    options = {"feedforward": "experts", "experts": 3, "balance": 5.0}
    return TranslationLoss(Transformer(schema.Model.model_validate(sizes | options), 20), 0.1, rdrop)


def test_padding_keeps_no_expert_busy() -> None:
    batch = collate([np.arange(4, 12), np.arange(4, 6)], [np.arange(6, 17), np.arange(4, 5)])
    expected, _ = of_experts()(batch)
    assert batch.source_mask is not None
    batch.source[~batch.source_mask], batch.target_input[batch.target_input == PAD] = 7, 9
    seen, _ = of_experts()(batch)
    assert torch.allclose(seen, expected, rtol=1e-6)


def test_two_passes_cost_as_much_for_busy_experts_as_one() -> None:
    batch = collate([np.arange(4, 12)], [np.arange(6, 17)])
    assert torch.allclose(of_experts(rdrop=1.0)(batch)[0], of_experts()(batch)[0], rtol=1e-5)
