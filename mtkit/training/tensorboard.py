"""The figures of a training for TensorBoard (`tensorboard --logdir runs`): event files in the run folder, which say again
what metrics.jsonl says and are never read by mtkit.
"""

from collections.abc import Mapping
from pathlib import Path

from mtkit.checkpoint import GO_ON
from mtkit.support.errors import UserError
from mtkit.support.files import writing

FOLDER = "tensorboard"
"""In the run folder."""


class Board:
    """Writes event files into `folder`. Figures of updates after `done` that are there already are withdrawn."""

    def __init__(self, folder: Path, done: int) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ModuleNotFoundError:
            raise UserError(
                "training.tensorboard needs the tensorboardX library: pip install 'mtkit[tensorboard]'"
            ) from None
        # With a suffix: a name is else only as new as the second, and would take another file's place.
        with writing(folder, cure=GO_ON):
            self._writer = SummaryWriter(str(folder), purge_step=done + 1, filename_suffix=f".{done}")

    def add(self, figures: Mapping[str, object]) -> None:
        """The numbers among `figures`, each under its name, at the update that is one of them."""
        update = figures["update"]
        for name, value in figures.items():
            if isinstance(value, int | float) and name != "update":
                self._writer.add_scalar(name, value, update)
        self._writer.flush()

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()
