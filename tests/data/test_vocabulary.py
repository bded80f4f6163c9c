"""Text to tokens and back (field reports V1, V4, V5, V7, V8), and learning the pieces."""

import pickle
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtkit.config import schema
from mtkit.data.normalisation import nfc as normalise
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary, learn_vocabulary
from mtkit.support.errors import UserError

WORDS = {"the": 9, "cat": 4, "sat": 3, "on": 3, "mat": 2, "a": 5, "dog": 2, "pad": 1, "unk": 1}
FIRST_BYTE = 4
SOFT = schema.Vocabulary(soft_limit=True)
ASCII = learn_vocabulary(WORDS, SOFT)


def round_trip(text: str, vocabulary: Vocabulary = ASCII) -> str:
    return vocabulary.decode(vocabulary.encode([text]))[0]


@given(st.text(st.characters(exclude_categories=())))
def test_decoding_gives_back_the_normalised_text(text: str) -> None:
    assert round_trip(text) == normalise(text)
    assert normalise(normalise(text)) == normalise(text)


@given(
    st.lists(st.text(st.characters(exclude_categories=())) | st.sampled_from(["<s>", "</s>", "<pad>", "<unk>", "\u2581"]))
)
def test_no_text_yields_a_control_token(parts: list[str]) -> None:
    assert {PAD, BOS, EOS, UNK}.isdisjoint(ASCII.encode(["".join(parts)])[0])


@given(st.lists(st.integers(0, len(ASCII) - 1)))
def test_no_tokens_yield_a_trace_of_their_notation(tokens: list[int]) -> None:
    text = ASCII.decode([tokens])[0]
    assert not set(text) & set("\u2581\u2047\ufeff\n\r\t\x85\u2028\u2029\x1c\0")
    assert "\ufffd" not in text or "\ufffd".encode() in bytes(t - FIRST_BYTE for t in tokens if 0 <= t - FIRST_BYTE < 256)
    assert text == normalise(text)


@pytest.mark.parametrize("text", ["🙂 日本 Ωmega", "a …b ½ m² ™ ﬁ ſ", "„So“ – ‚ja‘", "a\u200db\u200cc", "▅ \ufffd \ufffe"])
def test_characters_the_vocabulary_never_saw_stay(text: str) -> None:
    assert round_trip(text) == text


@pytest.mark.parametrize("piece", ["<s>", "</s>", "<pad>", "<unk>", "<0x41>", *ASCII.pieces[260:]])
def test_literal_pieces_are_text(piece: str) -> None:
    text = f"a {piece} b"
    assert {PAD, BOS, EOS, UNK}.isdisjoint(ASCII.encode([text])[0])
    assert round_trip(text) == normalise(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x▁y", "x y"),
        ("so\u00adfter", "softer"),
        ("\ufeffHello", "Hello"),
        ("a\u00a0b\u202fc\u3000d", "a b c d"),
        ("a\tb\nc\rd\x85e\u2028f\x0cg\x1ch", "a b c d e f g h"),
        ("  a   b  ", "a b"),
        ("a\0\x07\u200bb", "ab"),
        ("\u00a0 \u200b\t", ""),
        ("u\u0308ber A\u030a \u212b", "über Å Å"),
        ("e\u00ad\u0301", "é"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
        ("what\u2047", "what??"),
    ],
)
def test_normalising(text: str, expected: str) -> None:
    assert normalise(text) == expected
    assert round_trip(text) == expected


def test_the_model_alone_treats_text_the_same_way() -> None:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=ASCII.model_bytes)
    for text in ("x▁y", "so\u00adfter  u\u0308ber", "a\u00a0b\u2028c\td\x85e", "\ufeffA\u030a \u1e63\u0307", "\u2047"):
        assert processor.decode(processor.encode(text)) == normalise(text)


def test_a_byte_run_cut_short_is_dropped() -> None:
    smile = ASCII.encode(["a 🙂🙂"])[0]
    assert ASCII.decode([smile[:-1], smile[:-3], smile[:-4]]) == ["a 🙂"] * 3
    broken_inside = [*smile[:-2], *ASCII.encode(["cat"])[0]]
    assert ASCII.decode([broken_inside]) == ["a 🙂 cat"]


def test_control_tokens_are_ignored_in_decoding() -> None:
    assert ASCII.decode([[BOS, *ASCII.encode(["the cat"])[0], UNK, EOS, PAD, PAD], [EOS], []]) == ["the cat", "", ""]


def test_too_large_a_size_names_the_largest_and_that_works() -> None:
    words = {f"w{number}": 1 for number in range(100)}
    with pytest.raises(UserError) as caught:
        learn_vocabulary(words, schema.Vocabulary(size=37000))
    message = str(caught.value)
    most = int(message.split("at most ")[1].split(";")[0])
    assert message == (
        f"vocabulary.size 37000 is too large for this corpus: at most {most}; "
        f"set vocabulary.size={most} or vocabulary.soft_limit=true"
    )
    assert len(learn_vocabulary(words, schema.Vocabulary(size=most))) == most
    assert len(learn_vocabulary(words, SOFT)) == most
    with pytest.raises(UserError, match=f"at most {most};"):
        learn_vocabulary(words, schema.Vocabulary(size=most + 1))


def test_too_small_a_size_names_what_the_characters_need() -> None:
    words = {chr(0x4E00 + number): 1 for number in range(200)}
    with pytest.raises(UserError, match=r"vocabulary.size 300 is too small .* need 461"):
        learn_vocabulary(words, schema.Vocabulary(size=300, character_coverage=1.0))
    assert len(learn_vocabulary(words, schema.Vocabulary(size=461, character_coverage=1.0))) == 461


@pytest.mark.parametrize("words", [{}, {"▅": 2}, {"x" * 5000: 1}])
def test_nothing_to_learn_from(words: dict[str, int]) -> None:
    with pytest.raises(UserError, match="no words to learn"):
        learn_vocabulary(words, SOFT)


def test_learning_is_deterministic_quiet_and_leaves_no_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    again = learn_vocabulary(dict(reversed(WORDS.items())), SOFT)
    assert again.model_bytes == ASCII.model_bytes
    assert again.fingerprint == ASCII.fingerprint
    assert str(tmp_path).encode() not in again.model_bytes
    assert capfd.readouterr() == ("", "")
    assert learn_vocabulary(WORDS | {"bird": 7}, SOFT).fingerprint != ASCII.fingerprint


def test_frequent_words_become_pieces_in_both_languages() -> None:
    vocabulary = learn_vocabulary({"Straße": 50, "street": 50, "x": 1}, schema.Vocabulary(size=300, soft_limit=True))
    assert [len(tokens) for tokens in vocabulary.encode(["Straße", "street", "Straße street"])] == [1, 1, 2]
    assert vocabulary.pieces[:FIRST_BYTE] == ["<pad>", "<s>", "</s>", "<unk>"]


def test_it_pickles() -> None:
    copy = pickle.loads(pickle.dumps(ASCII))
    assert copy.model_bytes == ASCII.model_bytes
    assert copy.encode(["the cat 🙂"]) == ASCII.encode(["the cat 🙂"])


def test_loading(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.model"
    path.write_bytes(ASCII.model_bytes)
    assert Vocabulary.load(path).pieces == ASCII.pieces
    assert Vocabulary.from_bytes(ASCII.model_bytes).fingerprint == ASCII.fingerprint
    for damaged in (b"", b"not a model", ASCII.model_bytes[: len(ASCII.model_bytes) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"vocabulary\.model"):
            Vocabulary.load(path)
    with pytest.raises(UserError, match=r"absent.model.*mtkit prepare"):
        Vocabulary.load(tmp_path / "absent.model")


def test_a_model_of_another_tool_is_refused(tmp_path: Path) -> None:
    import io

    import sentencepiece

    stream = io.BytesIO()
    sentences = iter(["a b c d", "c d e f"])
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences, model_writer=stream, vocab_size=12, hard_vocab_limit=False, minloglevel=2
    )
    with pytest.raises(UserError, match="not a vocabulary that mtkit prepare made"):
        Vocabulary.from_bytes(stream.getvalue())


def test_normalising_is_canonical_composition() -> None:
    everything = "".join(chr(code) for code in range(0xC0, 0x250))
    assert normalise(unicodedata.normalize("NFD", everything)) == everything
