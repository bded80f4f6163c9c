"""`mtkit average`: several checkpoints of a run to one model."""

from pathlib import Path

import click

from mtkit.cli.options import debug_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--last", metavar="N", type=click.IntRange(min=1), help="The newest N checkpoints.  [default: all that are kept]"
)
@click.option("--best", metavar="N", type=click.IntRange(min=1), help="The N checkpoints with the best validation score.")
@click.option("--steps", metavar="A,B,…", help="The checkpoints of these steps.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Run folder to make.  [default: RUN-average, beside RUN]",
)
@debug_option
def average(run: Path, last: int | None, best: int | None, steps: str | None, output: Path | None) -> None:
    """Average the weights of several checkpoints of RUN into one model.

    The result is a run folder of its own: translate and evaluate take it like any other, and take it by themselves when it
    is the newest.
    """
    from mtkit.checkpoint import open_run
    from mtkit.training import averaging

    if sum(choice is not None for choice in (last, best, steps)) > 1:
        raise click.UsageError("Give one of --last, --best and --steps.")
    opened = open_run(run)
    try:
        named = [int(step) for step in steps.split(",")] if steps is not None else []
    except ValueError:
        raise click.BadParameter(f"{steps!r} is not a list of steps such as 1000,2000.", param_hint="--steps") from None
    chosen = averaging.choose(opened, last=last or max(1, len(opened.checkpoints())), best=best or 0, steps=named)
    made = averaging.average(opened, chosen, output or run.resolve().with_name(run.resolve().name + "-average"))
    steps_used = ", ".join(str(checkpoint.state.step) for checkpoint in chosen)
    click.echo(f"averaged {len(chosen)} checkpoints of {run} (steps {steps_used}) into {made.folder}", err=True)
