"""Where a run comes from: command, versions, seed, and fingerprints of its text and vocabulary."""

import importlib.metadata
import platform
import subprocess
import sys
import time
from pathlib import Path

import mtkit
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.support.files import sha256

PACKAGES = ("torch", "sentencepiece", "sacrebleu", "numpy", "safetensors")


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
        "data": training_fingerprints(data),
        "validation": text_fingerprints(data, "validation"),
        "test": text_fingerprints(data, "test"),
        "vocabulary": data.report.vocabulary_fingerprint,
    }


def training_fingerprints(data: PreparedData) -> dict[str, str | int]:
    """Those of the training text as it was prepared, with the weights and tags of its corpora where there are any."""
    train = data.report.splits["train"]
    found: dict[str, str | int] = {"source_sha256": train.source_sha256, "target_sha256": train.target_sha256}
    found["pairs"] = train.lines
    if any(part.weight != 1.0 or part.tag for part in train.parts):
        found["corpora"] = ", ".join(f"{part.kept} x {part.weight} {part.tag}".rstrip() for part in train.parts)
    return found


def text_fingerprints(data: PreparedData, split: str) -> dict[str, str] | None:
    """Those of the text of `split` as it is now, and not as it was prepared; None if it is not there."""
    languages = {"source_sha256": data.report.source_language, "target_sha256": data.report.target_language}
    paths = {side: data.folder / f"{split}.{language}" for side, language in languages.items()}
    if split not in data.report.splits or not all(path.is_file() for path in paths.values()):
        return None
    return {side: sha256(path) for side, path in paths.items()}


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
