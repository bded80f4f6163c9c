"""The vocabulary shortlist: which target pieces a translation of given source pieces is likely to need.

Comes in: a learned lexicon, or the file that holds one beside the vocabularies it belongs to. Goes out: target pieces. The
file is in the safetensors format; its metadata has a hash of what it holds and of what vocabularies it is for.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from mtkit.data.lexicon import Lexicon
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from mtkit.support.errors import UserError

SHORTLIST = "shortlist.safetensors"

FREQUENT = 100
"""Target pieces that every sentence may use: the most frequent ones."""

CURE = "prepare the data again with vocabulary.shortlist=true"


@dataclass(frozen=True)
class Shortlist:
    """What was learned, as it is stored."""

    translations: NDArray[np.unsignedinteger]  # [source pieces, KEPT]: target pieces, the likeliest first, filled with 0
    frequent: NDArray[np.unsignedinteger]  # [FREQUENT or fewer] target pieces

    @classmethod
    def of(cls, lexicon: Lexicon, pieces: int) -> "Shortlist":
        """That of a lexicon whose target has so many pieces."""
        kind = np.uint16 if pieces <= 65536 else np.uint32
        return cls(lexicon.translations.astype(kind), lexicon.frequent[:FREQUENT].astype(kind))

    @classmethod
    def load(cls, file: Path, fingerprint: str) -> "Shortlist":
        """Reads it. UserError if it is missing, damaged or belongs to vocabularies of another fingerprint."""
        try:
            with safe_open(file, framework="numpy") as stored:
                metadata = stored.metadata() or {}
                found = cls(stored.get_tensor("translations"), stored.get_tensor("frequent"))
        except FileNotFoundError:
            raise UserError(
                f"{file}: no such file: {CURE} and copy that file from there, or set decoding.shortlist=0"
            ) from None
        except (SafetensorError, OSError) as error:
            raise UserError(f"{file}: damaged ({error}): {CURE}, or delete it and do without") from None
        if metadata.get("sha256") != found._sha256(fingerprint):
            raise UserError(f"{file}: damaged, or belongs to another vocabulary: {CURE}, or delete it and do without")
        return found

    def content(self, fingerprint: str) -> bytes:
        """The file, for vocabularies of this fingerprint."""
        tensors = {"translations": self.translations, "frequent": self.frequent}
        return safetensors.numpy.save(tensors, {"sha256": self._sha256(fingerprint)})

    def _sha256(self, fingerprint: str) -> str:
        return hashlib.sha256(fingerprint.encode() + self.translations.tobytes() + self.frequent.tobytes()).hexdigest()


class Candidates:
    """The target pieces that sentences may use, `width` for each of their source pieces and some that all may use."""

    def __init__(self, shortlist: Shortlist, source: Vocabulary, target: Vocabulary, width: int) -> None:
        self._translations = shortlist.translations[:, :width].astype(np.int64)
        spelling = [] if target.first_byte is None else range(target.first_byte, target.first_byte + 256)
        self._always = np.array([PAD, BOS, EOS, UNK, *spelling, *shortlist.frequent.tolist()], dtype=np.int64)
        known = {piece: token for token, piece in enumerate(target.pieces)}
        self._copies = np.array([known.get(piece, PAD) for piece in source.pieces], dtype=np.int64)

    def of(self, sentence: Sequence[int]) -> NDArray[np.int64]:
        """Those of a sentence of source tokens, in order: also control pieces, bytes, and its own pieces, to be copied."""
        tokens = np.array(sentence, dtype=np.int64)
        return np.unique(np.concatenate([self._always, self._copies[tokens], self._translations[tokens].reshape(-1)]))
