"""`mtkit export`: a run's model to a folder for another runtime."""

from pathlib import Path

import click

from mtkit.cli.options import check_section, debug_option, set_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--to", "runtime", type=click.Choice(["ctranslate2"]), required=True, help="The runtime that is to load the folder."
)
@click.option("--output", metavar="DIR", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@set_option
@debug_option
def export(run: Path, runtime: str, output: Path, overrides: tuple[str, ...]) -> None:
    """Write the model of RUN (its best checkpoint, or the checkpoint folder named) for another runtime.

    The folder needs neither mtkit nor torch. It holds the weights in decoding.precision (set decoding.precision=int8 for a
    quarter of the size), the vocabulary as a SentencePiece model, and where it comes from. Models that the runtime cannot
    compute are refused with all reasons.

    \b
    What mtkit's options are called in ctranslate2.Translator.translate_batch:
      tokens                the SentencePiece model's, without control tokens
      beam_size, n_best     beam_size, num_hypotheses
      alpha                 length_penalty, for decoding.length_penalty=average;
                            score = log-probability / length^alpha, end token
                            counted; it has no gnmt
      max_length_*          max_decoding_length, one number for the whole batch
      (always)              disable_unk=True, min_decoding_length=0,
                            max_input_length=0, suppress_sequences=[["<pad>"],
                            ["<s>"]]

    mtkit translate --set decoding.engine=ctranslate2 does all this itself, from RUN.
    """
    from mtkit.checkpoint import find_checkpoint
    from mtkit.config.loader import override_config
    from mtkit.export.formats import FORMATS

    check_section("export", "decoding", overrides)
    decoding = override_config(find_checkpoint(run)[0].config(), overrides).decoding
    step = FORMATS[runtime](run, output, decoding)
    click.echo(f"wrote the model of {run}, update {step}, weights in {decoding.precision}, to {output}", err=True)
