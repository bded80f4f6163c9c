"""`mtkit describe` as a user meets it; what it counts is in tests/inspection."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtkit.config.catalogue import Entry, catalogue
from mtkit.config.loader import load_config, shipped_configs
from mtkit.config.schema import LARGEST
from mtkit.inspection.describe import describe as described
from mtkit.support.errors import UserError

Call = Callable[..., "subprocess.CompletedProcess[str]"]

README = Path(__file__).parents[2] / "README.md"

EVERYTHING = ("--config", "base", "--config", "big", "--config", "ablations", "--config", "variants")


@pytest.fixture
def told(mtkit: Call, tmp_path: Path) -> Callable[..., str]:
    """told(*arguments): the output of a describe that succeeds, in an empty folder."""

    def call(*arguments: str) -> str:
        done = mtkit(tmp_path, "describe", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return call


def cells(text: str, start: str) -> list[str]:
    """The words of the line that begins with `start`, behind it."""
    (line,) = [line for line in text.splitlines() if line.startswith(start + " ")]
    return line.removeprefix(start).split()


def test_one_config_in_detail(told: Callable[..., str]) -> None:
    text = told("--config", "base")
    assert text.startswith("base: 6 + 6 layers, d_model 512, d_ff 2048, 8 heads, 37,000 pieces\n")
    assert "the paper (Table 3, base): 65 million weights, BLEU 25.8 on newstest2013\n" in text
    assert cells(text, "embedding of source, target, output") == ["18,944,000", "30.0%", "37.9"]
    assert cells(text, "decoder cross-attention") == ["6,303,744", "10.0%", "6.3", "6.7"]
    assert cells(text, "in all") == ["63,082,496", "100.0%", "44.4", "82.7"]
    assert cells(text, "forward and backward") == ["133.2", "248.0"]
    assert "at most 25,000 tokens on each side: 8 x 3,125\n" in text
    assert "100,000 updates: at most 2,500 million target tokens" in text
    assert "69.4 hours at 10,000 target tokens/s\n" in text
    assert "weights 252 MB, gradients 252 MB, moments 505 MB" in text
    assert "positions" not in text  # the base model has no weights there


def test_what_is_not_the_papers_is_named(told: Callable[..., str]) -> None:
    text = told("--config", "variants/modern")
    assert "\npositions rotary, norm rms, norm_placement pre, feedforward swiglu\n" in text
    assert "paper" not in text
    experts = told("--config", "variants/experts.yaml")
    assert cells(experts, "that one token meets")[0] == "63,137,792"
    own = told("--config", "variants/untied.yaml")
    for part in ("embedding of source", "embedding of target", "output layer"):
        assert cells(own, part)[0] == "18,944,000"


def test_several_configs_as_one_table(told: Callable[..., str]) -> None:
    text = told(*EVERYTHING)
    table, legend = text.split("\n\n")
    rows = table.splitlines()[2:]
    names = [row.split()[0] for row in rows]
    in_folders = {name.removesuffix(".yaml") for name in shipped_configs() if "/" in name}
    assert names[:2] == ["base", "big"]
    assert set(names[2:]) == in_folders
    assert len(names) == 2 + len(in_folders)
    heads = [name for name in names if "heads_" in name]
    assert heads == [f"ablations/heads_{count}" for count in (1, 4, 16, 32)]
    weights_paper_and_bleu = {"base": "63.1 65 25.8", "big": "214.2 213 26.4", "ablations/layers_2": "33.7 36 23.7"}
    for name, expected in weights_paper_and_bleu.items():
        assert " ".join(cells(table, name)[3:6]) == expected
    assert cells(table, "ablations/heads_1")[4] == "24.9"  # the paper prints no count there
    assert cells(table, "variants/alibi")[4:6] == ["44.4", "82.7"]
    for word in ("M weights", "paper", "MFLOP a token", "GB", "training"):
        assert any(line.startswith(word) for line in legend.splitlines()), word


def test_the_readme_shows_what_is_printed(told: Callable[..., str]) -> None:
    shown = README.read_text("utf-8").split("## What a model costs")[1].split("\n## ")[0]
    command, details, more, table = re.findall(r"```(?:bash|text)\n(.*?)```", shown, flags=re.DOTALL)
    assert details == told(*command.split()[2:])
    whole = told(*more.split()[2:]).splitlines()
    assert [line for line in table.splitlines() if line not in whole] == []


def test_numbers_stand_under_each_other(told: Callable[..., str]) -> None:
    text = told(*EVERYTHING)
    assert max(map(len, text.splitlines())) <= 125
    rows = text.split("\n\n")[0].splitlines()[1:]
    for column in ("source", "target", "update", "train", "decode", "FLOP", "hours"):
        end = rows[0].index(f" {column}") + 1 + len(column)
        assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows), column
    assert all(line == line.rstrip() for line in text.splitlines())


def test_long_names_lose_their_beginning(told: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 20) / "deep" / "down"
    folder.mkdir(parents=True)
    for number in (2, 10):
        (folder / f"experiment_{number}.yaml").write_text(f"model: {{heads: {2 ** (number // 5)}}}\n")
    (folder / "notes.txt").touch()
    text = told("--config", str(folder))
    rows = text.splitlines()[2:4]
    assert max(map(len, text.splitlines())) <= 125
    assert [row.split()[0].rpartition("/")[2] for row in rows] == ["experiment_2", "experiment_10"]
    assert all(row.startswith("…") for row in rows)


def test_absurd_sizes_leave_the_names(told: Callable[..., str]) -> None:
    absurd = ("model.d_model=1000000", "model.heads=1", "model.encoder_layers=10000", "training.updates=1000000000000")
    text = told("--config", "base", "--config", "big", *(part for option in absurd for part in ("--set", option)))
    assert [row.split()[0] for row in text.splitlines()[2:4]] == ["base", "big"]


def test_the_legend_tells_of_shorter_sentences(told: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text("cleaning: {max_tokens: 9}\n")
    short = str(tmp_path / "short.yaml")
    assert "in sentences of 30 tokens; with" in told("--config", "base", "--config", "big")
    assert "in sentences of 30 tokens or as many as the config allows; with" in told("--config", "base", "--config", short)


def test_json_tells_all(told: Callable[..., str]) -> None:
    (base,) = json.loads(told("--config", "base", "--format", "json"))
    config = load_config("base")
    assert base == json.loads(json.dumps(described("base", config, 10_000.0).to_json()))
    assert base["parameters"]["total"] == sum(base["parameters"]["parts"].values()) == 63_082_496
    assert base["paper"] == {"table_3_row": "base", "parameters": 65_000_000, "bleu_newstest2013": 25.8}
    for side in ("source", "target"):
        operations = base[f"operations_per_{side}_token"]
        assert set(operations["parts"]) == set(base["parameters"]["parts"])
        assert operations["forward"] == sum(operations["parts"].values())
        assert operations["forward_and_backward"] == 3 * operations["forward"]
    assert base["update"] == {"micro_batches": 8, "passes": 1, "source_tokens": 25_000, "target_tokens": 25_000}
    both = sum(base[f"operations_per_{side}_token"]["forward_and_backward"] for side in ("source", "target"))
    assert base["training"]["operations"] == 2_500_000_000 * both
    for memory in base["memory_bytes"].values():
        assert memory["total"] == sum(value for key, value in memory.items() if key != "total")


def test_json_is_a_list_in_the_order_asked(told: Callable[..., str]) -> None:
    found: list[dict[str, Any]] = json.loads(told("--config", "variants/rotary", "--config", "base", "--format", "json"))
    assert [description["config"] for description in found] == ["variants/rotary", "base"]
    assert found[0]["paper"] is None


@pytest.mark.parametrize(("rate", "hours"), [("10000", 69.44), ("1e6", 0.6944), ("0.5", 1_388_888.9)])
def test_hours_at_a_rate(told: Callable[..., str], rate: str, hours: float) -> None:
    (found,) = json.loads(told("--config", "base", "--rate", rate, "--format", "json"))
    assert found["training"]["hours"] == pytest.approx(hours, rel=1e-3)
    assert found["training"]["target_tokens_per_second"] == float(rate)


def test_set_applies_to_all(told: Callable[..., str]) -> None:
    arguments = ("--config", "base", "--config", "variants/swiglu", "--format", "json")
    found = json.loads(told(*arguments, "--set", "training.update_tokens=10000", "--set", "vocabulary.size=1000"))
    for description in found:
        # as many micro-batches of 3,125 as fit
        assert description["update"] == {"micro_batches": 3, "passes": 1, "source_tokens": 9375, "target_tokens": 9375}
        assert description["parameters"]["parts"]["embedding"] == 512_000
        assert description["paper"] is None


def test_what_training_adds_is_told(told: Callable[..., str]) -> None:
    plain, more = (
        json.loads(told("--config", "base", "--format", "json", *extra))[0]
        for extra in ((), ("--set", "training.rdrop=5", "--set", "training.optimizer.average=0.999"))
    )
    assert more["training"]["operations"] == 2 * plain["training"]["operations"]
    assert more["memory_bytes"]["training"]["average"] == plain["memory_bytes"]["training"]["weights"]
    assert more["memory_bytes"]["training"]["activations"] > 2 * plain["memory_bytes"]["training"]["activations"]
    text = told("--config", "base", "--set", "training.rdrop=5", "--set", "training.optimizer.average=0.999")
    assert "8 x 3,125, each passed through the model twice (R-Drop)\n" in text
    assert "moments 505 MB, average 252 MB, activations" in text
    assert "32,000 + 32,000 pieces\n" in told("--config", "variants/separate_vocabularies")


def test_no_sentence_is_longer_than_training_allows(told: Callable[..., str]) -> None:
    (found,) = json.loads(told("--config", "demo", "--set", "cleaning.max_tokens=11", "--format", "json"))
    assert found["tokens_per_sentence"] == 12
    (found,) = json.loads(told("--config", "demo", "--format", "json"))
    assert found["tokens_per_sentence"] == 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--config'."),
        (["--config", "ablations/heads_3"], "(did you mean 'ablations/heads_32.yaml'?)"),
        (["--config", "base", "--config", "nothing"], "nothing: no such file"),
        (["--config", "empty"], "empty: a folder without configs (*.yaml)"),
        (["--config", "base", "--rate", "0"], "0 is not a number of target tokens a second of at least 0.001."),
        (["--config", "base", "--rate", "-3"], "-3 is not a number"),
        (["--config", "base", "--rate", "nan"], "nan is not a number"),
        (["--config", "base", "--rate", "inf"], "inf is not a number"),
        (["--config", "base", "--rate", "fast"], "'fast' is not a valid float."),
        (["--config", "base", "--format", "tsv"], "'tsv' is not one of"),
        (["--config", "ablations", "--set", "model.heads=5"], "d_model 512 is not a multiple of heads 5"),
        (["--config", "x" * 300], "cannot be read: File name too long"),
    ],
)
def test_mistakes_are_told_in_one_line(mtkit: Call, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").touch()
    done = mtkit(tmp_path, "describe", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


NUMBERS = [
    entry for entry in catalogue().values() if isinstance(entry.default, int | float) and not isinstance(entry.default, bool)
]


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda entry: ".".join(entry.path))
def test_no_number_is_too_large_for_it(entry: Entry) -> None:
    option, largest = ".".join(entry.path), re.search(r"at most (\d+)", entry.allowed)
    taken = 0
    for value in (largest[1] if largest else LARGEST, 0.999, 2, 10 * LARGEST, 10**40, 1e300):
        try:
            config = load_config("base", (f"{option}={value}",))
        except UserError:
            continue
        json.dumps(described(option, config, 10_000).to_json(), allow_nan=False)
        taken += 1
    assert taken
