"""Counted operations against those that torch's counter sees in the real model, forward and backward."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mtkit.config import schema
from mtkit.config.loader import load_config
from mtkit.data.batching import Batch
from mtkit.model.attention import attention_weights
from mtkit.model.operations import TRAINING, Operations, count_operations, total
from mtkit.model.parameters import PARTS
from mtkit.model.transformer import Transformer
from mtkit.training.loss import TranslationLoss

SENTENCES, SOURCE, TARGET, PIECES = 3, 7, 5, 41


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target without padding."""
    torch.manual_seed(1)
    return torch.randint(4, PIECES, (SENTENCES, SOURCE)), torch.randint(4, PIECES, (SENTENCES, TARGET))


def counted(model: schema.Model) -> int:
    forward = total(count_operations(model, PIECES, SOURCE, TARGET))
    return SENTENCES * (SOURCE * forward.source + TARGET * forward.target)


# Attention is computed openly: torch's counter knows no fused kernel of a CPU.


def test_a_forward_pass_takes_what_torch_counts(small_model: schema.Model) -> None:
    real, (source, target) = Transformer(small_model, PIECES), batch()
    with attention_weights(real), FlopCounterMode(display=False) as counter:
        real.logits(real(source, None, target))
    assert counter.get_total_flops() == counted(small_model)


def test_forward_and_backward_take_what_torch_counts(small_model: schema.Model) -> None:
    loss, (source, target) = TranslationLoss(Transformer(small_model, PIECES), 0.1), batch()
    with attention_weights(loss), FlopCounterMode(display=False) as counter:
        loss(Batch(source, None, target, target))[0].backward()
    assert counter.get_total_flops() == TRAINING * counted(small_model)


def test_source_and_target_tokens_are_told_apart() -> None:
    """More source tokens cost what one of them does, and every target token looks at them."""
    model = schema.Model(d_model=16, d_ff=24, heads=4, encoder_layers=2, decoder_layers=3)
    short, long = (total(count_operations(model, PIECES, source, TARGET)) for source in (10, 20))
    scores_and_sums = 2 * 2 * 16
    assert long.source - short.source == 2 * 10 * scores_and_sums
    assert long.target - short.target == 3 * 10 * scores_and_sums


def test_the_base_model_by_hand() -> None:
    found = count_operations(load_config("base").model, 37_000, 30, 20)
    assert tuple(found) == PARTS
    assert found["embedding"] == Operations(0, 2 * 512 * 37_000)
    assert found["encoder_feed_forward"] == Operations(6 * 4 * 512 * 2048, 0)
    assert found["encoder_self_attention"] == Operations(6 * (2 * 4 * 512 * 512 + 2 * 2 * 30 * 512), 0)
    assert found["decoder_self_attention"] == Operations(0, 6 * (2 * 4 * 512 * 512 + 2 * 2 * 20 * 512))
    assert found["decoder_cross_attention"] == Operations(6 * 2 * 2 * 512 * 512, 6 * (2 * 2 * 512 * 512 + 2 * 2 * 30 * 512))


@pytest.mark.parametrize(("tied", "part"), [("all", "embedding"), ("decoder", "embedding"), ("none", "output_embedding")])
def test_the_output_layer_works_with_the_matrix_it_has(tied: str, part: str) -> None:
    found = count_operations(schema.Model.model_validate({"tied_embeddings": tied}), 100, 30, 30)
    working = {name for name in ("embedding", "source_embedding", "output_embedding") if found[name] != Operations(0, 0)}
    assert working == {part}
