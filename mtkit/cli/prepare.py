"""`mtkit prepare`: parallel text to a prepared data folder."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mtkit.cli.options import config_option, debug_option, set_option

if TYPE_CHECKING:
    from mtkit.config.schema import Config
    from mtkit.data.corpus import TestSetLoader


@click.command()
@config_option()
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to make.  [default: data.folder of the config, or data/ and the config's name]",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that clean text and turn it into numbers; their number does not change the result.",
)
@click.option("--overwrite", is_flag=True, help="Replace a data folder that is already there, once the new one is complete.")
@set_option
@debug_option
def prepare(config: str, output: Path | None, workers: int, overwrite: bool, overrides: tuple[str, ...]) -> None:
    """Clean parallel text, learn a vocabulary from it and number it.

    Reads the sections data, cleaning and vocabulary of the config. Everything `mtkit train` and `mtkit evaluate` need
    lies in the folder afterwards: they never read the original files or the network.
    """
    from mtkit.config.loader import config_name, load_config
    from mtkit.data.preparation import prepare as prepare_folder
    from mtkit.data.summary import summary

    settings = load_config(config, overrides)
    default = Path(settings.data.folder or Path("data") / config_name(config))
    folder = output or default
    report = prepare_folder(settings, folder, workers=workers, overwrite=overwrite, test_set=_test_set_loader(settings))
    for line in summary(report):
        click.echo(line, err=True)
    _fetch_test_set(settings, folder)
    data = "" if folder == default else f" --data {folder}"
    click.echo(f"what became of the text, as a page: {folder / 'report.html'}", err=True)
    click.echo(f"prepared data lies in {folder}; next: mtkit train --config {config}{data}", err=True)


def _test_set_loader(settings: "Config") -> "TestSetLoader":
    """Gives the lines of a named test set: source and first reference."""

    def load(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        from mtkit.evaluation.test_sets import load_test_set

        # sacreBLEU keeps what it has fetched, the folder that is to be made is not there yet
        found = load_test_set(name, settings.data.source_language, settings.data.target_language, None)
        return found.source, found.references[0]

    return load


def _fetch_test_set(settings: "Config", folder: Path) -> None:
    """Puts the config's named test set beside the data, so that `mtkit evaluate` needs no network later."""
    from mtkit.evaluation.test_sets import TEST_SETS, load_test_set
    from mtkit.support.errors import UserError

    name, data = settings.evaluation.test_set, settings.data
    if name:
        try:
            load_test_set(name, data.source_language, data.target_language, folder / TEST_SETS)
        except UserError as error:
            click.echo(f"WARNING: {error}; mtkit evaluate will try again", err=True)
