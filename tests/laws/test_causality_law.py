"""A target token changes nothing before it, for every variant of the model: not by rounding, exactly."""

import pytest
import torch

from mtkit.model.transformer import Transformer


@pytest.mark.parametrize("position", [1, 4, 8])
def test_a_later_token_changes_no_earlier_logit(model: Transformer, position: int) -> None:
    torch.manual_seed(2)
    source, target = torch.randint(1, 20, (3, 5)), torch.randint(1, 20, (3, 9))
    mask = torch.arange(5) < torch.tensor([[5], [3], [1]])
    changed = target.clone()
    changed[:, position] = changed[:, position] % 19 + 1
    logits, again = (model.logits(model(source, mask, ids)) for ids in (target, changed))
    if model.config.feedforward == "experts":  # other tokens beside a token in its expert's matrix product: other rounding
        assert torch.allclose(again[:, :position], logits[:, :position], rtol=0, atol=1e-10)
    else:
        assert torch.equal(again[:, :position], logits[:, :position])
    assert not torch.allclose(again[:, position:], logits[:, position:])
