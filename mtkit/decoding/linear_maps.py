"""A model's linear maps as they are fastest on a CPU: weights packed once for the products of oneDNN, which torch brings.

Comes in: a module. Goes out: its twin, which shares all other weights with it, for decoding only. One class an arithmetic;
the dict is the list of them. Not every torch has such products, and not every CPU those of every arithmetic.

Shapes: R rows (any leading axes), I numbers in, O numbers out.
"""

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)

LEVELS = 127
"""Whole numbers on each side of 0 that int8 weights and inputs are rounded to."""

MIDDLE = LEVELS + 1
"""Of the unsigned numbers that the products take as inputs."""

# A number of Python is made such a tensor at each use, which takes as long as what is done with it.
_LEVELS, _MIDDLE = torch.tensor(float(LEVELS)), torch.tensor(MIDDLE, dtype=torch.uint8)

TINY = 1e-30
"""In place of a scale of 0."""


class Float32Map(nn.Module):
    """x W^T + b in float32."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
        self._bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """[R, I] -> [R, O]."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, "none", [], "")
        return product


class Bfloat16Map(nn.Module):
    """The same with weights and inputs rounded to bfloat16, sums in float32, the result rounded to bfloat16."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach().bfloat16())
        self._bias = None if linear.bias is None else linear.bias.detach().bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        """[R, I] -> [R, O]."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x.bfloat16(), self._weight, self._bias, "none", [], "")
        return product.to(x.dtype)


class Int8Map(nn.Module):
    """The same with weights and inputs rounded to 8 bits, sums exact.

    Each output has a scale of its own and so has each row of inputs: what stands in a row depends on no other row.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        self._scales = (weight.abs().amax(dim=1) / LEVELS).clamp_(min=TINY)
        rounded = torch.round(weight / self._scales[:, None]).to(torch.int8)
        self._weight = torch.ops.onednn.qlinear_prepack(rounded, None)
        self._zeros = torch.zeros(len(weight), dtype=torch.int64)
        self._bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """[R, I] -> [R, O]."""
        rows = x.reshape(-1, x.shape[-1])
        # The norm that is the same takes eight times as long. Of a row of zeros, rounded to whatever, a 0 is made below.
        largest = rows.abs().amax(-1, keepdim=True)
        # By way of signed numbers, whose highest bit is then turned: torch is seven times as slow in making unsigned ones.
        rounded = (rows * (_LEVELS / largest)).round_().to(torch.int8).view(torch.uint8).bitwise_xor_(_MIDDLE)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            rounded,
            1 / LEVELS,
            MIDDLE,
            self._weight,
            self._scales,
            self._zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        scaled = product.mul_(largest) if self._bias is None else torch.addcmul(self._bias, product, largest, out=product)
        return scaled.view(*x.shape[:-1], -1)


MAPS: dict[str, type[nn.Module]] = {"float32": Float32Map, "bfloat16": Bfloat16Map, "int8": Int8Map}


def lacking(precision: str) -> str | None:
    """Why this machine has no `MAPS[precision]`; None if it has."""
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return "this torch was built without oneDNN"
    if precision == "bfloat16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return "this CPU has no products in it"
    if precision == "int8" and not torch.cpu._is_vnni_supported():
        return "this CPU has no VNNI"
    return None


def with_maps(module: AnyModule, precision: str) -> AnyModule:
    """A twin of `module` whose linear maps are packed in `precision`: a snapshot of their weights, and of no others."""
    return twin(module, lambda child: MAPS[precision](child) if isinstance(child, nn.Linear) else None)


def twin(module: AnyModule, replaced: Callable[[nn.Module], nn.Module | None]) -> AnyModule:
    """A module of its own with the weights of `module`, in which some are `replaced`."""
    copied = copy.copy(module)
    copied._modules = {
        name: replaced(child) or twin(child, replaced) for name, child in module._modules.items() if child is not None
    }
    return copied
