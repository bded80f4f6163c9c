"""From raw text to scores where source and target have scripts and vocabularies of their own; and who is refused (V9, T19).

The text is the toy corpus with its target in Greek letters: words in reverse order, each replaced by another. A vocabulary
taken for that of the other side cannot write a single word of it.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mtkit.checkpoint import Run
from mtkit.config.loader import load_config
from mtkit.data.folder import PreparedData
from mtkit.data.preparation import prepare

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Train = Callable[..., Run]

GREEK = str.maketrans("abdefiklmnoprstu", "αβδεφικλμνοπρστυ")

CONFIG = """\
data:
  target_language: el
  train: {source: train.en, target: train.el}
  validation: {source: validation.en, target: validation.el}
  test: {source: test.en, target: test.el}
vocabulary: {shared: false, size: 400, soft_limit: true}
model: {d_model: 64, d_ff: 128, heads: 4, encoder_layers: 1, decoder_layers: 1, dropout: 0.05, tied_embeddings: decoder}
training:
  updates: 300
  update_tokens: 500
  micro_batch_tokens: 500
  label_smoothing: 0.0
  schedule: {kind: linear, peak: 0.005, warmup: 30}
  optimizer: {clip_norm: 1.0}
  validation: {interval: 150}
  checkpoints: {interval: 50, keep_last: 2}
decoding: {max_length_constant: 5}
"""


@pytest.fixture(scope="module")
def trained(toy_corpus: Path, tmp_path_factory: pytest.TempPathFactory, train: Train) -> Path:
    """A folder with the text, `greek.yaml`, `data/greek` and `runs/greek`. Tests must not change it."""
    folder = tmp_path_factory.mktemp("greek")
    for split in ("train", "validation", "test"):
        shutil.copy(toy_corpus / f"{split}.en", folder)
        (folder / f"{split}.el").write_text((toy_corpus / f"{split}.de").read_text().translate(GREEK), encoding="utf-8")
    (folder / "greek.yaml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prepare(load_config("greek.yaml"), Path("data/greek"))
        train(Path("greek.yaml"), (), Path("data/greek"), Path("runs/greek"))
    return folder


@pytest.fixture
def home(trained: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def right(translations: list[str], home: Path) -> int:
    """How many of the 40 test lines are translated without a fault."""
    reference = (home / "test.el").read_text(encoding="utf-8").splitlines()
    return sum(ours == theirs for ours, theirs in zip(translations, reference, strict=True))


def test_each_side_has_its_files_in_data_and_run(trained: Path) -> None:
    data = PreparedData.open(trained / "data" / "greek").vocabularies()
    run = Run(trained / "runs" / "greek")
    assert not data.shared
    for folder in (trained / "data" / "greek", run.folder):
        assert sorted(path.name for path in folder.glob("*.model")) == ["vocabulary.source.model", "vocabulary.target.model"]
    assert run.vocabularies().fingerprint == data.fingerprint == run.provenance()["vocabulary"]
    assert {found.state.vocabulary for found in run.checkpoints()} == {data.fingerprint}
    weights = run.checkpoints()[0].model_tensors()
    assert weights["source_embedding.weight"].shape == (len(data.source), 64)
    assert weights["embedding.weight"].shape == (len(data.target), 64)


def test_translate_and_evaluate(mtkit: Call, home: Path) -> None:
    translated = mtkit(home, "translate", "--device", "cpu", "--input", "test.en", "--output", "out.el")
    assert translated.returncode == 0, translated.stderr
    assert right((home / "out.el").read_text(encoding="utf-8").splitlines(), home) >= 32
    shutil.move(home / "runs", home / "elsewhere")
    evaluated = mtkit(home, "evaluate", "--device", "cpu", "--model", "elsewhere/greek", "--format", "json")
    assert evaluated.returncode == 0, evaluated.stderr
    ((bleu, _),) = (system["scores"] for system in json.loads(evaluated.stdout)["systems"])
    assert (bleu["test_set"], bleu["sentences"]) == ("test of greek", 40)
    assert bleu["value"] > 80.0
    validated = [found.state.bleu for found in Run(home / "elsewhere" / "greek").checkpoints() if found.state.bleu]
    assert max(validated) > 80.0


def test_a_run_that_was_stopped_goes_on_bit_for_bit(home: Path, train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    newest = home / "runs" / "greek" / "checkpoints" / "step-00000300"
    before = {path.name: path.read_bytes() for path in newest.iterdir()}
    shutil.rmtree(newest)
    train(Path("greek.yaml"), (), Path("data/greek"), Path("runs/greek"), resume=True)
    assert {path.name: path.read_bytes() for path in newest.iterdir()} == before


def test_an_average_and_an_ensemble(mtkit: Call, home: Path) -> None:
    averaged = mtkit(home, "average", "runs/greek", "--last", "2")
    assert averaged.returncode == 0, averaged.stderr
    made = Run(home / "runs" / "greek-average")
    assert made.vocabularies().fingerprint == Run(home / "runs" / "greek").vocabularies().fingerprint
    both = ("--model", "runs/greek", "--model", "runs/greek-average")
    done = mtkit(home, "translate", "--device", "cpu", *both, "--input", "test.en")
    assert done.returncode == 0, done.stderr
    assert right(done.stdout.splitlines(), home) >= 32


@pytest.fixture
def other(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`data/other`, whose source vocabulary is that of `data/greek` and whose target vocabulary is not."""
    monkeypatch.chdir(home)
    lines = (home / "train.el").read_text(encoding="utf-8").replace("βακο", "ξενος")
    (home / "other.el").write_text(lines, encoding="utf-8")
    prepare(load_config("greek.yaml", ["data.train.target=other.el"]), Path("data/other"))
    return home / "data" / "other"


def short(home: Path, folder: str) -> str:
    """The fingerprint of the vocabularies in data folder `folder` as messages show it."""
    pair = PreparedData.open(home / folder).vocabularies()
    return f"{pair.source.fingerprint[:12]}/{pair.target.fingerprint[:12]}"


def test_one_other_side_is_another_vocabulary(mtkit: Call, home: Path, other: Path, train: Train) -> None:
    theirs, ours = short(home, "data/other"), short(home, "data/greek")
    assert theirs.split("/")[0] == ours.split("/")[0]
    few = ("training.updates=1", "training.validation.bleu=false")
    train(Path("greek.yaml"), few, Path("data/other"), Path("runs/other"))

    done = mtkit(home, "translate", "--model", "runs/greek", "--model", "runs/other", "--input", "test.en")
    assert (done.returncode, done.stdout) == (2, "")
    told = (
        f"vocabulary differs: runs/greek has {ours}, runs/other has {theirs}: an ensemble needs models trained on the same"
    )
    assert told in done.stderr

    begin = ("train", "--config", "greek.yaml", "--data", "data/other", "--device", "cpu")
    for arguments in ([*begin, "--run", "runs/new", "--init-from", "runs/greek"], [*begin, "--resume"]):
        done = mtkit(home, *arguments)
        assert done.returncode == 2
        assert "Error: vocabulary differs: checkpoint runs/greek/checkpoints/step-00000" in done.stderr
        assert f" has {ours}, data/other/vocabulary.{{source,target}}.model has {theirs}: use the data " in done.stderr

    shutil.copy(other / "vocabulary.target.model", home / "runs" / "greek")
    for arguments in (["translate", "--model", "runs/greek", "--input", "test.en"], ["average", "runs/greek"]):
        done = mtkit(home, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert f" has {ours}, runs/greek/vocabulary.{{source,target}}.model has {theirs}: use the data " in done.stderr
    (home / "runs" / "greek" / "vocabulary.target.model").write_bytes(b"damaged")
    done = mtkit(home, "translate", "--model", "runs/greek", "--input", "test.en")
    assert done.returncode == 2
    assert "Error: runs/greek/vocabulary.target.model: not a SentencePiece model" in done.stderr


@pytest.mark.parametrize("command", ["prepare", "train"])
def test_one_matrix_for_two_vocabularies_is_refused_before_any_work(mtkit: Call, tmp_path: Path, command: str) -> None:
    (tmp_path / "all.yaml").write_text(CONFIG.replace(", tied_embeddings: decoder", ""))  # no text lies here
    done = mtkit(tmp_path, command, "--config", "all.yaml")
    assert done.returncode == 2
    assert "Error: all.yaml:6: model.tied_embeddings all is one matrix for both languages, vocabulary.shared" in done.stderr


def test_a_run_of_one_vocabulary_has_the_files_it_always_had(toy_data: Path, toy_run: Path) -> None:
    vocabulary = PreparedData.open(toy_data).vocabularies().source
    assert [path.name for path in toy_data.glob("*.model")] == ["vocabulary.model"]
    assert [path.name for path in toy_run.glob("*.model")] == ["vocabulary.model"]
    assert (toy_run / "vocabulary.model").read_bytes() == vocabulary.model_bytes
    run = Run(toy_run)
    assert {found.state.vocabulary for found in run.checkpoints()} == {vocabulary.fingerprint}
    assert run.provenance()["vocabulary"] == vocabulary.fingerprint
    assert "source_embedding.weight" not in run.checkpoints()[0].model_tensors()
