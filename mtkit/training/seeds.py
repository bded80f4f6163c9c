"""One number from several: what makes a random draw a function of its place in a run."""

import numpy as np


def mixed(*numbers: int) -> int:
    """A seed that depends on all of `numbers`, well spread."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
