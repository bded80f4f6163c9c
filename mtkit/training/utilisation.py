"""How much of its devices' arithmetic a training uses: model FLOP utilisation (Chowdhery et al. 2022, appendix B).

What counts is the work of the model, on real tokens: nothing for padding, nor for layers that are computed again. Comes in:
the config, the pairs, the device. Goes out: operations a target token, and how many a second there could be at best.
"""

import torch

from mtkit.config.schema import Config
from mtkit.data.binarized import Pairs
from mtkit.model.operations import TRAINING, count_operations, total
from mtkit.support.gpus import peak_operations


def operations_per_target_token(config: Config, pairs: Pairs, target_pieces: int) -> float:
    """Floating-point operations of forward and backward pass for a target token with its share of the source, in pairs of
    mean lengths.
    """
    source, target = (float(lengths.mean()) + 1 for lengths in (pairs.source_lengths, pairs.target_lengths))
    forward = total(count_operations(config.model, target_pieces, round(source), round(target)))
    passes = 2 if config.training.rdrop else 1
    return TRAINING * passes * (forward.source * source / target + forward.target)


def peak_of(device: torch.device, precision: str, count: int) -> float | None:
    """Operations a second of `count` such devices at best; None if that is not known, as of all CPUs."""
    if device.type != "cuda":
        return None
    peak = peak_operations(torch.cuda.get_device_name(device), precision)
    return peak and count * peak
