"""Where a run comes from, and whether a config still describes it."""

import importlib.metadata
import platform
import subprocess
import sys
import time
from pathlib import Path

import mtkit
from mtkit.checkpoint import Run
from mtkit.config.catalogue import differences
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.data.vocabularies import shortened
from mtkit.support.errors import UserError

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "numpy", "safetensors")

FREE = (
    "data.",
    "cleaning.",
    "vocabulary.",
    "decoding.",
    "evaluation.",
    "training.updates",
    "training.threads",
    "training.log_interval",
    "training.validation.",
    "training.checkpoints.",
)
"""What may change when a run is resumed. The prepared text itself is checked by its fingerprints."""


def provenance(config: Config, data: PreparedData) -> dict[str, object]:
    """Command, versions, commit, seed and fingerprints of a run that begins now."""
    return {
        "command": sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "mtkit": mtkit.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "seed": config.training.seed,
        "data": _fingerprints(data),
        "vocabulary": data.report.vocabulary_fingerprint,
    }


def _fingerprints(data: PreparedData) -> dict[str, str | int]:
    train = data.report.splits["train"]
    return {"source_sha256": train.source_sha256, "target_sha256": train.target_sha256, "pairs": train.lines}


def _commit() -> str | None:
    """The commit of mtkit's own source, where it runs from a checkout."""
    package = Path(mtkit.__file__).parent
    if not (package.parent / ".git").exists():
        return None
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=package, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def check_same_data(run: Run, data: PreparedData) -> None:
    """UserError if the training text of `data`, or a vocabulary, is not the one that `run` began with."""
    origin, now = run.provenance(), _fingerprints(data)
    before = origin.get("data")
    if before != now:
        raise UserError(
            f"{data.folder}: its training text is not the one of {run.folder} (the run has {before}, now {now}): "
            "resume with the data it began with, or begin another run"
        )
    old, new = origin.get("vocabulary", ""), data.report.vocabulary_fingerprint
    if old != new:
        raise UserError(
            f"vocabulary differs: {run.folder} began with {shortened(old)}, {data.folder} has {shortened(new)}: "
            "resume with the data it began with, or begin another run"
        )


def check_sharing(config: Config, data: PreparedData) -> None:
    """UserError if the sides of `data` share a vocabulary and `config` says they do not, or the other way round."""
    prepared, wanted = (str(shared).lower() for shared in (data.report.shared_vocabulary, config.vocabulary.shared))
    if prepared != wanted:
        raise UserError(
            f"{data.folder}: was prepared with vocabulary.shared={prepared}, the config says {wanted}: "
            f"set vocabulary.shared={prepared}, or prepare the text with this config in another folder"
        )


def check_same_run(old: Config, new: Config) -> None:
    """UserError with every option of `new` that would make another run of what `old` began, and both values."""
    changes = [
        f"{name}: the run has {before}, now {after}"
        for name, before, after in differences(old, new)
        if not name.startswith(FREE)
    ]
    if changes:
        raise UserError("cannot resume with other settings:\n" + "\n".join(changes))
