"""Updates that are not applied because their loss or gradient is not finite: how many, and when that is a run gone wrong.

Comes in: the gradient's norm after each update. Goes out: how many were skipped in a row, a warning, and an error after too
many. All processes see the same gradient, so they decide alike. Knows nothing of models.
"""

import math

from mtkit.checkpoint import Run

PATIENCE = 20
"""Updates in a row that may be skipped."""


class Skipping:
    """Counts the updates skipped in a row."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.row = 0  # updates skipped since the last that was applied

    def note(self, update: int, norm: float) -> str:
        """A warning if update `update` was skipped. RuntimeError if it was one too many in a row."""
        self.row = 0 if math.isfinite(norm) else self.row + 1
        if self.row >= PATIENCE:
            first = update - self.row + 1
            raise self.failure(
                f"the loss or gradient was not finite for {self.row} updates in a row, from update {first} to {update}"
            )
        return f"WARNING: update {update} skipped: its loss or gradient is not finite (harmless if rare)" if self.row else ""

    def failure(self, what: str) -> RuntimeError:
        """`what` has gone wrong, what is left and what to try."""
        last = self._run.latest(warn=False)
        left = f"the last good checkpoint is {last.folder}" if last else "there is no checkpoint"
        return RuntimeError(f"{what}: try a lower learning rate or a longer warm-up; {left}")
