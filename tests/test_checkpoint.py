"""The run folder: whole or not at all, named when damaged, free of pickle, refused when it does not fit (R6, R8, R9, V9)."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError

from mtkit import checkpoint
from mtkit.checkpoint import Run, State
from mtkit.config.schema import Config
from mtkit.config.schema import Vocabulary as VocabularyOptions
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
CONFIG = Config.model_validate({"model": {"d_model": 8, "d_ff": 8, "heads": 1, "encoder_layers": 1, "decoder_layers": 1}})


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return learn_vocabularies([{"bako": 9, "timu": 8}], VocabularyOptions(size=400, soft_limit=True))


@pytest.fixture
def model(vocabularies: Vocabularies) -> Transformer:
    torch.manual_seed(1)
    return Transformer(CONFIG.model, len(vocabularies.target))


@pytest.fixture
def run(tmp_path: Path, vocabularies: Vocabularies) -> Run:
    return checkpoint.create_run(tmp_path / "runs" / "a", CONFIG, vocabularies, {"seed": 1})


@pytest.fixture
def save(run: Run, vocabularies: Vocabularies, model: Transformer) -> Callable[..., checkpoint.Checkpoint]:
    """save(step, bleu=..., loss=..., measure=...): a checkpoint whose moments are full of its step."""

    def call(step: int, *, loss: float | None = None, bleu: float | None = None, measure: str = "") -> checkpoint.Checkpoint:
        state = State(step, loss, bleu, measure, vocabulary=vocabularies.fingerprint)
        moments = {"embedding/step": torch.tensor(float(step)), "embedding/mean": torch.full((3, 2), float(step))}
        return run.save(state, model.state_dict(), moments)

    return call


Save = Callable[..., checkpoint.Checkpoint]


def flip(file: Path) -> None:
    """Changes one bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_what_is_saved_is_loaded(run: Run, save: Save, model: Transformer, vocabularies: Vocabularies) -> None:
    saved = save(7, bleu=12.5, loss=3.25)
    assert saved.folder == run.folder / "checkpoints" / "step-00000007"
    (found,) = run.checkpoints()
    assert found == saved
    assert (found.state.step, found.state.bleu, found.state.loss, found.state.averaged) == (7, 12.5, 3.25, ())
    assert found.damage() is None
    weights = found.model_tensors()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())
    moments = found.optimizer_tensors()
    assert moments["embedding/step"].shape == ()
    assert torch.equal(moments["embedding/mean"], torch.full((3, 2), 7.0))
    loaded = checkpoint.load_model(run.folder, CPU)
    assert (loaded.step, loaded.folder, loaded.config) == (7, run.folder, CONFIG)
    assert loaded.vocabularies.fingerprint == vocabularies.fingerprint
    assert not loaded.model.training
    assert run.provenance() == {"seed": 1}


def test_tensors_that_share_or_skip_memory_are_saved(run: Run) -> None:
    matrix = torch.arange(6.0).reshape(2, 3)
    found = run.save(State(1), {"turned": matrix.T, "part": matrix[:, 1]})
    assert torch.equal(found.model_tensors()["turned"], matrix.T)
    assert torch.equal(found.model_tensors()["part"], matrix[:, 1])


def test_a_moved_run_still_loads(run: Run, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(3)
    moved = shutil.move(run.folder, tmp_path / "elsewhere")
    monkeypatch.chdir(moved)
    assert checkpoint.load_model(".", CPU).step == 3
    assert checkpoint.load_model("checkpoints/step-00000003", CPU).step == 3
    monkeypatch.chdir("checkpoints/step-00000003")
    assert checkpoint.load_model(".", CPU).step == 3


def test_nothing_on_disk_needs_pickle(toy_run: Path) -> None:
    kinds = {path.suffix for path in toy_run.rglob("*") if path.is_file() and path.name != checkpoint.LOCK}
    assert kinds == {".safetensors", ".json", ".jsonl", ".yaml", ".model"}
    for path in toy_run.rglob("*.safetensors"):
        header = int.from_bytes(path.read_bytes()[:8], "little")
        assert json.loads(path.read_bytes()[8 : 8 + header])
    for path in [*toy_run.rglob("*.json"), *toy_run.rglob("*.yaml"), *toy_run.rglob("*.jsonl")]:
        path.read_text("utf-8")


def test_the_source_never_unpickles() -> None:
    package = Path(checkpoint.__file__).parent
    forbidden = re.compile(r"torch\.load\b|\bpickle\b|weights_only|trust_remote_code=True|yaml\.(unsafe_|full_)?load\(")
    found = [f"{path}: {text}" for path in package.rglob("*.py") for text in forbidden.findall(path.read_text("utf-8"))]
    assert not found


def test_the_best_is_that_of_the_best_score(run: Run, save: Save) -> None:
    assert run.best() is None
    assert run.latest() is None
    for step, scores in ((1, {"loss": 5.0}), (2, {"loss": 4.0}), (3, {})):
        save(step, **scores)
    best, latest = run.best(), run.latest()
    assert best is not None
    assert latest is not None
    assert (best.state.step, latest.state.step) == (2, 3)
    assert checkpoint.load_model(run.folder, CPU).step == 2
    assert checkpoint.load_model(run.checkpoint_folder / "step-00000001", CPU).step == 1


def ranked(run: Run) -> list[int]:
    return [found.state.step for found in run.ranked()]


def test_bleu_decides_where_all_have_it_and_it_was_measured_alike(run: Run, save: Save) -> None:
    save(4, bleu=9.0, loss=9.0, measure="beam 4")
    save(5, bleu=9.0, loss=8.0, measure="beam 4")
    save(6, bleu=9.0, loss=8.0, measure="beam 4")  # the newest of equals
    save(7, bleu=8.0, loss=1.0, measure="beam 4")
    save(8)  # not validated
    assert ranked(run) == [7, 4, 5, 6]


@pytest.mark.parametrize("later", [{"bleu": 30.0, "measure": "beam 1"}, {}])
def test_the_loss_decides_between_scores_of_different_kinds(run: Run, save: Save, later: dict[str, Any]) -> None:
    """Turning BLEU off, or measuring it otherwise, neither freezes the best nor sets it back."""
    save(1, loss=5.0, bleu=20.0, measure="beam 4")
    save(2, loss=4.0, bleu=10.0, measure="beam 4")
    assert ranked(run) == [2, 1]
    save(3, loss=4.5, **later)
    assert ranked(run) == [1, 3, 2]
    save(4, loss=3.0, **later)
    assert ranked(run)[-1] == 4
    run.thin(keep_last=1, keep_best=2)
    assert ranked(run) == [2, 4]


def test_without_scores_the_best_is_the_latest(run: Run, save: Save) -> None:
    save(1)
    save(12)
    save(5)
    assert checkpoint.load_model(run.folder, CPU).step == 12


def test_retention(run: Run, save: Save) -> None:
    for step, bleu in enumerate((1.0, 30.0, 2.0, 3.0, 4.0, 5.0, 6.0), 1):
        save(step, bleu=bleu)
        run.thin(keep_last=3, keep_best=1)
        assert step in [found.state.step for found in run.checkpoints()]
    assert sorted(path.name for path in run.checkpoint_folder.iterdir()) == [f"step-0000000{step}" for step in (2, 5, 6, 7)]
    run.thin(keep_last=2, keep_best=0)
    assert [found.state.step for found in run.checkpoints()] == [6, 7]
    run.thin(keep_last=9, keep_best=9)
    assert [found.state.step for found in run.checkpoints()] == [6, 7]


def test_retention_spares_what_is_no_checkpoint(run: Run, save: Save) -> None:
    save(1)
    shutil.copytree(run.checkpoint_folder / "step-00000001", run.checkpoint_folder / "step-00000001-mine")
    save(2)
    run.thin(keep_last=1, keep_best=0)
    assert sorted(path.name for path in run.checkpoint_folder.iterdir()) == ["step-00000001-mine", "step-00000002"]


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize("harm", [flip, Path.unlink, lambda file: os.truncate(file, file.stat().st_size - 100)])
def test_damage_is_named_and_the_checkpoint_before_it_taken(
    run: Run, save: Save, name: str, harm: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    save(1)
    save(2)
    file = run.checkpoint_folder / "step-00000002" / name
    harm(file)
    latest = run.latest()
    assert latest is not None
    assert latest.state.step == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"WARNING: {file}: ")
    assert told.endswith(": using the checkpoint before it")
    assert run.latest(warn=False) == latest
    assert capsys.readouterr().err == ""


def test_damaged_weights_are_refused_and_lost_moments_do_not_matter_to_a_model(run: Run, save: Save) -> None:
    save(1, loss=1.0)
    folder = run.checkpoint_folder / "step-00000001"
    (folder / "optimizer.safetensors").unlink()
    assert checkpoint.load_model(run.folder, CPU).step == 1
    flip(folder / "model.safetensors")
    with pytest.raises(UserError, match=rf"{folder}/model\.safetensors: damaged .*: use another checkpoint of the run"):
        checkpoint.load_model(run.folder, CPU)


DAMAGED = (
    b"",
    b'{"step": 2, "form',
    b"[]",
    b"{}",
    b"\xff",
    b"[" * 100_000,
    b'{"step": 2, "format_version": "1"}',
    b'{"step": "x"}',
    b'{"step": 2.5}',
    b'{"step": true}',
    b'{"step": 2, "files": 3}',
    b'{"step": 2, "files": {"model.safetensors": 3}}',
    b'{"step": 2, "loss": "low"}',
    b'{"step": 2, "averaged": 1}',
    b'{"step": 2, "files": {}}',
    b'{"step": 3, "files": {"model.safetensors": "0"}}',
)


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: content[:50])
def test_a_damaged_state_is_named_and_the_checkpoint_before_it_taken(
    run: Run, save: Save, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    save(1)
    save(2)
    file = run.checkpoint_folder / "step-00000002" / "state.json"
    file.write_bytes(content)
    latest = run.latest()
    assert latest is not None
    assert latest.state.step == 1
    assert capsys.readouterr().err.startswith(f"WARNING: {file}: damaged (")
    with pytest.raises(UserError, match=rf"^{file}: damaged .*: use another checkpoint of the run$"):
        checkpoint.load_model(file.parent, CPU)
    with pytest.raises(UserError, match=rf"^{file}: damaged .*: use another checkpoint of the run$"):
        run.checkpoints()[1].model_tensors()
    assert run.best() == latest
    save(1, loss=5.0)
    capsys.readouterr()
    assert run.best() == run.checkpoints()[0]
    (told,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(rf"WARNING: {file}: damaged \(.*\): passed over", told)
    run.thin(keep_last=2, keep_best=1)
    assert capsys.readouterr().err == ""
    save(2)  # going on mends it
    latest = run.latest()
    assert latest is not None
    assert latest.state.step == 2


def test_a_newer_format_is_refused_with_both_numbers(run: Run, save: Save) -> None:
    file = save(1).folder / "state.json"
    file.write_text(file.read_text().replace('"format_version": 1', '"format_version": 3'))
    with pytest.raises(UserError, match=rf"^{file}: written in format 3, this mtkit reads up to 1: use a newer mtkit$"):
        checkpoint.load_model(run.folder, CPU)


def test_another_vocabulary_is_refused(run: Run, save: Save, vocabularies: Vocabularies) -> None:
    save(1)
    other = learn_vocabularies([{"lera": 9, "nosi": 8}], VocabularyOptions(size=400, soft_limit=True))
    other.save(run.folder)
    with pytest.raises(UserError) as caught:
        checkpoint.load_model(run.folder, CPU)
    assert str(caught.value).startswith("vocabulary differs: checkpoint ")
    assert vocabularies.fingerprint[:12] in str(caught.value)
    assert other.fingerprint[:12] in str(caught.value)


def test_weights_that_do_not_fit_are_named(run: Run, save: Save) -> None:
    save(1)
    config = run.folder / "config.yaml"
    config.write_text(config.read_text().replace("d_ff: 8", "d_ff: 9"))
    with pytest.raises(UserError, match=r"model\.safetensors: decoder\.0\.\S+ is \(8\S*\), the config asks for \(9\S*\)$"):
        checkpoint.load_model(run.folder, CPU)


@pytest.mark.parametrize(("code", "message"), [(28, "No space left on device"), (27, "File too large")])
def test_a_full_disk_costs_nothing(run: Run, save: Save, monkeypatch: pytest.MonkeyPatch, code: int, message: str) -> None:
    save(1)

    def full(*_: object) -> None:
        raise SafetensorError(f"Error while serializing: I/O error: {message} (os error {code})")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(UserError) as caught:
        save(2)
    room = r"; need [\d.]+ kB, free [\d.]+ \w+" if code == 28 else ""
    assert re.fullmatch(
        rf"{run.checkpoint_folder}/step-00000002: cannot be written \({message}{room}\): .+ "
        r"and go on with --resume; the checkpoints before it are untouched",
        str(caught.value),
    )
    assert [path.name for path in run.checkpoint_folder.iterdir()] == ["step-00000001"]
    assert run.checkpoints()[0].damage() is None


KILLED = """
import random, signal, time
folder, random = Path(arguments[0]), random.Random(1)
run = Run(folder)
weights = {f"weight {n}": torch.randn(100, 1000) for n in range(10)}

def writer(step):
    while True:
        with run.lock():
            run.save(State(step, bleu=random.random()), weights, weights)
            run.thin(keep_last=2, keep_best=1)
        step += 1

newest = 0
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        writer(newest + 1)
    while not [found for found in run.checkpoints() if found.state.step > newest]:
        time.sleep(0.01)
    time.sleep(random.uniform(0.0, 0.15))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    latest = run.latest(warn=False)
    names = [found.folder.name for found in run.checkpoints()]
    assert latest.folder.name == names[-1], "the newest that is there is sound"
    assert all(found.damage() is None for found in run.checkpoints())
    assert latest.state.step > newest
    assert torch.equal(latest.model_tensors()["weight 9"], latest.optimizer_tensors()["weight 9"])
    newest = latest.state.step
with run.lock():
    print("left over", [path.name for path in run.checkpoint_folder.iterdir() if not path.name.startswith("step-")])
"""


def test_a_killed_process_costs_nothing(run: Run, forked: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = forked(1, KILLED, run.folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "left over []\n"


def test_only_one_process_writes(run: Run, forked: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    with run.lock():
        (run.folder / ".tmp-mine").touch()
        done = forked(1, "with Run(Path(arguments[0])).lock(): print('taken')", run.folder)
        assert (done.returncode, done.stdout) == (1, "")
        told = f"UserError: {run.folder}: another mtkit is writing to it: wait for it or take another --run\n"
        assert done.stderr.endswith(told)
        assert (run.folder / ".tmp-mine").exists(), "what another process writes is none of its business"
    with run.lock():
        assert not (run.folder / ".tmp-mine").exists()


def test_the_newest_run_is_the_one_that_was_trained_last(tmp_path: Path, vocabularies: Vocabularies) -> None:
    root = tmp_path / "runs"
    with pytest.raises(UserError, match=rf"^no trained model below {root}: run mtkit train first"):
        checkpoint.newest_run(root)
    for when, name in enumerate(("b", "a", "c", ".tmp-average-1"), 1):
        made = checkpoint.create_run(root / name, CONFIG, vocabularies, {})
        if name != "c":  # has no checkpoint yet
            saved = made.save(State(100 - when), {"w": torch.zeros(1)})
            os.utime(saved.folder / "state.json", ns=(when, when))
    assert checkpoint.newest_run(root) == root / "a"


@pytest.mark.parametrize("name", ["none", "empty", "file"])
def test_what_is_no_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=rf"^{tmp_path}/{name}: not a run folder \(no config\.yaml in it\)"):
        checkpoint.load_model(tmp_path / name, CPU)


def test_a_run_without_a_checkpoint_is_refused(run: Run) -> None:
    with pytest.raises(UserError, match=r"runs/a: has no complete checkpoint yet$"):
        checkpoint.load_model(run.folder, CPU)


def test_training_cannot_go_on_from_weights_alone(run: Run) -> None:
    with pytest.raises(UserError, match=r"step-00000004: has no optimizer\.safetensors: training cannot go on from it"):
        run.save(State(4), {"w": torch.zeros(1)}).optimizer_tensors()


@pytest.mark.parametrize("content", [None, "{", "3", "[]", '[["seed", 1]]', "[" * 100_000, "\0"])
def test_a_damaged_provenance_is_named(run: Run, content: str | None) -> None:
    file = run.folder / "provenance.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(UserError, match=rf"^{file}: missing or damaged"):
        run.provenance()


def test_a_loss_that_is_no_number_is_never_the_best(run: Run, save: Save) -> None:
    save(10, loss=4.0)
    save(20, loss=float("nan"))
    assert ranked(run) == [20, 10]
    save(10, loss=4.0, bleu=0.1)
    save(20, loss=1.0, bleu=float("nan"))
    assert ranked(run) == [20, 10]
