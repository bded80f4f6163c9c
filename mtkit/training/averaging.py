"""Several checkpoints of a run to one model: the mean of their weights (Vaswani et al. 2017, section 6.1)."""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from mtkit.checkpoint import Checkpoint, Run, State, check_vocabulary, create_run
from mtkit.support.errors import UserError
from mtkit.support.files import whole_folder


def choose(run: Run, *, last: int = 0, best: int = 0, steps: Sequence[int] = ()) -> list[Checkpoint]:
    """The newest `last`, the `best` by validation score, or those of the named `steps`; UserError if not all are there."""
    candidates = run.ranked() if best else run.checkpoints()
    found = [checkpoint for checkpoint in candidates if not checkpoint.state.averaged]
    have = ", ".join(map(str, sorted(checkpoint.state.step for checkpoint in found))) or "none"
    if steps:
        by_step = {checkpoint.state.step: checkpoint for checkpoint in found}
        missing = [step for step in steps if step not in by_step]
        if missing:
            raise UserError(f"{run.folder}: no checkpoint of step {missing[0]}: there are {have}")
        return [by_step[step] for step in sorted(set(steps))]
    wanted = best or last
    if len(found) < wanted:
        kind = "validated checkpoints" if best else "checkpoints"
        raise UserError(f"{run.folder}: has {len(found)} {kind} ({have}), {wanted} were asked for")
    return sorted(found[-wanted:], key=lambda checkpoint: checkpoint.state.step)


def average(run: Run, checkpoints: Sequence[Checkpoint], output: Path) -> Run:
    """Writes a run folder `output` whose one checkpoint holds the mean weights, summed in float64 in the order of steps.

    Its provenance is that of `run`, and that it is an average.
    """
    if output.exists():
        raise UserError(f"{output}: exists already: delete it, or name another folder with --output")
    vocabularies = run.vocabularies()
    with whole_folder(output, cure=" or name another folder with --output") as folder:
        sums: dict[str, torch.Tensor] = {}
        kinds: dict[str, torch.dtype] = {}
        for checkpoint in checkpoints:
            check_vocabulary(checkpoint, vocabularies, run.folder)
            tensors = checkpoint.model_tensors()
            if sums and {name: tensor.shape for name, tensor in tensors.items()} != {n: t.shape for n, t in sums.items()}:
                raise UserError(f"{checkpoint.folder}: its weights have other shapes than those of {checkpoints[0].folder}")
            for name, tensor in tensors.items():
                kinds[name] = tensor.dtype
                sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
        means = {name: (total / len(checkpoints)).to(kinds[name]) for name, total in sums.items()}
        steps = tuple(checkpoint.state.step for checkpoint in checkpoints)
        origin = run.provenance() | {"averaged_from": str(run.folder), "steps": list(steps), "averaged_by": sys.argv}
        made = create_run(folder, run.config(), vocabularies, origin)
        made.save(State(max(steps), vocabulary=checkpoints[0].state.vocabulary, averaged=steps), means)
    return Run(output)
