"""Padded ids of a batch, to the last cell. Which sentences form it: tests/laws/test_plan_law.py."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mtkit.data.batching import Batch, EpochPlan, collate, cut, pad, padding_mask
from mtkit.data.vocabulary import BOS, EOS, PAD


def ids(*tokens: int) -> NDArray[np.int64]:
    return np.array(tokens, dtype=np.int64)


def test_the_shorter_sequence_is_padded_behind() -> None:
    sequences = [ids(11, 12), ids(21, 22, 23)]
    assert pad(sequences).tolist() == [[11, 12, PAD], [21, 22, 23]]
    assert pad(sequences, first=BOS).tolist() == [[BOS, 11, 12, PAD], [BOS, 21, 22, 23]]
    assert pad(sequences, last=EOS).tolist() == [[11, 12, EOS, PAD], [21, 22, 23, EOS]]
    assert pad(sequences, first=BOS, last=EOS).tolist() == [[BOS, 11, 12, EOS, PAD], [BOS, 21, 22, 23, EOS]]


def test_an_empty_sequence_is_its_control_token() -> None:
    assert pad([ids(), ids(21)]).tolist() == [[PAD], [21]]
    assert pad([ids(), ids(21)], last=EOS).tolist() == [[EOS, PAD], [21, EOS]]
    assert pad([ids(), ids(21)], first=BOS).tolist() == [[BOS, PAD], [BOS, 21]]
    assert pad([ids()], last=EOS).tolist() == [[EOS]]
    assert pad([ids(), ids()], first=BOS).tolist() == [[BOS], [BOS]]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_ids_come_out_as_int64(dtype: type[np.integer]) -> None:
    padded = pad([np.array([7232, 7]).astype(dtype), np.array([5]).astype(dtype)], last=EOS)
    assert padded.dtype == torch.int64
    assert padded.tolist() == [[7232, 7, EOS], [5, EOS, PAD]]


def test_the_mask_is_true_at_real_tokens_and_none_without_padding() -> None:
    mask = padding_mask(torch.tensor([[5, EOS, PAD], [5, 6, EOS]]))
    assert mask is not None
    assert mask.tolist() == [[True, True, False], [True, True, True]]
    assert padding_mask(torch.tensor([[5, EOS], [6, EOS]])) is None


def test_a_batch_to_the_last_cell() -> None:
    batch = collate([ids(11), ids(21, 22, 23)], [ids(31, 32), ids(41)])
    assert batch.source.tolist() == [[11, EOS, PAD, PAD], [21, 22, 23, EOS]]
    assert batch.source_mask is not None
    assert batch.source_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.target_input.tolist() == [[BOS, 31, 32], [BOS, 41, PAD]]
    assert batch.target_output.tolist() == [[31, 32, EOS], [41, EOS, PAD]]
    for tokens in (batch.source, batch.target_input, batch.target_output):
        assert tokens.dtype == torch.int64
    assert batch.source_mask.dtype == torch.bool


def test_a_batch_of_empty_sentences() -> None:
    batch = collate([ids(), ids(5)], [ids(), ids()])
    assert batch.source.tolist() == [[EOS, PAD], [5, EOS]]
    assert batch.target_input.tolist() == [[BOS], [BOS]]
    assert batch.target_output.tolist() == [[EOS], [EOS]]
    alone = collate([ids()], [ids()])
    assert alone.source.tolist() == alone.target_output.tolist() == [[EOS]]


def test_sources_of_one_length_need_no_mask_whatever_the_targets() -> None:
    assert collate([ids(5, 6), ids(7, 8)], [ids(5), ids(6, 7, 8)]).source_mask is None


@pytest.mark.parametrize("sources", [[ids(5), ids(6)], [ids(5), ids(6, 7)]], ids=["no mask", "mask"])
def test_a_batch_moves_whole(sources: list[NDArray[np.int64]]) -> None:
    batch = collate(sources, [ids(5), ids(6)])
    moved = batch.to(torch.device("meta"))
    same = batch.to(torch.device("cpu"))
    for name in Batch.__dataclass_fields__:
        before, after = getattr(batch, name), getattr(moved, name)
        if before is None:
            assert after is getattr(same, name) is None
        else:
            assert torch.equal(getattr(same, name), before)
            assert (after.device.type, after.shape, after.dtype) == ("meta", before.shape, before.dtype)


def test_a_cut_counts_padding_on_the_longer_side() -> None:
    # 2 x 3, then 4 would be 3 x 4 = 12 > 9; 4 + 4 = 8; the last, of 9, stands alone.
    assert cut(ids(3, 1, 4, 4, 1), ids(1, 3, 1, 1, 9), 9).tolist() == [0, 2, 4]
    assert cut(ids(3, 3, 3, 3), ids(1, 1, 1, 1), 9).tolist() == [0, 3]
    assert cut(ids(), ids(), 9).tolist() == []


def test_an_update_names_the_sentences_of_its_micro_batches() -> None:
    plan = EpochPlan(ids(4, 2, 0, 1, 3), starts=ids(0, 2, 3), updates=(ids(2, 0), ids(1)))
    assert [batch.tolist() for batch in plan.micro_batches(0)] == [[1, 3], [4, 2]]
    assert [batch.tolist() for batch in plan.micro_batches(1)] == [[0]]
