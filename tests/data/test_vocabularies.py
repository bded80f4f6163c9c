"""Two vocabularies or one for both: their files, their fingerprint, and who is told to be wrong (V1, V9)."""

import pickle
from pathlib import Path

import pytest

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies, shortened
from mtkit.data.vocabulary import learn_vocabulary
from mtkit.support.errors import UserError

LATIN = {"bako": 9, "timu": 8, "lera": 5}
GREEK = {"βακο": 9, "τιμου": 8}
SOFT = schema.Vocabulary(size=400, soft_limit=True)
ONE = learn_vocabularies([LATIN], SOFT)
TWO = learn_vocabularies([LATIN, GREEK], SOFT)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_each_side_has_the_pieces_of_its_own_text() -> None:
    assert not TWO.shared
    assert TWO.source.model_bytes == learn_vocabulary(LATIN, SOFT).model_bytes
    assert TWO.target.model_bytes == learn_vocabulary(GREEK, SOFT).model_bytes
    assert not set("βακοτιμυ") & set("".join(TWO.source.pieces))


def test_a_shared_one_is_what_it_always_was(tmp_path: Path) -> None:
    alone = learn_vocabulary(LATIN, SOFT)
    assert ONE.shared
    assert ONE.fingerprint == alone.fingerprint
    ONE.save(tmp_path)
    assert names(tmp_path) == ["vocabulary.model"]
    assert (tmp_path / "vocabulary.model").read_bytes() == alone.model_bytes


@pytest.mark.parametrize("saved", [ONE, TWO], ids=["one", "two"])
def test_what_is_saved_is_loaded(tmp_path: Path, saved: Vocabularies) -> None:
    saved.save(tmp_path)
    loaded = Vocabularies.load(tmp_path, shared=saved.shared)
    assert (loaded.shared, loaded.fingerprint) == (saved.shared, saved.fingerprint)
    assert loaded.source.encode(["bako βακο"]) == saved.source.encode(["bako βακο"])
    assert loaded.target.encode(["bako βακο"]) == saved.target.encode(["bako βακο"])


def test_two_lie_in_two_files_named_by_their_sides(tmp_path: Path) -> None:
    TWO.save(tmp_path)
    assert names(tmp_path) == ["vocabulary.source.model", "vocabulary.target.model"]
    assert (tmp_path / "vocabulary.source.model").read_bytes() == TWO.source.model_bytes
    assert (tmp_path / "vocabulary.target.model").read_bytes() == TWO.target.model_bytes


def test_the_fingerprint_knows_the_sides_and_the_sharing() -> None:
    turned = Vocabularies(TWO.target, TWO.source)
    twice = learn_vocabularies([LATIN, LATIN], SOFT)  # numbers text as ONE does, with a matrix for each side
    assert not twice.shared
    assert len({each.fingerprint for each in (ONE, TWO, turned, twice)}) == 4
    assert TWO.fingerprint == learn_vocabularies([LATIN, GREEK], SOFT).fingerprint
    source, target = shortened(TWO.fingerprint).split("/")
    assert (source, target) == (TWO.source.fingerprint[:12], TWO.target.fingerprint[:12])
    assert shortened(ONE.fingerprint) == ONE.fingerprint[:12]


@pytest.mark.parametrize("name", ["vocabulary.source.model", "vocabulary.target.model"])
def test_the_file_that_is_damaged_or_missing_is_named(tmp_path: Path, name: str) -> None:
    TWO.save(tmp_path)
    (tmp_path / name).write_bytes(b"not a model")
    with pytest.raises(UserError, match=rf"^{tmp_path}/{name}: not a SentencePiece model"):
        Vocabularies.load(tmp_path, shared=False)
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=rf"^{tmp_path}/{name}: cannot be read: No such file"):
        Vocabularies.load(tmp_path, shared=False)


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_side_whose_text_holds_too_few_pieces_is_named(side: str) -> None:
    poor, rich = LATIN, LATIN | {f"w{number}": 1 for number in range(100)}
    most = len(ONE.source)
    told = rf"^vocabulary\.size {most + 1} is too large for the {side} text: at most {most}; set vocabulary\.size={most} or "
    with pytest.raises(UserError, match=told):
        learn_vocabularies([poor, rich] if side == "source" else [rich, poor], schema.Vocabulary(size=most + 1))


@pytest.mark.parametrize("sent", [ONE, TWO], ids=["one", "two"])
def test_they_reach_worker_processes_as_they_are(sent: Vocabularies) -> None:
    received = pickle.loads(pickle.dumps(sent))
    assert (received.shared, received.fingerprint) == (sent.shared, sent.fingerprint)
