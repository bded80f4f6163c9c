"""Where a run comes from, and which options make it another one."""

import importlib.metadata

import pytest

import mtkit
from mtkit.config.catalogue import catalogue
from mtkit.config.loader import override_config
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.support.errors import UserError
from mtkit.training.provenance import check_same_run, provenance


def test_it_tells_where_the_run_comes_from(toy_data: "object", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["mtkit", "train", "--config", "toy.yaml"])
    data = PreparedData.open(str(toy_data))
    told = provenance(override_config(Config(), ["training.seed=7"]), data)
    assert told["command"] == ["mtkit", "train", "--config", "toy.yaml"]
    assert told["mtkit"] == mtkit.__version__
    assert told["seed"] == 7
    assert told["packages"] == {
        name: importlib.metadata.version(name) for name in ("torch", "sentencepiece", "sacrebleu", "numpy", "safetensors")
    }
    train = data.report.splits["train"]
    assert told["data"] == {"source_sha256": train.source_sha256, "target_sha256": train.target_sha256, "pairs": 1000}
    assert told["vocabulary"] == data.report.vocabulary_fingerprint
    assert told["commit"] is None or len(str(told["commit"])) == 40


@pytest.mark.parametrize(
    "free",
    [
        "training.updates=7",
        "training.threads=2",
        "training.log_interval=7",
        "training.validation.interval=7",
        "training.checkpoints.keep_last=7",
        "data.folder=elsewhere",
        "decoding.beam_size=7",
        "evaluation.lowercase=true",
    ],
)
def test_what_may_change(free: str) -> None:
    check_same_run(Config(), override_config(Config(), [free]))


FIXED = {
    "training.update_tokens=7000": "training.update_tokens: the run has 25000, now 7000",
    "training.micro_batch_tokens=7": "training.micro_batch_tokens: the run has 3125, now 7",
    "training.seed=7": "training.seed: the run has 1, now 7",
    "training.precision=bfloat16": "training.precision: the run has float32, now bfloat16",
    "training.schedule.warmup=7": "training.schedule.warmup: the run has 4000, now 7",
    "training.optimizer.clip_norm=7.0": "training.optimizer.clip_norm: the run has 0.0, now 7.0",
    "training.label_smoothing=0.7": "training.label_smoothing: the run has 0.1, now 0.7",
    "model.dropout=0.7": "model.dropout: the run has 0.1, now 0.7",
}


@pytest.mark.parametrize("change", FIXED)
def test_what_would_make_it_another_run(change: str) -> None:
    with pytest.raises(UserError) as caught:
        check_same_run(Config(), override_config(Config(), [change]))
    assert str(caught.value) == f"cannot resume with other settings:\n{FIXED[change]}"


def test_all_changes_are_told_at_once() -> None:
    with pytest.raises(UserError) as caught:
        check_same_run(Config(), override_config(Config(), list(FIXED)))
    assert sorted(str(caught.value).splitlines()[1:]) == sorted(FIXED.values())


def test_every_option_is_either_free_or_fixed() -> None:
    """A new section outside `model` and `training` has to be thought of: resuming must not ignore it by chance."""
    sections = {path[0] for path in catalogue() if path}
    assert sections == {"data", "cleaning", "vocabulary", "model", "training", "decoding", "evaluation"}
