"""`mtkit describe`: configs to what they amount to, in weights, operations, memory and hours."""

import math

import click

from mtkit.cli.options import debug_option, set_option

SLOWEST = 0.001
"""Target tokens a second: with fewer, hours are no longer numbers."""


def _check_rate(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value >= SLOWEST):
        raise click.BadParameter(f"{value:g} is not a number of target tokens a second of at least {SLOWEST}.")
    return value


@click.command()
@click.option(
    "--config",
    "configs",
    metavar="FILE",
    multiple=True,
    required=True,
    help="Config file, name of a config that ships with mtkit, or a folder of either kind, which means all in it "
    "(ablations: Table 3 of the paper; variants: what has been tried since). May be repeated.",
)
@click.option(
    "--rate",
    metavar="N",
    type=float,
    default=10_000,
    show_default=True,
    callback=_check_rate,
    help="Target tokens a second that the hours of training are told for.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@set_option
@debug_option
def describe(configs: tuple[str, ...], rate: float, form: str, overrides: tuple[str, ...]) -> None:
    """Tell what configs amount to before anything is trained: weights by part, tokens an update, floating-point operations
    a token, memory for training and decoding, hours of training; and what the paper says of such a model.

    One config is told in detail, several are rows of a table. JSON is always a list with all there is of each.
    """
    import json

    from mtkit.config.loader import config_names, load_config
    from mtkit.inspection import description_text
    from mtkit.inspection.describe import describe as described

    names = [name for given in configs for name in config_names(given)]
    settings = [load_config(name, overrides) for name in names]
    found = [described(name, config, rate) for name, config in zip(names, settings, strict=True)]
    if form == "json":
        click.echo(json.dumps([description.to_json() for description in found], indent=1))
    elif len(found) == 1:
        click.echo(description_text.details(found[0]))
    else:
        click.echo(description_text.table(found))
