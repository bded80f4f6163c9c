"""The runtimes that a model can be written for. The dict is the list of them; the command line spells the same words."""

from collections.abc import Callable
from pathlib import Path

from mtkit.config.schema import Decoding
from mtkit.export.ctranslate2 import export_ctranslate2

FORMATS: dict[str, Callable[[str | Path, Path, Decoding], int]] = {"ctranslate2": export_ctranslate2}
"""export(run or checkpoint, output, decoding) -> the step of the checkpoint that was written."""
