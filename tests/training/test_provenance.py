"""Where a run comes from."""

import hashlib
import importlib.metadata
from pathlib import Path

import pytest

import mtkit
from mtkit.config.loader import override_config
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.data.preparation import prepare
from mtkit.training.provenance import provenance, text_fingerprints, training_fingerprints


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
    for split in ("validation", "test"):
        sides = {"source_sha256": f"{split}.en", "target_sha256": f"{split}.de"}
        digests = {side: hashlib.sha256((data.folder / name).read_bytes()).hexdigest() for side, name in sides.items()}
        assert told[split] == digests == text_fingerprints(data, split)
    assert told["vocabulary"] == data.report.vocabulary_fingerprint
    assert told["commit"] is None or len(str(told["commit"])) == 40


def test_weights_and_tags_of_corpora_are_part_of_the_training_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a b\tA\nc d\tC\n")
    fingerprints = []
    choices: tuple[dict[str, object], ...] = ({}, {"weight": 2.0}, {"weight": 3.0}, {"tag": "<bt>"})
    for number, options in enumerate(choices):
        more = [{"tsv": str(tmp_path / "a.tsv"), **options}]
        train = {"tsv": str(tmp_path / "a.tsv"), "more": more}
        data = {"train": train, "validation": {"tsv": str(tmp_path / "a.tsv")}}
        config = Config.model_validate({"data": data, "vocabulary": {"size": 400, "soft_limit": True}})
        prepare(config, tmp_path / str(number))
        fingerprints.append(training_fingerprints(PreparedData.open(tmp_path / str(number))))
    assert [found.get("corpora") for found in fingerprints] == [
        None,
        "2 x 1.0, 2 x 2.0",
        "2 x 1.0, 2 x 3.0",
        "2 x 1.0, 2 x 1.0 <bt>",
    ]
