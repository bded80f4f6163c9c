"""A step of decoding through torch's compiler: on a GPU a layer is then a few kernels in place of dozens.

Comes in: a model. Goes out: its twin with the same weights, whose decoder is compiled for any number of sentences and
tokens when it is first used. The first step of a search and the others, one hypothesis and several, one sentence and
several are programs of their own.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.fx.experimental import _config as shapes

from mtkit.decoding.linear_maps import twin
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

PROGRAMS = 32
"""Of a layer, at most; torch's own limit of 8 would leave some steps as they were."""

BACKEND: str | Callable[..., Any] = "inductor"
"""What makes programs of what torch has traced."""


def compiled(model: Transformer) -> Transformer:
    """The twin of `model`, for decoding only."""
    copied = twin(model, lambda _: None).eval()
    for layer in copied.decoder:
        layer.compile(backend=BACKEND, dynamic=True, recompile_limit=PROGRAMS)
    copied.decoder[0] = _First(copied.decoder[0])
    return copied


class _First(nn.Module):
    """The first layer, given a tensor of its own as the others are: for a view the compiler makes other programs."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self._layer = layer

    def forward(self, x: Tensor, *others: object) -> Tensor:
        """As the layer's."""
        output: Tensor = self._layer(x.clone(), *others)
        return output


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Around each use of a compiled model. UserError if the compiler fails: what it needs, a machine may lack."""
    try:
        # Numbers that happen to be equal, as of sentences and of tokens, are not taken for the same.
        with shapes.patch(use_duck_shape=False):  # type: ignore[attr-defined]
            yield
    except Exception as error:
        from torch._dynamo.exc import TorchDynamoException  # takes seconds to import, but the compiler has done so

        if not isinstance(error, TorchDynamoException):
            raise
        reason = " ".join(str(error).split("\n")[:2])
        raise UserError(
            f"decoding.compile: torch's compiler fails on this machine ({reason}): set decoding.compile=false"
        ) from error
