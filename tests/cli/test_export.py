"""`mtkit export`: what the folder holds, that the runtime answers from it as mtkit does, and what is refused."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece

from mtkit.cli.main import COMMANDS
from mtkit.config.loader import load_config
from mtkit.export.formats import FORMATS

Mtkit = Callable[..., subprocess.CompletedProcess[str]]


def runtime_answers(folder: Path, lines: list[str]) -> list[str]:
    """What someone without mtkit would write, by the help text of `mtkit export`. Greedy."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "vocabulary.model"))
    translator = ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=1)
    answers = []
    for tokens in pieces.encode(lines, out_type=str):
        [result] = translator.translate_batch(
            [tokens],
            beam_size=1,
            max_decoding_length=len(tokens) + 5,  # as the run's config has it
            disable_unk=True,
            min_decoding_length=0,
            max_input_length=0,
            suppress_sequences=[["<pad>"], ["<s>"]],
        )
        answers.append(pieces.decode(result.hypotheses[0]))
    return answers


@pytest.fixture(scope="module")
def exported(toy_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    FORMATS["ctranslate2"](toy_run, folder, load_config(str(toy_run / "config.yaml")).decoding)
    return folder


def test_the_folder_stands_alone_and_says_where_it_comes_from(exported: Path, toy_run: Path) -> None:
    assert {file.name for file in exported.iterdir()} == {
        "model.bin",
        "config.json",
        "shared_vocabulary.json",
        "vocabulary.model",
        "config.yaml",
        "provenance.json",
    }
    origin = json.loads((exported / "provenance.json").read_text())
    assert (origin["exported_from"], origin["step"]) == (str(toy_run), 60)
    assert origin["ctranslate2"] == ctranslate2.__version__
    assert origin["vocabulary"] == json.loads((toy_run / "provenance.json").read_text())["vocabulary"]


def test_greedy_answers_are_those_of_mtkit(exported: Path, toy_run: Path, toy_corpus: Path, mtkit: Mtkit) -> None:
    done = mtkit(toy_corpus, "translate", "--model", str(toy_run), "--input", "test.en", "--beam-size", "1")
    assert done.returncode == 0, done.stderr
    ours = done.stdout.splitlines()
    assert len(set(ours)) > 20
    assert runtime_answers(exported, (toy_corpus / "test.en").read_text().splitlines()) == ours


def test_the_command_writes_weights_in_the_precision_asked_for(toy_run: Path, tmp_path: Path, mtkit: Mtkit) -> None:
    sizes = {}
    for precision in ("float32", "bfloat16"):
        folder = tmp_path / precision
        arguments = ("export", str(toy_run), "--to", "ctranslate2", "--output", str(folder))
        done = mtkit(tmp_path, *arguments, "--set", f"decoding.precision={precision}")
        assert (done.returncode, done.stdout) == (0, "")
        assert f"update 60, weights in {precision}, to {folder}" in done.stderr
        assert f"precision: {precision}" in (folder / "config.yaml").read_text() or precision == "float32"
        sizes[precision] = (folder / "model.bin").stat().st_size
    assert 0.45 < sizes["bfloat16"] / sizes["float32"] < 0.6


def test_a_model_the_runtime_cannot_compute_is_refused_with_all_reasons(toy_run: Path, tmp_path: Path, mtkit: Mtkit) -> None:
    shutil.copytree(toy_run, tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    text = config.read_text()
    for old, new in (("positions: sinusoidal", "positions: alibi"), ("norm_placement: post", "norm_placement: sandwich")):
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
    done = mtkit(tmp_path, "export", "run", "--to", "ctranslate2", "--output", "out")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: CTranslate2 cannot compute this model: model.positions alibi")
    assert "model.norm_placement sandwich" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["RUN", "--to", "ctranslate2", "--output", "there"], "there: exists already: delete it, or name another folder"),
        (["nowhere", "--to", "ctranslate2", "--output", "new"], "nowhere: not a run folder"),
        (["RUN", "--to", "onnx", "--output", "new"], "'onnx' is not 'ctranslate2'"),
        (["RUN", "--to", "ctranslate2", "--output", "file/new"], "file/new: cannot be written"),
        (
            ["RUN", "--to", "ctranslate2", "--output", "new", "--set", "model.heads=2"],
            "only has use for the section decoding",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    arguments: list[str], told: str, toy_run: Path, tmp_path: Path, mtkit: Mtkit
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("")
    done = mtkit(tmp_path, "export", *(str(toy_run) if part == "RUN" else part for part in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]
    assert not any((tmp_path / "there").iterdir())


def test_the_command_line_knows_all_formats() -> None:
    from mtkit.cli.export import export

    [to] = [parameter for parameter in export.params if parameter.name == "runtime"]
    assert list(to.type.choices) == list(FORMATS)  # type: ignore[attr-defined]
    assert "export" in COMMANDS
