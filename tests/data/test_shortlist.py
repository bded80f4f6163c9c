"""The shortlist beside the vocabularies: what a sentence may use, and a file that belongs to them and to no others."""

from pathlib import Path

import numpy as np
import pytest

from mtkit.config import schema
from mtkit.data.lexicon import KEPT, Lexicon
from mtkit.data.shortlist import FREQUENT, SHORTLIST, Candidates, Shortlist
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.support.errors import UserError

COUNTS = dict.fromkeys(("the", "cat", "sees", "a", "dog", "Haus", "die", "Katze", "sieht", "einen", "Hund"), 9)


def learned(*counts: dict[str, int]) -> Vocabularies:
    return learn_vocabularies(counts, schema.Vocabulary(size=400, soft_limit=True, shared=len(counts) == 1))


def shortlist(vocabularies: Vocabularies) -> Shortlist:
    """Each source piece translates to the last pieces of the target's vocabulary, the last first."""
    pieces = len(vocabularies.target)
    translations = np.zeros((len(vocabularies.source), KEPT), dtype=np.int64)
    translations[:, :5] = pieces - 1 - np.arange(5)
    return Shortlist.of(Lexicon(translations, np.arange(pieces - 8, pieces - 6)), pieces)


def saved(vocabularies: Vocabularies, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    vocabularies.save(folder)
    (folder / SHORTLIST).write_bytes(shortlist(vocabularies).content(vocabularies.fingerprint))
    return folder / SHORTLIST


def test_it_goes_where_the_vocabularies_go(tmp_path: Path) -> None:
    vocabularies = learned(COUNTS)
    first = saved(vocabularies, tmp_path / "data")
    Vocabularies.load(tmp_path / "data", shared=True).save(tmp_path)
    assert (tmp_path / SHORTLIST).read_bytes() == first.read_bytes()
    found = Vocabularies.load(tmp_path, shared=True).shortlist()
    assert np.array_equal(found.translations, shortlist(vocabularies).translations)
    assert found.translations.dtype == np.uint16
    assert len(found.frequent) == 2 <= FREQUENT


def test_one_that_is_missing_damaged_or_of_others_is_told(tmp_path: Path) -> None:
    file = saved(learned(COUNTS), tmp_path / "data")
    opened = Vocabularies.load(tmp_path / "data", shared=True)
    whole = file.read_bytes()
    for damaged in (whole[:-1], b"", whole[:-4] + b"abcd"):
        file.write_bytes(damaged)
        with pytest.raises(UserError, match=r"shortlist.safetensors: damaged.*vocabulary.shortlist=true"):
            opened.shortlist()
    file.unlink()
    with pytest.raises(UserError, match=r"shortlist.safetensors: no such file: prepare .*vocabulary.shortlist=true"):
        opened.shortlist()
    others = learned(COUNTS | {"something": 20})
    file.write_bytes(shortlist(others).content(others.fingerprint))
    with pytest.raises(UserError, match="belongs to another vocabulary"):
        opened.shortlist()


@pytest.mark.parametrize("sides", [(COUNTS,), (COUNTS, COUNTS | {"something": 20})])
def test_what_a_sentence_may_use(sides: tuple[dict[str, int], ...]) -> None:
    vocabularies = learned(*sides)
    source, target = vocabularies.source, vocabularies.target
    sentence = source.encode(["the cat ✓"])[0]
    found = Candidates(shortlist(vocabularies), source, target, 3).of(sentence).tolist()
    assert target.first_byte is not None
    copies = {target.pieces.index(source.pieces[token]) for token in sentence if source.pieces[token] in target.pieces}
    assert copies
    last = len(target)
    expected = {*range(4), *range(target.first_byte, target.first_byte + 256), *copies}
    assert found == sorted(expected | {last - 1, last - 2, last - 3, last - 8, last - 7})
