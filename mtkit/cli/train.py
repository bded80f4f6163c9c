"""`mtkit train`: prepared data to a run folder with checkpoints."""

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtkit.cli.options import config_option, debug_option, device_option, devices_option, set_option
from mtkit.support.job import all_done, anybody_spoke, goes_on, is_shared, note_begun, note_done

if TYPE_CHECKING:
    import torch

    from mtkit.config.schema import Config
    from mtkit.data.folder import PreparedData


@click.command()
@config_option()
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Prepared data folder.  [default: data.folder of the config, or data/ and the config's name]",
)
@click.option(
    "--run",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Run folder to make or to go on with.  [default: runs/ and the config's name]",
)
@click.option("--resume", is_flag=True, help="Go on from the newest complete checkpoint of the run folder.")
@click.option("--init-from", metavar="RUN", help="Begin with the weights of another run on the same vocabulary.")
@devices_option("Devices that share the work, one process each, started by torch's launcher; the result does not change.")
@set_option
@device_option
@debug_option
def train(
    config: str,
    data: Path | None,
    run: Path | None,
    resume: bool,
    init_from: str | None,
    devices: int,
    overrides: tuple[str, ...],
    device: str,
) -> None:
    """Train a Transformer on prepared data.

    Under torchrun every process runs this command and they share the work:
    torchrun --nproc_per_node 8 -m mtkit train --config base.yaml
    """
    from mtkit.config.loader import config_name, load_config
    from mtkit.data.folder import PreparedData
    from mtkit.support.device import resolve

    settings = load_config(config, overrides)
    name = config_name(config)
    prepared = PreparedData.open(data or Path(settings.data.folder or Path("data") / name))
    # The run's own config names the folder that was used, from wherever one looks: evaluate finds the test text there.
    where = {"folder": str(prepared.folder.absolute())}
    settings = settings.model_copy(update={"data": settings.data.model_copy(update=where)})
    place = resolve(device)
    if devices > 1 and "WORLD_SIZE" not in os.environ:
        _launch(devices)
        return

    def share() -> None:
        _share(settings, prepared, place, run or Path("runs") / name, init_from, resume=resume)

    if is_shared():
        from torch.distributed.elastic.multiprocessing.errors import record

        record(share)()  # torchrun shows what it records of the process that failed first
    else:
        share()


def _share(
    settings: "Config", data: "PreparedData", place: "torch.device", run: Path, init_from: str | None, *, resume: bool
) -> None:
    """This process's share of the training."""
    from mtkit.support.device import resolve
    from mtkit.support.distributed import processes
    from mtkit.training.probing import with_micro_batches
    from mtkit.training.trainer import Trainer

    with processes(place.type) as group:
        if place.type == "cuda" and group.count > 1:
            place = resolve(f"cuda:{group.local_rank}")
        trainer = Trainer(with_micro_batches(settings, data, place, group, run), data, place, group)
        if init_from is not None:  # a checkpoint to resume from replaces these weights
            trainer.start_from(Path(init_from))
        restarted = group.any(goes_on(), place)
        with trainer.open(run, resume=resume or restarted) as opened:
            note_begun()
            trainer.run(opened)
    note_done()


def _launch(devices: int) -> None:
    """Lets torch's launcher start this very command in `devices` processes, and ends as they do."""
    import logging

    from torch.distributed import run as launcher
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    threads = max(1, (os.cpu_count() or 1) // devices)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # the launcher would set 1
    for name in ("torch.distributed.elastic", "torch.distributed.elastic.agent.server.api"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the processes tell what is wrong
    with tempfile.TemporaryDirectory(prefix="mtkit-", ignore_cleanup_errors=True) as logs:
        options = ["--standalone", "--nproc_per_node", str(devices), "--log_dir", logs, "-m"]
        command = [*options, "--", "mtkit", *sys.argv[1:]]  # after the --, or --run is taken for the launcher's
        try:
            launcher.run(launcher.parse_args(command))  # type: ignore[no-untyped-call]
        except SignalException:  # the processes have got it too
            if not all_done(Path(logs), devices):
                raise KeyboardInterrupt from None
        except ChildFailedError as failed:
            rank, failure = failed.get_first_failure()
            if failure.exitcode < 0:
                raise RuntimeError(
                    f"process {rank} was ended by signal {-failure.exitcode}: out of memory, perhaps"
                ) from None
            if failure.exitcode == 130:
                raise KeyboardInterrupt from None
            if not anybody_spoke(Path(logs)):
                raise RuntimeError(f"process {rank} failed: {failure.message}") from None
            click.get_current_context().exit(failure.exitcode)
