"""`mtkit report`: a run folder to one HTML page about it."""

from pathlib import Path

import click

from mtkit.cli.options import debug_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--output",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Page to write; an old one is replaced.  [default: report.html in RUN]",
)
@debug_option
def report(run: Path, output: Path | None) -> None:
    """Write one HTML page about the training RUN, finished or not.

    It shows the learning curves, sample translations, the checkpoints and the config, and needs no network to be read.
    Every checkpoint is checked, so with large models this takes as long as reading them.
    """
    from mtkit.checkpoint import open_run
    from mtkit.inspection.report import write_report

    target = output or run / "report.html"
    write_report(open_run(run), target)
    click.echo(f"report on {run} is in {target}", err=True)
