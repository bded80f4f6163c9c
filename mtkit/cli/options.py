"""Options that several commands share, so that they are spelt and explained alike everywhere.

Comes in: a command's function. Goes out: the same function with one more option. Knows nothing of what commands do.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from mtkit.support.errors import UserError

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Session:
    """What `main` must still know after a command has failed: the `obj` of the outermost click context."""

    debug: bool = False


def config_option(*, required: bool = True) -> Callable[[Command], Command]:
    """Adds `--config FILE`, given to the command as `config`: a path or the name of a shipped config, or None."""
    return click.option(
        "--config",
        metavar="FILE",
        required=required,
        help="Config file, or the name of one that ships with mtkit, such as base.yaml.",
    )


def set_option(command: Command) -> Command:
    """Adds `--set section.option=value`, given to the command as the tuple `overrides`."""
    return click.option(
        "--set",
        "overrides",
        metavar="SECTION.OPTION=VALUE",
        multiple=True,
        help="Replace one option of the config, such as training.updates=1000. May be repeated.",
    )(command)


def check_section(command: str, section: str, overrides: Sequence[str]) -> None:
    """UserError naming the first of `overrides` that is not of the one section that `command` reads."""
    for override in overrides:
        if not override.startswith(f"{section}."):
            raise UserError(f"--set {override}: {command} only has use for the section {section}")


def _check_device(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", value, flags=re.ASCII):
        raise click.BadParameter(f"{value!r} is not one of auto, cpu, cuda, cuda:N.")
    return value


def device_option(command: Command) -> Command:
    """Adds `--device`, given as the text `device`: auto, cpu, cuda or cuda:N, there or not."""
    return click.option(
        "--device",
        metavar="DEVICE",
        default="auto",
        show_default=True,
        callback=_check_device,
        help="auto, cpu, cuda or cuda:N; auto takes a GPU where there is one.",
    )(command)


def devices_option(words: str) -> Callable[[Command], Command]:
    """Adds `--devices`, given as the number `devices`; `words` tell what they share."""
    return click.option("--devices", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help=words)


def models_option(command: Command) -> Command:
    """Adds `--model`, which may be repeated, given as the tuple `models`: one model or an ensemble."""
    return click.option(
        "--model",
        "models",
        metavar="RUN",
        multiple=True,
        help="Run folder, or one of its checkpoints; several are an ensemble.  [default: newest in runs/]",
    )(command)


def _note_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    session = context.find_object(Session)
    if session is not None and value:
        session.debug = True


def debug_option(command: Command) -> Command:
    """Adds `--debug`. The command gets nothing: `main` is told through the `Session`."""
    return click.option(
        "--debug",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_debug,
        help="Print the traceback of an internal failure.",
    )(command)
