"""The subword vocabulary: text to tokens and back, and how it is learned from word counts.

Comes in: lines of text, or a count for every word of a corpus. Goes out: lists of token ids, text, the vocabulary's bytes.
Knows nothing of languages, files of a corpus or tensors. The text treatment lives in two places that agree: `normalise`
here, and rules inside the SentencePiece model, so that the model file alone treats text as mtkit does.
"""

import functools
import hashlib
import io
import re
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import sentencepiece

from mtkit.config import schema
from mtkit.support.errors import UserError
from mtkit.support.files import writing

PAD, BOS, EOS, UNK = 0, 1, 2, 3

FIRST_BYTE = 4
"""Id of the piece for byte 0x00; the other 255 follow in order."""

LARGEST_WORD = 4192
"""SentencePiece leaves words of more UTF-8 bytes than this out when it learns the pieces."""

JOINERS = "\u200c\u200d"  # invisible, yet they decide how Persian, Indic scripts and emoji look
WORD_MARK = "\u2581"  # SentencePiece writes spaces this way and cannot tell a literal one from a space
UNKNOWN_MARK = "\u2047"  # SentencePiece writes the unknown piece this way; the sign's plain form is two question marks


def _character_rules() -> dict[int, str]:
    """What becomes of single code points: white space -> space; control, format -> nothing; lone surrogates -> U+FFFD."""
    rules = {ord(WORD_MARK): " ", ord(UNKNOWN_MARK): "??"}
    for code in chain(range(0x20000), range(0xE0000, 0xE1000)):  # the planes that have any such; all of them takes 0.5 s
        character = chr(code)
        category = unicodedata.category(character)
        if character.isspace() or category in ("Zs", "Zl", "Zp"):
            rules[code] = " "
        elif category in ("Cc", "Cf") and character not in JOINERS:
            rules[code] = ""
        elif category == "Cs":
            rules[code] = "\ufffd"
    del rules[ord(" ")]
    return rules


@functools.cache
def _treatment() -> tuple[re.Pattern[str], dict[int, str]]:
    """Finds text that `_character_rules` may change (few lines have any), and the rules themselves."""
    rules = _character_rules()
    below = "".join(re.escape(chr(code)) for code in rules if code < 0x10000)
    return re.compile(f"[{below}\U00010000-\U0010ffff]"), rules  # one range for all above: single ones are slow to test


def normalise(text: str) -> str:
    """The text that tokens stand for: `decode(encode([text]))` is `[normalise(text)]` for any string.

    Unicode NFC; every white space and line separator becomes a space, runs of spaces one, none at the ends; control and
    format characters (soft hyphen, zero-width space, byte-order mark, NUL) vanish, save the two zero-width joiners;
    U+2581 becomes a space, U+2047 `??`, a lone surrogate U+FFFD. Nothing else changes: no compatibility forms, no case.
    """
    special, rules = _treatment()
    if special.search(text):
        text = text.translate(rules)
    text = unicodedata.normalize("NFC", text)
    return " ".join(filter(None, text.split(" "))) if "  " in text or text[:1] == " " or text[-1:] == " " else text


@functools.cache
def _model_rules() -> str:
    """The same treatment as rules for SentencePiece: `code points TAB code points`, hexadecimal."""
    rules: dict[str, str] = {chr(code): text for code, text in _character_rules().items() if not 0xD800 <= code <= 0xDFFF}
    del rules["\0"]  # a rule cannot begin with the end-of-string byte; `normalise` removes it before
    hangul = range(0xAC00, 0xD7A4)  # 11,172 syllables composed from jamo: left to `normalise`
    for code in range(0x30000):  # no composition lies above
        if code in hangul or 0xD800 <= code <= 0xDFFF:
            continue
        composed = unicodedata.normalize("NFC", chr(code))
        decomposition = unicodedata.decomposition(chr(code))
        if composed != chr(code):
            rules[chr(code)] = composed
        elif decomposition and not decomposition.startswith("<"):
            pair = "".join(chr(int(part, 16)) for part in decomposition.split())
            for spelling in (pair, unicodedata.normalize("NFD", chr(code))):
                rules[spelling] = composed
    lines = ("\t".join(" ".join(f"{ord(c):X}" for c in text) for text in rule) for rule in rules.items())
    return "".join(f"{line}\n" for line in lines)


class Vocabulary:
    """A learned vocabulary: an immutable SentencePiece model with mtkit's control ids. Pickles by its bytes."""

    def __init__(self, model: bytes, name: str = "vocabulary") -> None:
        try:
            processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise UserError(f"{name}: not a SentencePiece model (corrupt?): run mtkit prepare again") from None
        controls = (processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id())
        last = FIRST_BYTE + 255
        if controls != (PAD, BOS, EOS, UNK) or len(processor) <= last or not processor.is_byte(last):
            raise UserError(f"{name}: not a vocabulary that mtkit prepare made (pad, bos, eos, unk are {controls})")
        self.model_bytes = model
        self.pieces: list[str] = [processor.id_to_piece(token) for token in range(len(processor))]
        self.fingerprint = hashlib.sha256("\n".join(self.pieces).encode("utf-8")).hexdigest()
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
        """Token ids of each line, without begin and end tokens. No text whatever yields PAD, BOS, EOS or UNK."""
        encoded: list[list[int]] = self._processor.encode([normalise(line) for line in lines])
        return encoded

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of token ids: one line each, normalised, without a trace of control ids or cut bytes."""
        lines: list[str] = self._processor.decode([_decodable(line) for line in tokens])
        return [normalise(line) for line in lines]


def _decodable(tokens: Sequence[int]) -> list[int]:
    """The tokens without control ids and without byte pieces that do not spell a character."""
    kept: list[int] = []
    run = bytearray()
    for token in tokens:
        if FIRST_BYTE <= token < FIRST_BYTE + 256:
            run.append(token - FIRST_BYTE)
            continue
        if run:
            kept.extend(_whole_characters(run))
            run.clear()
        if token > UNK:
            kept.append(int(token))
    return kept + _whole_characters(run)


def _whole_characters(run: bytearray) -> list[int]:
    """Byte pieces for those bytes of a run that are whole UTF-8 characters."""
    return [FIRST_BYTE + byte for byte in run.decode("utf-8", errors="ignore").encode("utf-8")]


def learn_vocabulary(word_counts: Mapping[str, int], config: schema.Vocabulary, text: str = "this corpus") -> Vocabulary:
    """Learns byte-pair pieces from how often each space-separated word of the normalised text occurs.

    Deterministic, and the same pieces as from the running text. UserError if `text`, as messages call it, holds fewer
    pieces than `vocabulary.size` (unless `vocabulary.soft_limit`) or more characters than it has room for.
    """
    model = io.BytesIO()
    with writing(tempfile.gettempdir(), cure=" or set TMPDIR"), tempfile.TemporaryDirectory() as folder:
        # The model stores the name of this file: a name of fixed length can be overwritten below.
        name = "rules.tsv"
        rules = f"{folder}{'/' * (200 - len(folder) - len(name))}{name}"
        Path(rules).write_text(_model_rules(), encoding="ascii")
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(f"{word}\t{word_counts[word]}" for word in sorted(word_counts)),
                input_format="tsv",
                model_writer=model,
                model_type="bpe",
                vocab_size=config.size,
                hard_vocab_limit=not config.soft_limit,
                character_coverage=config.character_coverage,
                byte_fallback=True,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                normalization_rule_tsv=rules,
                remove_extra_whitespaces=True,
                max_sentence_length=LARGEST_WORD,
                num_threads=1,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _mistake(str(error), config.size, text) or error from None
    return Vocabulary(model.getvalue().replace(rules.encode(), b"normalisation rules".ljust(len(rules.encode()))))


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
        return UserError(f"vocabulary.size {size} is too small for {text}: its characters alone need {found[1]}; {cure}")
    return None
