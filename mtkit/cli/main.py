"""The command `mtkit`: finds the command that is asked for, runs it and turns whatever happens into an exit code.

Comes in: the command line. Goes out: 0 did all that was asked, 2 a mistake the user can mend, 1 a fault of ours, 130
interrupted. Knows of each command its module and one line of help, so that `mtkit --help` imports none of them.
"""

import contextlib
import difflib
import importlib
import importlib.metadata
import io
import os
import platform
import select
import signal
import sys
import traceback
from pathlib import Path

import click

import mtkit
from mtkit.cli.options import Session, debug_option
from mtkit.support.errors import UserError
from mtkit.support.job import is_shared, may_speak

COMMANDS: dict[str, tuple[str, str, str]] = {
    "prepare": ("mtkit.cli.prepare", "prepare", "Turn parallel text into a vocabulary and numbered sentence pairs."),
    "train": ("mtkit.cli.train", "train", "Train a Transformer on prepared data, or go on with a stopped run."),
    "translate": ("mtkit.cli.translate", "translate", "Translate lines of text with a trained model."),
    "score": ("mtkit.cli.score", "score", "Tell how probable a model finds given translations."),
    "evaluate": ("mtkit.cli.evaluate", "evaluate", "Score a model or a file of translations on a test set."),
    "average": ("mtkit.cli.average", "average", "Average the weights of a run's checkpoints into one model."),
    "describe": ("mtkit.cli.describe", "describe", "Tell what configs amount to, before anything is trained."),
    "export": ("mtkit.cli.export", "export", "Write a trained model for another runtime (CTranslate2)."),
    "report": ("mtkit.cli.report", "report", "Write one HTML page about a training run: curves, samples, config."),
}
"""Name of a command: its module, the click command in it, its line in `mtkit --help`."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command), f"{module}.{attribute} is not a click command"
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with a suggestion for a misspelt name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"No such command {name!r} ({hint}).", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


def _print_versions(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    click.echo(f"mtkit {mtkit.__version__}\nPython {platform.python_version()}")
    for package in ("torch", "sentencepiece", "sacrebleu"):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            version = "is not installed"
        click.echo(f"{package} {version}")
    context.exit()


@click.group(cls=LazyGroup)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Show the versions of mtkit and of what its results depend on.",
)
@debug_option
def cli() -> None:
    """Machine translation from raw text to a scored translation.

    The order of the work is that of the commands below; `mtkit COMMAND --help` tells more about each.
    """


def main() -> int:
    """Runs the command line in sys.argv and returns the exit code. Never raises for what a command raises."""
    # Threads that wait for each other must sleep, not spin: with a busy neighbour on one of the cores, spinning makes
    # small matrix products ten times slower. Read by OpenMP when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    _speak_utf8()
    session = Session()
    try:
        return _run(sys.argv[1:] or ["--help"], session)
    except (click.Abort, KeyboardInterrupt):
        if not is_shared():  # else the launcher tells
            _say("Interrupted.")
        return 130
    except Exception as error:  # noqa: BLE001 - the last stop before the user
        return _told(error, session)
    finally:
        _drop_unwritable()


def _run(arguments: list[str], session: Session) -> int:
    """What click's own main does, but for one thing: that one takes every broken pipe for a reader that has gone."""
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with cli.make_context("mtkit", arguments, obj=session) as context:
            cli.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def _told(error: Exception, session: Session) -> int:
    """Says what went wrong, if it is this process's to say; returns the exit code."""
    if isinstance(error, BrokenPipeError) and _reader_is_gone():
        return 0  # `mtkit translate | head` got all it asked for
    error = _of_stdout(error)
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "mtkit"
        code, told = 2, f"{error.format_message()} See '{where} --help'."
    elif isinstance(error, click.ClickException):
        code, told = 2, error.format_message()
    elif isinstance(error, UserError):
        code, told = 2, str(error)
    else:
        hint = "" if session.debug else "\nrun again with --debug for the traceback"
        kind = type(error).__name__
        code, told = 1, f"internal failure: {f'{kind}: {error}' if str(error) else kind}{hint}"
    if may_speak(error):
        if code == 1 and session.debug:
            _say(traceback.format_exc())
        _say(f"Error: {told}")
    return code


def _of_stdout(error: Exception) -> Exception:
    """A full disk that none of our own files has met is that of stdout, and the user's to mend."""
    from mtkit.support.files import NO_ROOM, UnwritableError

    if isinstance(error, OSError) and error.filename is None and error.errno in NO_ROOM:
        return UnwritableError(Path("stdout"), os.strerror(error.errno), NO_ROOM[error.errno], " where it is sent to")
    return error


def _speak_utf8() -> None:
    """Text goes out as UTF-8 whatever the locale; a file name that is not text must not break a message.

    Where stderr is closed, what is told goes nowhere: Python would print it to stdout, among the data.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")


def _say(message: str) -> None:
    """Prints to stderr, if anyone listens."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def _reader_is_gone() -> bool:
    """Whether stdout is a pipe that nobody reads any more."""
    poll = select.poll()
    poll.register(1, 0)  # errors are always reported
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _drop_unwritable() -> None:
    """Sends what cannot be written to nowhere, or Python would complain about it once more at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main())
