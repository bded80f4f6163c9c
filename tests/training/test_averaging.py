"""The mean of checkpoints: exact, whatever the order; a run of its own, whole or not at all."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mtkit import checkpoint
from mtkit.checkpoint import Run, State
from mtkit.config.schema import Config
from mtkit.config.schema import Vocabulary as VocabularyOptions
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.support.errors import UserError
from mtkit.training.averaging import average, choose


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return learn_vocabularies([{"bako": 9, "timu": 8}], VocabularyOptions(size=400, soft_limit=True))


Make = Callable[..., Run]
ORIGIN = {"command": ["mtkit", "train"], "mtkit": "0.0.1", "data": {"source_sha256": "5e"}, "vocabulary": "7f"}


@pytest.fixture
def make(tmp_path: Path, vocabularies: Vocabularies) -> Make:
    """make({step: weights}, bleu={step: score}): a run with these checkpoints."""

    def call(weights: Mapping[int, Tensor], bleu: Mapping[int, float] | None = None) -> Run:
        run = checkpoint.create_run(tmp_path / "runs" / "a", Config(), vocabularies, ORIGIN)
        for step, tensor in weights.items():
            score = (bleu or {}).get(step)
            loss = None if score is None else 100.0 - score
            state = State(step, loss, score, vocabulary=vocabularies.fingerprint)
            run.save(state, {"w": tensor}, {"w/step": torch.ones(1)})
        return run

    return call


def steps(found: list[checkpoint.Checkpoint]) -> list[int]:
    return [each.state.step for each in found]


def mean_of(run: Run, output: Path, *named: int) -> Tensor:
    return average(run, choose(run, steps=named), output).checkpoints()[0].model_tensors()["w"]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_copies_average_to_themselves_bit_for_bit(make: Make, tmp_path: Path, count: int) -> None:
    torch.manual_seed(1)
    weights = torch.randn(100) * 10.0 ** torch.randint(-30, 30, (100,))
    run = make(dict.fromkeys(range(1, count + 1), weights))
    mean = mean_of(run, tmp_path / "mean", *range(1, count + 1))
    assert mean.dtype == torch.float32
    assert torch.equal(mean, weights)


def test_the_mean_is_taken_in_float64_and_does_not_depend_on_the_order(make: Make, tmp_path: Path) -> None:
    values = {1: 1e8, 2: 1.0, 3: -1e8, 4: 2.0}
    run = make({step: torch.tensor([value, float(step)]) for step, value in values.items()})
    mean = mean_of(run, tmp_path / "mean", 1, 2, 3, 4)
    assert mean.tolist() == [0.75, 2.5]
    assert torch.equal(mean, mean_of(run, tmp_path / "again", 4, 2, 1, 3, 2))


def test_which_checkpoints(make: Make) -> None:
    run = make({step: torch.ones(1) for step in (10, 20, 30, 40)}, bleu={10: 5.0, 20: 9.0, 40: 7.0})
    assert steps(choose(run, last=2)) == [30, 40]
    assert steps(choose(run, best=2)) == [20, 40]
    assert steps(choose(run, steps=(30, 10, 30))) == [10, 30]
    with pytest.raises(UserError, match=r"runs/a: has 4 checkpoints \(10, 20, 30, 40\), 5 were asked for$"):
        choose(run, last=5)
    with pytest.raises(UserError, match=r"runs/a: has 3 validated checkpoints \(10, 20, 40\), 4 were asked for$"):
        choose(run, best=4)
    with pytest.raises(UserError, match=r"runs/a: no checkpoint of step 15: there are 10, 20, 30, 40$"):
        choose(run, steps=(10, 15))


def test_the_result_is_a_run(make: Make, tmp_path: Path, vocabularies: Vocabularies) -> None:
    run = make({1: torch.tensor([1.0]), 2: torch.tensor([2.0])})
    made = average(run, choose(run, last=2), tmp_path / "runs" / "mean")
    assert made.folder == tmp_path / "runs" / "mean"
    assert made.config() == run.config()
    assert made.vocabularies().fingerprint == vocabularies.fingerprint
    (found,) = made.checkpoints()
    assert (found.state.step, found.state.averaged, found.state.vocabulary) == (2, (1, 2), vocabularies.fingerprint)
    assert found.damage() is None
    assert found.model_tensors()["w"].tolist() == [1.5]
    average_of = {"averaged_from": str(run.folder), "steps": [1, 2], "averaged_by": sys.argv}
    assert made.provenance() == ORIGIN | average_of
    assert checkpoint.newest_run(tmp_path / "runs") == made.folder
    with pytest.raises(UserError, match="training cannot go on from it"):
        found.optimizer_tensors()
    with pytest.raises(UserError, match=r"has 0 checkpoints \(none\), 1 were asked for$"):
        choose(made, last=1)


def test_a_checkpoint_of_another_vocabulary_is_refused(make: Make, tmp_path: Path, vocabularies: Vocabularies) -> None:
    run = make({1: torch.ones(1)})
    run.save(State(2, vocabulary="0123456789abcdef/fedcba9876543210"), {"w": torch.ones(1)})
    with pytest.raises(UserError) as caught:
        average(run, run.checkpoints(), tmp_path / "mean")
    assert str(caught.value) == (
        f"vocabulary differs: checkpoint {run.checkpoint_folder}/step-00000002 has 0123456789ab/fedcba987654, "
        f"{run.folder}/vocabulary.model has {vocabularies.fingerprint[:12]}: use the data that the model was trained on"
    )
    assert not (tmp_path / "mean").exists()


def test_a_folder_that_is_there_is_not_touched(make: Make, tmp_path: Path) -> None:
    run = make({1: torch.ones(1)})
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match=rf"^{tmp_path}/mine: exists already"):
        average(run, run.checkpoints(), tmp_path / "mine")
    assert not list((tmp_path / "mine").iterdir())


def test_what_fails_leaves_nothing(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make({1: torch.ones(1), 2: torch.ones(2)})
    with pytest.raises(UserError, match="other shapes"):
        average(run, run.checkpoints(), tmp_path / "mean")
    (run.checkpoint_folder / "step-00000002" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"step-00000002/model\.safetensors: damaged"):
        average(run, run.checkpoints(), tmp_path / "mean")

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        average(run, run.checkpoints()[:1], tmp_path / "mean")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
