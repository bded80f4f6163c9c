"""The run folder: what of a training lies on disk, and how it is read.

    RUN/config.yaml  vocabulary.model (or two: see data/vocabularies)  provenance.json  metrics.jsonl
    RUN/checkpoints/step-00001000/  model.safetensors  optimizer.safetensors  state.json

Comes in: weights, moments, a position. Goes out: the same. A checkpoint appears whole or not at all, `state.json` holds the
sha256 of its other files, and nothing is pickled. Knows nothing of how training works.
"""

import fcntl
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from torch import Tensor

from mtkit.config.loader import dump_config, load_config
from mtkit.config.schema import Config
from mtkit.data.vocabularies import Vocabularies, shortened
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError
from mtkit.support.files import TEMPORARY, remove_folder, remove_leftovers, sha256, whole_folder, write_text, writing

FORMAT_VERSION = 1
CONFIG, PROVENANCE, METRICS = "config.yaml", "provenance.json", "metrics.jsonl"
LOCK = ".lock"
CHECKPOINTS, MODEL, OPTIMIZER, STATE = "checkpoints", "model.safetensors", "optimizer.safetensors", "state.json"

GO_ON = " and go on with --resume; the checkpoints before it are untouched"

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class State:
    """What `state.json` says of a checkpoint. Scores are those of a validation after this very update, if there was one."""

    step: int  # updates done
    loss: float | None = None  # mean negative log-likelihood of the validation target tokens, nats
    bleu: float | None = None  # sacreBLEU of the validation translation
    measure: str = ""  # how the BLEU came about: numbers of different measures do not compare
    format_version: int = FORMAT_VERSION
    vocabulary: str = ""  # fingerprint of the vocabularies that the weights were learned with
    files: dict[str, str] = field(default_factory=dict)  # name -> sha256
    averaged: tuple[int, ...] = ()  # steps whose mean this is; empty for a checkpoint of training

    @property
    def validated(self) -> bool:
        """Whether it has a score."""
        return self.loss is not None or self.bleu is not None


def goodness(states: Iterable[State]) -> Callable[[State], tuple[float, float, int]]:
    """What to sort `states` by, the best last: BLEU if all that are validated have one of the same measure, else the loss.

    So a change of how BLEU is measured, or whether, neither freezes the best nor sets it back. Of equals the newest wins.
    """
    measures = {(state.bleu is not None, state.measure) for state in states if state.validated}
    by_bleu = len(measures) == 1 and all(measured for measured, _ in measures)

    def known(score: float | None) -> float:
        return float("-inf") if score is None or math.isnan(score) else score

    def key(state: State) -> tuple[float, float, int]:
        return known(state.bleu) if by_bleu else 0.0, known(None if state.loss is None else -state.loss), state.step

    return key


@dataclass(frozen=True)
class Checkpoint:
    """One complete folder below RUN/checkpoints."""

    folder: Path
    state: State
    fault: str | None = None  # what is wrong with its state.json; of `state` only the step is known then

    def model_tensors(self) -> dict[str, Tensor]:
        """The weights by name, checked against their sha256."""
        return self._tensors(MODEL)

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """The optimizer's moments by name, checked against their sha256."""
        return self._tensors(OPTIMIZER)

    def damage(self) -> str | None:
        """The first file that is missing or not as it was written, or None."""
        damages = (self._damage_of(name) for name in self.state.files)
        return self.fault or next((damage for damage in damages if damage), None)

    def _damage_of(self, name: str) -> str | None:
        file = self.folder / name
        if not file.is_file():
            return f"{file}: missing"
        return None if sha256(file) == self.state.files[name] else f"{file}: damaged (its sha256 is not the one in {STATE})"

    def _tensors(self, name: str) -> dict[str, Tensor]:
        if not self.fault and name not in self.state.files:
            raise UserError(f"{self.folder}: has no {name}: training cannot go on from it (an average, perhaps)")
        damage = self.fault or self._damage_of(name)
        if damage:
            raise UserError(f"{damage}: use another checkpoint of the run")
        try:
            return safetensors.torch.load_file(self.folder / name)
        except (SafetensorError, OSError) as error:
            raise UserError(f"{self.folder / name}: cannot be read: {error}") from None


@dataclass(frozen=True)
class Run:
    """A run folder, opened."""

    folder: Path

    @property
    def checkpoint_folder(self) -> Path:
        """Where the checkpoints lie."""
        return self.folder / CHECKPOINTS

    def config(self) -> Config:
        """The resolved config of the run."""
        return load_config(str(self.folder / CONFIG))

    def vocabularies(self) -> Vocabularies:
        """The vocabularies of the run, as many as its config says."""
        return Vocabularies.load(self.folder, shared=self.config().vocabulary.shared)

    def provenance(self) -> dict[str, Any]:
        """Where the run comes from, as `create_run` was told. UserError if that cannot be read."""
        file = self.folder / PROVENANCE
        try:
            return TypeAdapter(dict[str, Any]).validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            raise UserError(f"{file}: missing or damaged ({_fault(error)}): the run cannot go on without it") from None

    def describe(self, config: Config, provenance: Mapping[str, object]) -> None:
        """Writes down what the run is and where it comes from."""
        write_text(self.folder / PROVENANCE, json.dumps(provenance, indent=1, ensure_ascii=False) + "\n")
        write_text(self.folder / CONFIG, dump_config(config))

    def checkpoints(self) -> list[Checkpoint]:
        """All complete checkpoints by step, oldest first. Whether their files are sound is not looked at."""
        folders = self.checkpoint_folder.glob("step-*") if self.checkpoint_folder.is_dir() else []
        return [_read_checkpoint(folder) for folder in sorted(folders) if _is_checkpoint(folder)]

    def latest(self, *, warn: bool = True) -> Checkpoint | None:
        """The sound checkpoint with the highest step; a damaged newer one is named on stderr. None if there is none."""
        for checkpoint in reversed(self.checkpoints()):
            damage = checkpoint.damage()
            if damage is None:
                return checkpoint
            if warn:
                print(f"WARNING: {damage}: using the checkpoint before it", file=sys.stderr)
        return None

    def best(self) -> Checkpoint | None:
        """The checkpoint with the best validation score (the newest of equals), or the latest where none was validated."""
        ranked = self.ranked()
        return ranked[-1] if ranked else self.latest()

    def ranked(self, *, warn: bool = True) -> list[Checkpoint]:
        """The validated checkpoints by `goodness`, the best last. One whose scores cannot be read is named on stderr."""
        found = self.checkpoints()
        scored = [checkpoint for checkpoint in found if checkpoint.state.validated]
        for fault in [checkpoint.fault for checkpoint in found if checkpoint.fault and warn and scored]:
            print(f"WARNING: {fault}: passed over", file=sys.stderr)
        key = goodness(checkpoint.state for checkpoint in scored)
        return sorted(scored, key=lambda checkpoint: key(checkpoint.state))

    def save(self, state: State, model: Tensors, optimizer: Tensors | None = None) -> Checkpoint:
        """Writes one checkpoint, whole or not at all. UserError with need and room if the disk is full."""
        parts = {MODEL: model} | ({OPTIMIZER: optimizer} if optimizer is not None else {})
        need = sum(tensor.numel() * tensor.element_size() for tensors in parts.values() for tensor in tensors.values())
        path = self.checkpoint_folder / f"step-{state.step:08d}"
        with whole_folder(path, replace=True, cure=GO_ON, need=need) as folder:
            for name, tensors in parts.items():
                _write_tensors(tensors, folder / name)
            files = {name: sha256(folder / name) for name in parts}
            complete = State(**(asdict(state) | {"files": files, "averaged": tuple(state.averaged)}))
            (folder / STATE).write_text(json.dumps(asdict(complete), indent=1), encoding="utf-8")
        return Checkpoint(path, complete)

    def thin(self, keep_last: int, keep_best: int) -> None:
        """Deletes all but the newest `keep_last` and the best `keep_best` checkpoints."""
        found = self.checkpoints()
        best = self.ranked(warn=False)[-keep_best:] if keep_best else []
        keep = {checkpoint.folder for checkpoint in found[-keep_last:] + best}
        for checkpoint in found:
            if checkpoint.folder not in keep:
                remove_folder(checkpoint.folder)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held by the one process that writes; UserError if another one does. Clears what a killed one left behind."""
        with writing(self.folder, cure=" or take another --run"):
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = (self.folder / LOCK).open("w")
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError(
                    f"{self.folder}: another mtkit is writing to it: wait for it or take another --run"
                ) from None
            for folder in (self.folder, self.checkpoint_folder):
                remove_leftovers(folder)
            yield


def _is_checkpoint(folder: Path) -> bool:
    return bool(re.fullmatch(r"step-\d+", folder.absolute().name)) and (folder / STATE).is_file()


def _read_checkpoint(folder: Path) -> Checkpoint:
    """What `folder` says of itself. UserError if a newer mtkit wrote it."""
    file = folder / STATE
    step = int(folder.absolute().name.removeprefix("step-"))
    try:
        content = file.read_bytes()
        version = TypeAdapter(dict[str, Any]).validate_json(content).get("format_version")
        if isinstance(version, int) and version > FORMAT_VERSION:
            raise UserError(
                f"{file}: written in format {version}, this mtkit reads up to {FORMAT_VERSION}: use a newer mtkit"
            )
        state = TypeAdapter(State).validate_json(content, strict=True)
    except (OSError, ValidationError) as error:
        return Checkpoint(folder, State(step), fault=f"{file}: damaged ({_fault(error)})")
    fault = f"is of step {state.step}" if state.step != step else "" if MODEL in state.files else f"names no {MODEL}"
    return Checkpoint(folder, State(step), f"{file}: damaged ({fault})") if fault else Checkpoint(folder, state)


def _fault(error: OSError | ValidationError) -> str:
    """What is wrong with a file of ours, on one line."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    first = error.errors(include_url=False, include_context=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def _write_tensors(tensors: Tensors, file: Path) -> None:
    """A safetensors file. Tensors may share or skip memory. OSError if it cannot be written."""
    try:
        safetensors.torch.save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, file)
    except SafetensorError as error:
        if found := re.search(r"os error (\d+)", str(error)):  # it tells of the system's errors in words only
            raise OSError(int(found[1]), os.strerror(int(found[1])), file) from error
        raise


def open_run(path: str | Path) -> Run:
    """The run at `path`. UserError if it is none."""
    folder = Path(path)
    if not (folder / CONFIG).is_file():
        raise UserError(f"{folder.absolute()}: not a run folder (no {CONFIG} in it): give the --run folder of mtkit train")
    return Run(folder)


def create_run(folder: Path, config: Config, vocabularies: Vocabularies, provenance: Mapping[str, object]) -> Run:
    """Makes a run folder stand alone: its config, its vocabularies, where it comes from."""
    assert config.vocabulary.shared == vocabularies.shared, "the config says how to read them"
    folder.mkdir(parents=True, exist_ok=True)
    vocabularies.save(folder)
    run = Run(folder)
    run.describe(config, provenance)  # last: a folder with a config is a run
    return run


def newest_run(root: str | Path = "runs") -> Path:
    """The run below `root` whose newest checkpoint was written last. UserError if there is none."""
    states = [
        (state.stat().st_mtime_ns, state.parents[2])
        for state in Path(root).glob(f"*/{CHECKPOINTS}/step-*/{STATE}")
        if (state.parents[2] / CONFIG).is_file() and not state.parents[2].name.startswith(TEMPORARY)
    ]
    if not states:
        raise UserError(
            f"no trained model below {Path(root).absolute()}: run mtkit train first, or name one with --model RUN"
        )
    return max(states)[1]


@dataclass(frozen=True)
class LoadedModel:
    """A trained model ready to use, in evaluation mode, with what belongs to it."""

    model: Transformer
    vocabularies: Vocabularies
    config: Config
    folder: Path  # of the run
    step: int
    checkpoint: Path  # its folder


def find_checkpoint(path: str | Path) -> tuple[Run, Checkpoint]:
    """`path` is a run folder (its best checkpoint is meant), or one folder below its checkpoints/."""
    folder = Path(path)
    if _is_checkpoint(folder):
        checkpoint = _read_checkpoint(folder)
        if checkpoint.fault:
            raise UserError(f"{checkpoint.fault}: use another checkpoint of the run")
        return open_run(folder.absolute().parents[1]), checkpoint
    run = open_run(folder)
    best = run.best()
    if best is None:
        raise UserError(f"{run.folder}: has no complete checkpoint yet")
    return run, best


def load_model(path: str | Path, device: torch.device) -> LoadedModel:
    """The model of a run folder or checkpoint folder, on `device`. UserError if files are missing, damaged or unlike."""
    run, checkpoint = find_checkpoint(path)
    config, vocabularies = run.config(), run.vocabularies()
    check_vocabulary(checkpoint, vocabularies, run.folder)
    model = Transformer(config.model, len(vocabularies.target), len(vocabularies.source))
    load_weights(model, checkpoint)
    return LoadedModel(model.to(device).eval(), vocabularies, config, run.folder, checkpoint.state.step, checkpoint.folder)


def check_vocabulary(checkpoint: Checkpoint, vocabularies: Vocabularies, folder: Path) -> None:
    """UserError if `vocabularies`, which lie in `folder`, are not those the weights were learned with."""
    if vocabularies.fingerprint != checkpoint.state.vocabulary:
        raise UserError(
            f"vocabulary differs: checkpoint {checkpoint.folder} has {shortened(checkpoint.state.vocabulary)}, "
            f"{folder / vocabularies.file_name} has {shortened(vocabularies.fingerprint)}: "
            "use the data that the model was trained on"
        )


def load_weights(model: Transformer, checkpoint: Checkpoint) -> None:
    """Puts the weights of `checkpoint` into `model`; UserError naming the first that does not fit."""
    tensors, own = checkpoint.model_tensors(), model.state_dict()
    for name in sorted(own.keys() | tensors.keys()):
        have = tuple(tensors[name].shape) if name in tensors else "missing"
        want = tuple(own[name].shape) if name in own else "missing"
        if have != want:
            raise UserError(f"{checkpoint.folder / MODEL}: {name} is {have}, the config asks for {want}")
    model.load_state_dict(tensors)
