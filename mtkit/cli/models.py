"""The trained models that a command is to use: those named, or the newest; several as an ensemble."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mtkit.support.errors import UserError

if TYPE_CHECKING:
    import torch

    from mtkit.checkpoint import LoadedModel


def load_models(names: Sequence[str], places: Sequence["torch.device"]) -> list["LoadedModel"]:
    """The models named, or that of the newest run; says on stderr which and where. UserError if they cannot go together.

    They lie on the one place there is, or, if there are several, on the CPU.
    """
    import torch

    from mtkit.checkpoint import load_model, newest_run
    from mtkit.data.vocabularies import shortened

    paths = list(names) or [str(newest_run())]
    loaded = [load_model(path, places[0] if len(places) == 1 else torch.device("cpu")) for path in paths]
    told = " and ".join(f"{each.folder}, update {each.step}" for each in loaded)
    click.echo(f"on {', '.join(map(str, places))}: {told}{'' if names else ' (the newest run)'}", err=True)
    first = loaded[0]
    for path, each in zip(paths[1:], loaded[1:], strict=True):
        if each.vocabularies.fingerprint != first.vocabularies.fingerprint:
            raise UserError(
                f"vocabulary differs: {paths[0]} has {shortened(first.vocabularies.fingerprint)}, {path} has "
                f"{shortened(each.vocabularies.fingerprint)}: an ensemble needs models trained on the same prepared data"
            )
    return loaded
