"""R16: the device asked for, or a message; never another one in silence."""

import pytest
import torch

from mtkit.support.device import resolve
from mtkit.support.errors import UserError


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with two visible GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    return monkeypatch


def test_with_gpus(gpus: pytest.MonkeyPatch) -> None:
    assert resolve("auto") == resolve("cuda") == resolve("cuda:0") == torch.device("cuda", 0)
    assert resolve("cuda:1") == torch.device("cuda", 1)
    assert resolve("cpu") == torch.device("cpu")


def test_a_gpu_that_is_not_there(gpus: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError) as caught:
        resolve("cuda:7")
    assert str(caught.value) == "cuda:7 not available: 2 visible (CUDA_VISIBLE_DEVICES=0,1)"
    gpus.delenv("CUDA_VISIBLE_DEVICES")
    with pytest.raises(UserError, match=r"2 visible \(CUDA_VISIBLE_DEVICES is not set\)"):
        resolve("cuda:2")


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_without_gpus(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve("auto") == resolve("cpu") == torch.device("cpu")
    with pytest.raises(UserError, match=rf"{name} not available: 0 visible \(.*\): use --device cpu"):
        resolve(name)


def test_a_torch_without_cuda_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(UserError, match="this torch was built without CUDA"):
        resolve("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CPU", "mps", ""])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UserError, match="is not one of auto, cpu, cuda, cuda:N"):
        resolve(name)
