"""The surface of the command line: the list that the design holds, no more and no less; its configs and scripts."""

import subprocess
from pathlib import Path

import click
import pytest

from mtkit.cli.main import COMMANDS, LazyGroup, cli
from mtkit.config.loader import load_config, shipped_configs

ROOT = Path(__file__).parents[2]

SURFACE = {
    "prepare": {"--config", "--output", "--workers", "--overwrite", "--set", "--debug"},
    "train": {"--config", "--data", "--run", "--resume", "--init-from", "--devices", "--set", "--device", "--debug"},
    "translate": {
        "--model",
        "--input",
        "--output",
        "--beam-size",
        "--n-best",
        "--format",
        "--input-format",
        "--devices",
        "--set",
        "--device",
        "--debug",
    },
    "score": {"--model", "--source", "--target", "--format", "--set", "--device", "--debug"},
    "evaluate": {
        "--model",
        "--hypothesis",
        "--test-set",
        "--source",
        "--reference",
        "--import-scores",
        "--sentences",
        "--report",
        "--format",
        "--set",
        "--device",
        "--debug",
    },
    "average": {"RUN", "--last", "--best", "--steps", "--output", "--debug"},
    "describe": {"--config", "--rate", "--format", "--set", "--debug"},
    "export": {"RUN", "--to", "--output", "--set", "--debug"},
    "report": {"RUN", "--output", "--debug"},
}
"""Whoever adds a command or an option adds it here."""

REPEATABLE = {
    ("translate", "--model"),
    ("score", "--model"),
    ("evaluate", "--model"),
    ("evaluate", "--hypothesis"),
    ("evaluate", "--reference"),
    ("evaluate", "--import-scores"),
    ("describe", "--config"),
    *((command, "--set") for command in ("prepare", "train", "translate", "score", "evaluate", "describe", "export")),
}

CHOICES = {
    ("translate", "--format"): ("text", "tsv", "jsonl"),
    ("translate", "--input-format"): ("text", "jsonl"),
    ("score", "--format"): ("text", "tsv", "jsonl"),
    ("evaluate", "--format"): ("text", "json"),
    ("describe", "--format"): ("text", "json"),
    ("export", "--to"): ("ctranslate2",),
}


REQUIRED = {
    "prepare": {"--config"},
    "train": {"--config"},
    "score": {"--source", "--target"},
    "describe": {"--config"},
    "average": {"RUN"},
    "report": {"RUN"},
    "export": {"RUN", "--to", "--output"},
}


def parameters(name: str) -> dict[str, click.Parameter]:
    """Of command `name`, by the way they are written."""
    assert isinstance(cli, LazyGroup)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    named = {}
    for parameter in command.params:
        spellings = [parameter.human_readable_name] if isinstance(parameter, click.Argument) else parameter.opts
        for spelling in [*spellings, *parameter.secondary_opts]:
            named[spelling] = parameter
    return named


def test_the_commands() -> None:
    assert list(COMMANDS) == list(SURFACE)


@pytest.mark.parametrize("name", SURFACE)
def test_the_options_of_a_command(name: str) -> None:
    found = parameters(name)
    assert set(found) == SURFACE[name]
    assert {(name, spelling) for spelling, parameter in found.items() if parameter.multiple} == {
        (command, spelling) for command, spelling in REPEATABLE if command == name
    }
    choices = {
        (name, spelling): tuple(parameter.type.choices)
        for spelling, parameter in found.items()
        if isinstance(parameter.type, click.Choice)
    }
    assert choices == {key: words for key, words in CHOICES.items() if key[0] == name}
    required = {spelling for spelling, parameter in found.items() if parameter.required}
    assert required == REQUIRED.get(name, set())


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_load(name: str) -> None:
    load_config(name)


def test_the_configs_that_the_design_names_are_shipped() -> None:
    assert {"base.yaml", "big.yaml", "demo.yaml", "multi30k.yaml", "reference.yaml"} <= set(shipped_configs())
    assert set(shipped_configs()) == {str(path.relative_to(ROOT / "configs")) for path in (ROOT / "configs").rglob("*.yaml")}


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "scripts").glob("*.sh")))
def test_shell_scripts_parse(script: str) -> None:
    done = subprocess.run(["bash", "-n", ROOT / "scripts" / script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
