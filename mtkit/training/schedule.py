"""The learning rate of each update. One function a kind; the dict is the list of them. n counts updates from 1."""

import math
from collections.abc import Callable

from mtkit.config import schema

# Each returns the rate as a multiple of the peak, which all reach at n = warmup; `left` falls from 1 to 0 after it.
SHAPES: dict[str, Callable[[int, int, float], float]] = {
    "inverse_square_root": lambda n, warmup, left: math.sqrt(warmup / n),
    "cosine": lambda n, warmup, left: 0.5 - 0.5 * math.cos(math.pi * left),
    "linear": lambda n, warmup, left: left,
    "constant": lambda n, warmup, left: 1.0,
}


def learning_rate(update: int, config: schema.Training, d_model: int) -> float:
    """The rate of update `update` (from 1).

    The paper's (equation 3): factor * d_model^-0.5 * min(n^-0.5, n * warmup^-1.5). The other kinds rise linearly to `peak`
    over the warm-up and then follow their shape.
    """
    schedule = config.schedule
    if schedule.kind == "paper":
        return float(schedule.factor * d_model**-0.5 * min(update**-0.5, update * schedule.warmup**-1.5))
    if update < schedule.warmup:
        return schedule.peak * update / schedule.warmup
    left = (config.updates - update) / max(1, config.updates - schedule.warmup)
    return schedule.peak * SHAPES[schedule.kind](update, schedule.warmup, max(0.0, left))
