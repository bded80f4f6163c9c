"""The subword vocabulary: text to tokens and back, and how it is learned from word counts.

Comes in: lines of text, or a count for every word of a corpus. Goes out: token ids, text, the vocabulary's bytes. Knows
nothing of languages, files of a corpus or tensors.
"""

import hashlib
import io
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from mtkit.config import schema
from mtkit.data.normalisation import NORMALISATIONS, PROBE, WORD_MARK
from mtkit.support.errors import UserError
from mtkit.support.files import writing

PAD, BOS, EOS, UNK = 0, 1, 2, 3

Tokens = NDArray[np.int32]

SENTENCEPIECES_OWN = "\u2585"
"""The only character that cannot be a piece: SentencePiece marks with it what it has not understood."""

LARGEST_WORD = 4192
"""SentencePiece leaves words of more UTF-8 bytes than this out when it learns the pieces."""

FEW = 20
"""Lines that are numbered or spelt one by one."""


class Vocabulary:
    """A learned vocabulary: an immutable SentencePiece model with mtkit's control ids. Pickles by its bytes.

    Its pieces are the four control pieces, the tags, the symbols, 256 bytes (unless it was learned without) and what was
    learned, in this order.
    """

    def __init__(self, model: bytes, name: str = "vocabulary") -> None:
        try:
            processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise UserError(f"{name}: not a SentencePiece model (corrupt?): run mtkit prepare again") from None
        specials = (processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id())
        treatment = processor.normalize(PROBE).replace(WORD_MARK, " ").removeprefix(" ")
        known = [name for name, choice in NORMALISATIONS.items() if choice.treat(PROBE) == treatment]
        if specials != (PAD, BOS, EOS, UNK) or not known:
            raise UserError(f"{name}: not a vocabulary that mtkit prepare made (pad, bos, eos, unk are {specials})")
        self.model_bytes = model
        self.pieces: list[str] = [processor.id_to_piece(token) for token in range(len(processor))]
        self.normalization = known[0]
        self.normalise = NORMALISATIONS[known[0]].treat
        """What becomes of text before it is numbered: `decode(encode([text]))` is `[normalise(text)]`."""
        byte = processor.piece_to_id("<0x00>")
        self.first_byte = byte if processor.is_byte(byte) else None
        """Id of the piece for byte 0x00, the other 255 follow in order; None if there are none."""
        self.tags = tuple(
            piece for token, piece in enumerate(self.pieces[UNK + 1 :], UNK + 1) if processor.is_control(token)
        )
        """Pieces that no text yields: they are put before a source by their ids."""
        self.symbols = tuple(self._symbols(processor))
        """Pieces that text yields wherever they stand in it."""
        self.fingerprint = self._fingerprint(processor)
        """SHA-256 of the pieces in order: equal for vocabularies that number text equally."""
        self._processor = processor

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Reads a `vocabulary.model`. UserError naming the file if it is missing or damaged."""
        try:
            return cls(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}: run mtkit prepare first") from None

    @classmethod
    def from_bytes(cls, model: bytes) -> "Vocabulary":
        """The vocabulary whose `model_bytes` these are."""
        return cls(model)

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[bytes]]:
        return Vocabulary, (self.model_bytes,)

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Token ids of each line, without begin and end tokens. No text whatever yields PAD, BOS, EOS or a tag.

        Nor UNK, unless the vocabulary was learned without bytes.
        """
        encoded: list[list[int]] = _all(self._processor.encode, [self.normalise(line) for line in lines])
        return encoded

    def encode_normalised(self, lines: Sequence[str]) -> list[Tokens]:
        """As `encode`, of lines that `normalise` would not change; arrays, as they are made sooner than lists."""
        encoded: list[Tokens] = self._processor.encode(lines, return_type="numpy")
        return encoded

    def encode_sampled(self, lines: Sequence[str], dropout: float, seed: int) -> list[Tokens]:
        """As `encode`, each merge of pieces skipped with probability `dropout` (BPE-dropout, Provilkov et al. 2020).

        A function of its arguments. SentencePiece has one random generator a process: not for two threads at a time.
        """
        sentencepiece.set_random_generator_seed(seed & 0xFFFFFFFF)
        options: dict[str, Any] = {"enable_sampling": True, "alpha": dropout, "nbest_size": -1, "num_threads": 1}
        sampled: list[Tokens] = self._processor.encode(lines, return_type="numpy", **options)
        return sampled

    def tag_id(self, tag: str) -> int:
        """The id of a tag. UserError if the vocabulary has no such tag."""
        if tag not in self.tags:
            known = ", ".join(self.tags) or "none"
            raise UserError(f"the vocabulary has no tag {tag} (it has {known}): learn one with it in vocabulary.tags")
        return self.pieces.index(tag)

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of token ids: one line each, normalised, without a trace of control ids or cut bytes."""
        lines: list[str] = _all(self._processor.decode, [self._decodable(line) for line in tokens])
        return [self.normalise(line) for line in lines]

    def is_byte(self, token: int) -> bool:
        """Whether the token stands for a single byte."""
        return self.first_byte is not None and 0 <= token - self.first_byte < 256

    def _decodable(self, tokens: Sequence[int]) -> list[int]:
        """The tokens without control ids and without byte pieces that do not spell a character."""
        kept: list[int] = []
        run = bytearray()
        first_byte = 0 if self.first_byte is None else self.first_byte
        for token in tokens:
            if self.is_byte(token):
                run.append(token - first_byte)
                continue
            if run:
                kept.extend(first_byte + byte for byte in _whole_characters(run))
                run.clear()
            if token > UNK + len(self.tags):
                kept.append(int(token))
        return kept + [first_byte + byte for byte in _whole_characters(run)]

    def _symbols(self, processor: Any) -> Iterator[str]:
        """Those between the tags and the bytes or, without bytes, the first learned piece, whose score is -0 or less."""
        for token in range(UNK + 1 + len(self.tags), len(self.pieces)):
            if processor.is_byte(token) or math.copysign(1.0, processor.get_score(token)) < 0:
                return
            yield self.pieces[token]

    def _fingerprint(self, processor: Any) -> str:
        parts = list(self.pieces)
        if self.normalization != "nfc":
            parts.append(f"normalization {self.normalization}")
        scores = [processor.get_score(token) for token in range(len(self.pieces))]
        if not all(score.is_integer() for score in scores):  # of a unigram vocabulary; those of BPE follow from the order
            parts += map(repr, scores)
        return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()


def _all(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What the processor makes of each: of many with its threads, whose start takes as long as twenty items."""
    return work(list(items)) if len(items) > FEW else [work(item) for item in items]


def _whole_characters(run: bytearray) -> bytes:
    """Those bytes of a run that are whole UTF-8 characters."""
    return run.decode("utf-8", errors="ignore").encode("utf-8")


def learn_vocabulary(
    word_counts: Mapping[str, int],
    config: schema.Vocabulary,
    text: str = "this corpus",
    tags: Sequence[str] = (),
    symbols: Sequence[str] = (),
) -> Vocabulary:
    """Learns pieces from how often each space-separated word of the normalised text occurs.

    Deterministic, and the same pieces as from the running text. `tags` are reserved, `symbols` are kept in one piece.
    UserError if `text`, as messages call it, holds fewer pieces than `vocabulary.size` (unless `vocabulary.soft_limit`) or
    more characters than it has room for.
    """
    model = io.BytesIO()
    # SentencePiece looks into no word that holds U+2585, nor at what looks like a control piece: without bytes, the
    # characters of these would be lost. It refuses U+2585 itself.
    required = set[str]() if config.byte_fallback else set().union(*word_counts) - {SENTENCEPIECES_OWN}
    rules = NORMALISATIONS[config.normalization].rules
    with writing(tempfile.gettempdir(), cure=" or set TMPDIR"), tempfile.TemporaryDirectory() as folder:
        # The model stores the name of this file: a name of fixed length can be overwritten below.
        name = "rules.tsv"
        file = f"{folder}{'/' * (200 - len(folder) - len(name))}{name}"
        treatment: dict[str, Any] = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
        if rules is not None:
            Path(file).write_text(rules(), encoding="ascii")
            treatment = {"normalization_rule_tsv": file, "remove_extra_whitespaces": True}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(f"{word}\t{word_counts[word]}" for word in sorted(word_counts) if word),
                input_format="tsv",
                model_writer=model,
                model_type=config.kind,
                vocab_size=config.size,
                hard_vocab_limit=not config.soft_limit,
                character_coverage=config.character_coverage,
                byte_fallback=config.byte_fallback,
                required_chars="".join(sorted(required)),
                control_symbols=list(tags),
                user_defined_symbols=list(symbols),
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                max_sentence_length=LARGEST_WORD,
                num_threads=1,
                minloglevel=2,
                **treatment,
            )
        except RuntimeError as error:
            raise _mistake(str(error), config.size, text) or error from None
    return Vocabulary(model.getvalue().replace(file.encode(), b"normalisation rules".ljust(len(file.encode()))))


def _mistake(message: str, size: int, text: str) -> UserError | None:
    """What the trainer's complaint means for the user; None if it is none that the user can mend."""
    if "sentences_.empty()" in message:
        return UserError("the training text holds no words to learn a vocabulary from")
    if found := re.search(r"size too high .*<= (\d+)", message):
        most = int(found[1])
        cure = f"set vocabulary.size={most} or vocabulary.soft_limit=true"
        return UserError(f"vocabulary.size {size} is too large for {text}: at most {most}; {cure}")
    if found := re.search(r"smaller than required_chars. \d+ vs (\d+)", message):
        cure = f"set vocabulary.size={found[1]} or more, or lower vocabulary.character_coverage"
        return UserError(
            f"vocabulary.size {size} is too small for {text}: its characters, tags and symbols alone need {found[1]}; {cure}"
        )
    return None
