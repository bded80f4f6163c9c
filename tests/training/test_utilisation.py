"""Model FLOP utilisation: the work of the model on real tokens, against what a GPU can do."""

from pathlib import Path

import pytest
import torch

from mtkit.config.loader import override_config
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.training.utilisation import operations_per_target_token, peak_of


def test_operations_of_the_base_model(toy_data: Path) -> None:
    """Six operations a weight of the products and token (Kaplan et al. 2020, section 2.1), attention on top."""
    pairs = PreparedData.open(toy_data).pairs("train")
    found = operations_per_target_token(Config(), pairs, 37_000)
    source, target = pairs.source_lengths.mean() + 1, pairs.target_lengths.mean() + 1
    encoder, decoder = 6 * (4 * 512**2 + 2 * 512 * 2048), 6 * (6 * 512**2 + 2 * 512 * 2048)
    keys_and_values = 6 * 2 * 512**2  # of the source, for the decoder
    plain = 6 * ((encoder + keys_and_values) * source / target + decoder + 37_000 * 512)
    assert plain < found < 1.01 * plain
    doubled = override_config(Config(), ["training.rdrop=5"])
    assert operations_per_target_token(doubled, pairs, 37_000) == 2 * found


def test_a_cpu_has_no_known_peak() -> None:
    assert peak_of(torch.device("cpu"), "float32", 1) is None


def test_gpus_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100-SXM4-80GB")
    assert peak_of(torch.device("cuda", 0), "bfloat16", 8) == 8 * 312e12
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a new one")
    assert peak_of(torch.device("cuda", 0), "bfloat16", 8) is None
