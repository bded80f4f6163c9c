"""`mtkit score`: forced decoding as a user meets it, and equal to what `mtkit translate` reports."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from mtkit import checkpoint
from mtkit.cli.main import main
from mtkit.config.schema import Config
from mtkit.config.schema import Vocabulary as VocabularyOptions
from mtkit.data.vocabularies import learn_vocabularies
from mtkit.model.transformer import Transformer

Call = Callable[..., tuple[int, list[str], list[str]]]
TEXT = "the cat sees a dog\n\nHaus and café\n   \na tree.\nthe dog\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that was never trained, which ends sentences nevertheless."""
    folder = tmp_path_factory.mktemp("home")
    words = {
        word: 20 - place for place, word in enumerate(["the", "cat", "sees", "a", "dog", "Haus", "café", "tree.", "and"])
    }
    vocabularies = learn_vocabularies([words], VocabularyOptions(size=400, soft_limit=True))
    sizes = {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    learned = {"positions": "learned", "learned_positions": 40}
    decoding = {"beam_size": 3, "max_length_constant": 12, "max_length_factor": 0.0}
    config = Config.model_validate({"model": sizes | learned, "decoding": decoding, "cleaning": {"max_tokens": 30}})
    torch.manual_seed(2)
    model = Transformer(config.model, len(vocabularies.target))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "cross_attention." in name or name.endswith("bias"):
                parameter.normal_()
    run = checkpoint.create_run(folder / "runs" / "toy", config, vocabularies, {})
    run.save(checkpoint.State(step=7, vocabulary=vocabularies.fingerprint), model.state_dict())
    (folder / "source.txt").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.fixture
def mtkit(home: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Call]:
    """mtkit(*arguments) in `home`: exit code, lines of stdout, lines of stderr."""
    monkeypatch.chdir(home)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def call(*arguments: str) -> tuple[int, list[str], list[str]]:
        monkeypatch.setattr(sys, "argv", ["mtkit", arguments[0], "--device", "cpu", *arguments[1:]])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = main()
        out, err = capfdbinary.readouterr()
        return code, out.decode("utf-8").splitlines(), err.decode("utf-8").splitlines()

    yield call
    torch.set_num_threads(threads)


SEARCHES: list[dict[str, object]] = [
    {},
    {"length_penalty": "average", "alpha": 1.0},
    {"coverage_penalty": 0.3, "alpha": 0.0},
    {"diverse_groups": 2, "beam_size": 4, "no_repeat_ngram": 2},
    {"search": "sampling", "temperature": 0.5, "coverage_penalty": 0.1},
    {"mbr": 3, "min_length_constant": 4},
]


@pytest.mark.parametrize(
    "more", [[part for name in each for part in ("--set", f"decoding.{name}={each[name]}")] for each in SEARCHES], ids=str
)
def test_it_says_what_the_search_said(mtkit: Call, home: Path, more: list[str]) -> None:
    """Of every translation that the vocabulary spells as the search did."""
    code, lines, _ = mtkit("translate", "--input", "source.txt", "--format", "jsonl", *more)
    assert code == 0
    found = [json.loads(line)["hypotheses"][0] for line in lines]
    (home / "target.txt").write_text("".join(f"{one['text']}\n" for one in found), encoding="utf-8")
    code, lines, told = mtkit("score", "--source", "source.txt", "--target", "target.txt", "--format", "jsonl", *more)
    assert code == 0
    scored = [json.loads(line) for line in lines]
    assert [one["line"] for one in scored] == list(range(1, 7))
    run = checkpoint.load_model(home / "runs" / "toy", torch.device("cpu"))
    alike = 0
    for one, other in zip(found, scored, strict=True):
        spelt = [run.vocabularies.target.pieces[token] for token in run.vocabularies.target.encode([one["text"]])[0]]
        if spelt == one["tokens"] and not one["truncated"]:
            alike += 1
            assert other["length"] == one["length"]
            assert other["log_probability"] == pytest.approx(one["log_probability"], abs=1e-4)
            assert other["score"] == pytest.approx(one["score"], abs=1e-4)
    assert alike >= 1, "or nothing was compared"
    total, tokens = sum(one["log_probability"] for one in scored), sum(one["length"] for one in scored)
    assert told[-1].startswith(
        f"scored 6 lines, {tokens:,} tokens: log-probability {total:.4f}, of a token {total / tokens:.4f}"
    )


def test_formats_and_batches(mtkit: Call, home: Path) -> None:
    (home / "target.txt").write_text("Haus\n\na\ncafé tree.\n\nthe cat sees a dog\n", encoding="utf-8")
    files = ["score", "--source", "source.txt", "--target", "target.txt"]
    _, tsv, _ = mtkit(*files, "--format", "tsv")
    rows = [line.split("\t") for line in tsv]
    assert rows[1] == ["2", "0.000000", "0.000000", "0"]
    assert int(rows[4][3]) == 1, "an empty translation of text has a probability: that of the end token"
    assert float(rows[3][2]) < 0.0, "and so has text where there is none to translate"
    _, text, _ = mtkit(*files)
    assert text == [row[1] for row in rows]
    _, small, _ = mtkit(*files, "--set", "decoding.buffer=2", "--set", "decoding.batch_tokens=1")
    assert [float(line) for line in small] == pytest.approx([float(line) for line in text], abs=1e-4)
    _, ensemble, _ = mtkit(*files, "--model", "runs/toy", "--model", "runs/toy", "--set", "decoding.ensemble=probability")
    assert [float(line) for line in ensemble] == pytest.approx([float(line) for line in text], abs=1e-4)


@pytest.mark.parametrize(
    ("target", "more", "told"),
    [
        ("a\nb\n", [], "line counts differ: source.txt 6 lines, target.txt 2 lines"),
        (
            "a\nb\n" + "dog " * 45 + "\n\n\n\n",
            [],
            "line 3: 46 tokens with the end token, the model has learned positions for 40",
        ),
        ("\n" * 6, ["--set", "training.updates=3"], "score only has use for the section decoding"),
        ("\n" * 6, ["--source", "none.txt"], "none.txt: no such file"),
    ],
)
def test_mistakes_are_told(mtkit: Call, home: Path, target: str, more: list[str], told: str) -> None:
    (home / "target.txt").write_text(target, encoding="utf-8")
    code, lines, err = mtkit("score", "--source", "source.txt", "--target", "target.txt", *more)
    assert (code, lines) == (2, [])
    assert told in err[-1]
