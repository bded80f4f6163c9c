"""The fused output step: the best tokens with their log-probabilities, as from the whole distribution."""

import pytest
import torch

from mtkit.decoding.linear_maps import MAPS, lacking
from mtkit.decoding.output import BLOCK, MORE, RUN, Output

pytestmark = pytest.mark.skipif(lacking("float32") is not None, reason="a torch without oneDNN")
AVAILABLE = [precision for precision in MAPS if lacking(precision) is None]
NEVER = (0, 1, 3)
# Fewer than a run, one more than a run, blocks with and without a rest, and a last block of a single piece.
SIZES = (10, RUN + 1, 4 * RUN, BLOCK + 1, 2 * BLOCK + 3 * RUN + 7)


def drawn(pieces: int, rows: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(pieces)
    return torch.randn(pieces, 32) * 0.5, torch.randn(rows, 32) * 2


def expected(matrix: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    whole = (hidden @ matrix.T).log_softmax(-1)
    whole[:, list(NEVER)] = -torch.inf
    return whole


@torch.no_grad()
@pytest.mark.parametrize("pieces", SIZES)
@pytest.mark.parametrize("count", [1, 2, 9])
def test_the_best_are_those_of_the_whole_distribution(pieces: int, count: int) -> None:
    matrix, hidden = drawn(pieces)
    output = Output(matrix, "float32", NEVER)
    values, tokens = output.best(hidden, count)
    wanted = expected(matrix, hidden).topk(min(count, pieces - len(NEVER)), dim=1)
    torch.testing.assert_close(values, wanted.values, rtol=1e-5, atol=1e-5)
    assert torch.equal(tokens, wanted.indices)
    torch.testing.assert_close(output.log_probabilities(hidden), (hidden @ matrix.T).log_softmax(-1), rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("pieces", SIZES[1:])  # of ten pieces those that are never among the best have a third
@pytest.mark.parametrize("precision", [name for name in AVAILABLE if name != "float32"])
def test_rounded_products_choose_and_exact_ones_tell(precision: str, pieces: int) -> None:
    matrix, hidden = drawn(pieces, rows=50)
    output = Output(matrix, precision, NEVER)
    values, tokens = output.best(hidden, 5)
    whole = expected(matrix, hidden)
    torch.testing.assert_close(values, whole.gather(1, tokens), rtol=0, atol=0.03)
    assert (tokens == whole.topk(5, dim=1).indices).float().mean() > 0.97
    torch.testing.assert_close(output.log_probabilities(hidden), (hidden @ matrix.T).log_softmax(-1), rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("precision", AVAILABLE)
def test_a_peaked_distribution_keeps_its_sum(precision: str) -> None:
    """Where one token has nearly all, a rounded logit of it would shift every log-probability."""
    matrix, _ = drawn(BLOCK + 50)
    hidden = 4 * matrix[[17, BLOCK + 20]]
    values, tokens = Output(matrix, precision, NEVER).best(hidden, 3)
    assert tokens[:, 0].tolist() == [17, BLOCK + 20]
    assert MORE > 3
    torch.testing.assert_close(values, expected(matrix, hidden).gather(1, tokens), rtol=1e-3, atol=2e-3)


@torch.no_grad()
@pytest.mark.parametrize("precision", AVAILABLE)
def test_what_is_barred_has_no_share(precision: str) -> None:
    """Three rows of each of three sentences: a whole block barred, its first piece barred, all but a few barred."""
    matrix, hidden = drawn(2 * BLOCK + 3)
    bars = torch.zeros(3, len(matrix))
    bars[0, BLOCK : 2 * BLOCK] = -torch.inf
    bars[1, [BLOCK, 2 * BLOCK]] = -torch.inf
    bars[2, 6:] = -torch.inf
    values, tokens = Output(matrix, precision, NEVER).best(hidden, 5, bars)
    whole = (hidden @ matrix.T + bars.repeat_interleave(3, dim=0)).log_softmax(-1)
    whole[:, list(NEVER)] = -torch.inf
    best = whole.topk(5, dim=1)
    assert (values.isneginf() == best.values.isneginf()).all()
    kept = ~values.isneginf()
    assert kept.sum(dim=1).tolist() == [5, 5, 5, 5, 5, 5, 3, 3, 3]
    torch.testing.assert_close(
        values[kept], whole.gather(1, tokens)[kept], rtol=0, atol=1e-4 if precision == "float32" else 0.05
    )
    assert (tokens == best.indices)[kept].float().mean() > (0.999 if precision == "float32" else 0.9)
