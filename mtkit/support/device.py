"""Where tensors live and how they are computed with: the device that a user names, if it is there, never another one in
silence; and the precision.
"""

import os
import re

import torch

from mtkit.support.errors import UserError


def resolve(name: str) -> torch.device:
    """The device called `auto` (a GPU where there is one), `cpu`, `cuda` (the first GPU) or `cuda:N`.

    UserError if the name is none of these or the GPU is not there.
    """
    found = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", name, flags=re.ASCII)
    if not found:
        raise UserError(f"device {name!r} is not one of auto, cpu, cuda, cuda:N")
    visible = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name == "auto" and not visible):
        return torch.device("cpu")
    number = int(found[1] or 0)
    if number >= visible:
        raise UserError(f"{name} not available: {visible} visible ({_why()}){'' if visible else ': use --device cpu'}")
    return torch.device("cuda", number)


def several(name: str, count: int) -> list[torch.device]:
    """The first `count` GPUs, or the CPU so many times, as `name` says. UserError if there are not so many."""
    first = resolve(name)
    if count == 1:
        return [first]
    if ":" in name:
        raise UserError(f"--devices {count} and --device {name}, which is one: name cuda, or give one of the two")
    return [resolve(f"cuda:{number}") if first.type == "cuda" else first for number in range(count)]


def _why() -> str:
    """What decides the number of visible GPUs."""
    if torch.version.cuda is None and torch.version.hip is None:
        return "this torch was built without CUDA"
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "CUDA_VISIBLE_DEVICES is not set" if chosen is None else f"CUDA_VISIBLE_DEVICES={chosen}"


def arithmetic(device: torch.device, precision: str) -> torch.autocast:
    """The context in which a model computes in `precision`; its weights stay as they are.

    float32, bfloat16, float16, or tf32 (products in TensorFloat-32, where a GPU has it; from then on in this process).
    """
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    narrow = torch.float16 if precision == "float16" else torch.bfloat16
    return torch.autocast(device.type, narrow, enabled=precision in ("bfloat16", "float16"))
