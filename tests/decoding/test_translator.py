"""The line law (6) and T1-T6, T11, T12, T14, T17, T18: what becomes of lines, whatever surrounds them."""

import dataclasses
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import Vocabulary, learn_vocabulary
from mtkit.decoding.engines import ENGINES
from mtkit.decoding.length_penalties import gnmt
from mtkit.decoding.requests import Request
from mtkit.decoding.search import Hypothesis
from mtkit.decoding.stepping import DecodingState, Stepper
from mtkit.decoding.translator import BLANK, Translation, Translator, is_looping
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
Models = Callable[..., Transformer]
Lines = Callable[..., list[str]]
Make = Callable[..., Translator]


@pytest.fixture
def make(vocabulary: Vocabulary, random_model: Models) -> Make:
    """make(seed, **options): a translator with a random model."""

    def build(seed: int = 3, **options: object) -> Translator:
        decoding = schema.Decoding.model_validate({"max_length_factor": 0.5, "max_length_constant": 8} | options)
        return Translator([random_model(seed)], Vocabularies(vocabulary, vocabulary), decoding, CPU)

    return build


class Copying:
    """An engine whose every answer is its source, cut at the limit."""

    rows = 1
    side_by_side = False

    def __init__(self, *_: object) -> None:
        pass

    def search(self, requests: Sequence[Request]) -> list[list[Hypothesis]]:
        return [
            [Hypothesis(each.source[: each.longest], -1.0, -1.0, truncated=len(each.source) >= each.longest)]
            for each in requests
        ]


@pytest.fixture
def copying(make: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """copying(**options): a translator that copies."""
    monkeypatch.setitem(ENGINES, "mtkit", Copying)
    return lambda **options: make(**{"max_length_factor": 2.0} | options)


def texts(translator: Translator, lines: list[str]) -> list[list[str]]:
    return [[one.text for one in translation.hypotheses] for translation in translator.translate(lines)]


@pytest.mark.parametrize("seed", [2, 5])
def test_a_translation_does_not_depend_on_company_order_batches_or_buffer(seed: int, make: Make, lines: Lines) -> None:
    source = lines(50)
    whole = list(make(seed, n_best=4).translate(source))
    expected = [[one.text for one in translation.hypotheses] for translation in whole]
    assert len({tuple(best) for best in expected}) > 30, "a model that says the same to all would prove nothing"
    assert [texts(make(seed, n_best=4), [line])[0] for line in source[:20]] == expected[:20]
    assert texts(make(seed, n_best=4), source[::-1]) == expected[::-1]
    assert texts(make(seed, n_best=4, batch_tokens=1), source) == expected
    assert texts(make(seed, n_best=4, batch_tokens=40, buffer=7), source) == expected
    stranger = " ".join(["the cat"] * 100)
    crowd = list(make(seed, n_best=4).translate([stranger, *source, stranger, *source]))
    assert [[one.text for one in translation.hypotheses] for translation in crowd[1:51]] == expected
    for translation, alike in zip(whole, crowd[1:51], strict=True):
        for one, other in zip(translation.hypotheses, alike.hypotheses, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert dataclasses.replace(one, score=0, log_probability=0) == dataclasses.replace(
                other, score=0, log_probability=0
            )


def test_twice_the_same(make: Make, lines: Lines) -> None:
    assert list(make().translate(lines(20))) == list(make().translate(lines(20)))


def test_lines_come_back_in_order_with_number_and_source(make: Make, lines: Lines) -> None:
    source = lines(30, longest=30)
    found = list(make(buffer=11, batch_tokens=50).translate(source))
    assert [translation.number for translation in found] == list(range(1, 31))
    assert [translation.source for translation in found] == source


def test_blank_lines_stay_blank_and_never_reach_the_model(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    begin = Stepper.begin

    def watched(stepper: Stepper, sources: list[list[int]], allowed: None) -> DecodingState:
        seen.append(len(sources))
        return begin(stepper, sources, allowed)

    monkeypatch.setattr(Stepper, "begin", watched)
    found = list(make(n_best=3).translate(["a", "", "   ", "\t", "\u00a0\u200b\ufeff", "\r", "b"]))
    assert [translation.pieces for translation in found] == [1, 0, 0, 0, 0, 0, 1]
    assert all(translation.hypotheses == (BLANK,) for translation in found[1:6])
    assert sum(seen) == 2
    assert [translation.text for translation in make().translate(["", ""])] == ["", ""]
    assert list(make().translate([])) == []


def test_numbers_are_finite_and_mean_what_they_say(make: Make, lines: Lines) -> None:
    for translation in make(n_best=4).translate(["", *lines(20)]):
        scores = [one.score for one in translation.hypotheses if not one.truncated]
        assert scores == sorted(scores, reverse=True)
        for one in translation.hypotheses:
            assert math.isfinite(one.score)
            assert one.score == pytest.approx(one.log_probability / gnmt(one.length, 0.6)) or one is BLANK


def test_a_long_line_is_translated_in_pieces_with_a_warning(make: Make, vocabulary: Vocabulary) -> None:
    first, second = "the cat sees a house and a tree.", "ein Haus finds the old dog"
    longest, total = (len(tokens) for tokens in vocabulary.encode([first, f"{first} {second}"]))
    translator = make(max_source_tokens=longest, beam_size=1)
    parts = list(translator.translate([first, second]))
    assert [part.pieces for part in parts] == [1, 1]
    found = list(translator.translate(["cat", f"{first} {second}", "dog"]))
    assert all(part.text for part in parts)
    assert found[1].text == f"{parts[0].text} {parts[1].text}"
    assert found[1].pieces == 2
    told = f"line 2: {total} tokens, over decoding.max_source_tokens {longest}: translated in 2 pieces"
    assert found[1].warnings[0] == told
    (best,), halves = found[1].hypotheses, [part.hypotheses[0] for part in parts]
    assert best.length == sum(half.length for half in halves)
    assert best.log_probability == pytest.approx(sum(half.log_probability for half in halves), abs=1e-4)
    assert best.score == pytest.approx(sum(half.score for half in halves) / 2, abs=1e-4)


def test_a_long_line_is_cut_by_the_pieces_of_the_source(vocabulary: Vocabulary) -> None:
    first, second = "the cat sees a house and a tree.", "ein Haus finds the old dog"
    options = schema.Vocabulary(size=len(vocabulary), soft_limit=True)
    target = learn_vocabulary({"".join(map(chr, range(0x3B1, 0x3C9))): 9, "ψηφος": 8}, options)  # other pieces throughout
    sizes = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "tied_embeddings": "decoder"}
    torch.manual_seed(1)
    model = Transformer(schema.Model.model_validate(sizes), len(target), len(vocabulary)).eval()
    longest = len(vocabulary.encode([first])[0]) + 2  # room for two words after the end of the sentence
    decoding = schema.Decoding(max_source_tokens=longest, max_length_factor=0.0, max_length_constant=9)
    found = list(
        Translator([model], Vocabularies(vocabulary, target), decoding, CPU).translate([first, second, f"{first} {second}"])
    )
    halves, (whole,) = [part.hypotheses[0] for part in found[:2]], found[2].hypotheses[:1]
    assert [part.pieces for part in found] == [1, 1, 2]
    assert whole.log_probability == pytest.approx(sum(half.log_probability for half in halves), abs=1e-4)
    assert whole.text == " ".join(filter(None, (half.text for half in halves)))


def test_a_line_of_5000_words_is_one_line_of_output(make: Make) -> None:
    translator = make(max_source_tokens=1024, beam_size=1, max_length_factor=0.0)
    found = list(translator.translate(["the cat", " ".join(["dog"] * 5000), "a tree"]))
    assert len(found) == 3
    assert found[1].pieces == 5
    assert "5000 tokens, over decoding.max_source_tokens 1024" in found[1].warnings[0]


def test_output_cut_by_the_limit_is_flagged(make: Make, lines: Lines) -> None:
    translator = make(seed=1, beam_size=1, max_length_factor=0.0, max_length_constant=5)
    (found,) = translator.translate(["the cat sees the dog"])
    (best,) = found.hypotheses
    assert best.truncated
    assert best.length == 5
    assert found.warnings == ("line 1: output reached the length limit (5 tokens)",)
    for translation in make(seed=3).translate(lines(20)):
        assert bool(translation.warnings) == translation.hypotheses[0].truncated


def test_the_limit_follows_the_source(make: Make, vocabulary: Vocabulary) -> None:
    (tokens,) = vocabulary.encode(["the cat sees the dog"])
    translator = make(seed=1, beam_size=1, max_length_factor=1.5, max_length_constant=1)
    (found,) = translator.translate(["the cat sees the dog"])
    assert found.hypotheses[0].length == int(1.5 * len(tokens)) + 1


def test_an_endless_repetition_ends_and_is_flagged(make: Make) -> None:
    start = time.process_time()
    found = [translation for seed in range(5) for translation in make(seed, max_length_constant=50).translate(["Hello"])]
    assert time.process_time() - start < 5.0
    assert any(translation.hypotheses[0].looping and translation.hypotheses[0].truncated for translation in found)


def test_looping_is_a_4_gram_more_than_five_times() -> None:
    assert is_looping([7] * 9)
    assert not is_looping([7] * 8)
    assert is_looping([1, 2, 3, 4, 5] * 6)
    assert not is_looping([1, 2, 3, 4, 5] * 5)
    assert not is_looping(range(1000))
    assert not is_looping([])


def test_no_control_piece_and_no_line_break_in_any_output(make: Make, vocabulary: Vocabulary, lines: Lines) -> None:
    controls = [*vocabulary.pieces[:4], "\n", "\r", "\t", "\u2028", "\u2047", "\u2581", "<0x", "\ufffd"]
    for seed in range(3):
        for translation in make(seed, n_best=4).translate(lines(40)):
            for one in translation.hypotheses:
                assert not [control for control in controls if control in one.text]


def test_markup_and_control_pieces_in_the_input_are_text(copying: Make) -> None:
    source = ["<b>x</b> &amp; y", "</s>", "<s> <pad> <unk>", "a < b > c && d", "<0x41> \\n %s {x} \\u0041", "&lt;p&gt;"]
    assert texts(copying(), source) == [[line] for line in source]


def test_lines_of_any_length_come_out_where_they_went_in(copying: Make) -> None:
    draw = random.Random(4)
    source = [f"{number}" + " cat" * draw.randint(0, 30) for number in range(1, 201)]
    for options in ({}, {"buffer": 7, "batch_tokens": 50}, {"max_source_tokens": 8}):
        assert texts(copying(**options), source) == [[line] for line in source]


def test_of_a_copy_nothing_is_missing(copying: Make) -> None:
    (found,) = copying(check_copies=True).translate(["Call +49 30 1234, see https://a.example/x?y=1 for 5 €, a+b@c.example"])
    assert found.text == found.source
    assert found.warnings == ()


def test_a_copy_is_cut_by_the_limit_and_flagged(copying: Make) -> None:
    (found,) = copying(max_length_factor=0.0, max_length_constant=20).translate([" ".join(["cat"] * 300)])
    assert len(found.hypotheses[0].tokens) == 20
    assert found.hypotheses[0].truncated
    assert found.warnings[0] == "line 1: output reached the length limit (20 tokens)"


def test_with_a_buffer_of_one_each_line_is_answered_before_the_next_is_read(make: Make) -> None:
    read: list[str] = []

    def typed() -> Iterator[str]:
        for line in ("a", "", "the cat"):
            read.append(line)
            yield line

    answers: Iterator[Translation] = make(buffer=1).translate(typed())
    for count in (1, 2, 3):
        assert next(answers).number == count
        assert len(read) == count


def test_a_broken_model_is_named(vocabulary: Vocabulary, random_model: Models) -> None:
    model = random_model(0)
    with torch.no_grad():
        model.embedding.weight.fill_(torch.nan)
    translator = Translator([model], Vocabularies(vocabulary, vocabulary), schema.Decoding(), CPU)
    with pytest.raises(UserError, match="no finite probabilities"):
        list(translator.translate(["a"]))


def test_learned_positions_limit_what_goes_in_and_what_comes_out(vocabulary: Vocabulary) -> None:
    torch.manual_seed(1)
    sizes = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    config = schema.Model.model_validate(sizes | {"positions": "learned", "learned_positions": 12})
    model = Transformer(config, len(vocabulary)).eval()
    translator = Translator([model], Vocabularies(vocabulary, vocabulary), schema.Decoding(beam_size=2), torch.device("cpu"))
    (found,) = translator.translate([" ".join(["dog"] * 40)])
    assert found.pieces > 3
    assert ", over the model's learned positions, 11: translated in" in found.warnings[0]
    assert all(hypothesis.length <= 12 * found.pieces for hypothesis in found.hypotheses)
    assert found.hypotheses[0].truncated, "or the limit was not reached in this test"
