"""A run's model as a folder that CTranslate2 loads: weights, its vocabulary lists, and what mtkit must tell besides.

    DIR/model.bin  config.json  shared_vocabulary.json (or source_ and target_vocabulary.json)   the runtime's
    DIR/vocabulary.model (or two)  config.yaml  provenance.json                                   mtkit's

Comes in: the path of a run or checkpoint. Goes out: the folder, whole or not at all. Knows nothing of translating with it.
"""

import json
import sys
from pathlib import Path

import torch

from mtkit.checkpoint import CONFIG, PROVENANCE, find_checkpoint, load_model
from mtkit.config.loader import dump_config
from mtkit.config.schema import Decoding
from mtkit.decoding.ctranslate2_model import check, runtime, specification
from mtkit.support.errors import UserError
from mtkit.support.files import whole_folder

LONGEST = 4096
"""Tokens of the longest sentence that a table of sinusoids is written for."""

CURE = " or name another folder with --output"


def export_ctranslate2(path: str | Path, output: Path, decoding: Decoding) -> int:
    """Writes the model of the run or checkpoint at `path`, with weights in `decoding.precision`; returns its step.

    UserError with all reasons if the runtime cannot compute it; if `output` exists or cannot be written.
    """
    run, _ = find_checkpoint(path)
    check(run.config().model)
    if output.exists():
        raise UserError(f"{output}: exists already: delete it, or name another folder with --output")
    version = runtime().__version__
    loaded = load_model(path, torch.device("cpu"))
    spec = specification(loaded.model, loaded.vocabularies, LONGEST)
    spec.optimize(quantization=decoding.precision)
    need = sum(weight.num_bytes() for weight in spec.variables().values() if not isinstance(weight, str))
    origin = run.provenance() | {
        "exported_from": str(loaded.folder),
        "step": loaded.step,
        "exported_by": sys.argv,
        "ctranslate2": version,
    }
    with whole_folder(output, cure=CURE, need=need) as folder:
        spec.save(str(folder))
        loaded.vocabularies.save(folder)
        config = loaded.config.model_copy(update={"decoding": decoding})
        (folder / CONFIG).write_text(dump_config(config), encoding="utf-8")
        (folder / PROVENANCE).write_text(json.dumps(origin, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return loaded.step
