"""What the options of the section decoding do to lines (T3, T6, T10, T13, T14, T16, T19)."""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import Vocabulary, learn_vocabulary
from mtkit.decoding.length_penalties import gnmt
from mtkit.decoding.mbr import expected_likeness
from mtkit.decoding.parts import Line
from mtkit.decoding.phrases import Demand, Wishes, pattern
from mtkit.decoding.translator import Translation, Translator
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
Models = Callable[..., Transformer]
Lines = Callable[..., list[str]]
Make = Callable[..., Translator]


@pytest.fixture
def make(vocabulary: Vocabulary, random_model: Models) -> Make:
    """make(seed, …, **options): a translator with a random model, or an ensemble of several."""

    def build(*seeds: int, details: bool = False, **options: object) -> Translator:
        decoding = schema.Decoding.model_validate({"max_length_factor": 0.5, "max_length_constant": 8} | options)
        models = [random_model(seed) for seed in seeds or (3,)]
        both = Vocabularies(vocabulary, vocabulary)
        return Translator(models, both, decoding, CPU, source_language="en", details=details)

    return build


def only(translator: Translator, line: str | Line) -> Translation:
    (found,) = translator.translate([line])
    return found


def test_a_sample_is_the_same_wherever_its_line_stands(make: Make, lines: Lines) -> None:
    source = lines(30)
    options = {"search": "sampling", "n_best": 3, "temperature": 0.8, "top_p": 0.95}
    found = [translation.hypotheses for translation in make(**options).translate(source)]
    assert len({one.text for hypotheses in found for one in hypotheses}) > 30
    assert [translation.hypotheses[0].text for translation in make(**options).translate(source[::-1])][::-1] == [
        hypotheses[0].text for hypotheses in found
    ]
    alone = [only(make(**options), line).hypotheses for line in source[:8]]
    assert [[one.text for one in each] for each in alone] == [[one.text for one in each] for each in found[:8]]
    (first,) = only(make(**options | {"n_best": 1}), source[0]).hypotheses
    assert first.text == found[0][0].text
    other = [translation.hypotheses[0].text for translation in make(**options, seed=2).translate(source)]
    assert other != [hypotheses[0].text for hypotheses in found]


def test_nothing_is_drawn_unless_asked_for(make: Make, lines: Lines) -> None:
    source = lines(10)
    assert list(make(seed=1).translate(source)) == list(make(seed=2).translate(source))


def test_a_shortest_length(make: Make, lines: Lines) -> None:
    plain = [translation.hypotheses[0].length for translation in make().translate(lines(20))]
    assert min(plain) < 7
    for translation in make(min_length_constant=7).translate(lines(20)):
        assert translation.hypotheses[0].length >= 7
    assert only(make(min_length_factor=99.0), "the cat").hypotheses[0].length > 0, "no more than the longest"


def test_nothing_comes_twice(make: Make, lines: Lines) -> None:
    def repeats(translations: list[Translation]) -> int:
        found = 0
        for translation in translations:
            tokens = translation.hypotheses[0].tokens
            runs = list(itertools.pairwise(tokens))
            found += len(runs) - len(set(runs))
        return found

    options = {"max_length_constant": 30}
    assert repeats(list(make(**options).translate(lines(20)))) > 0
    assert repeats(list(make(**options, no_repeat_ngram=2).translate(lines(20)))) == 0


def test_a_forced_beginning(make: Make, lines: Lines) -> None:
    source = lines(12)
    begun = [Line(text, Wishes(prefix="das  rote Haus" if place % 3 else "")) for place, text in enumerate(source)]
    plain = [translation.text for translation in make().translate(source)]
    for place, translation in enumerate(make().translate(begun)):
        if place % 3:
            assert translation.text.startswith("das rote Haus")
        else:
            assert translation.text == plain[place]
    long = " ".join(["Katze"] * 60)
    found = only(make(), Line("the cat", Wishes(prefix=long)))
    assert found.text.startswith(long)


def test_distinct_texts(make: Make, lines: Lines) -> None:
    """The same text can be spelt in several ways."""
    twice = 0
    for line in lines(12):
        plain = only(make(beam_size=8, n_best=8), line)
        distinct = only(make(beam_size=8, n_best=8, distinct_texts=True), line)
        texts = [one.text for one in plain.hypotheses]
        twice += len(texts) - len(set(texts))
        assert [one.text for one in distinct.hypotheses] == list(dict.fromkeys(texts))
        few = only(make(beam_size=8, n_best=2, distinct_texts=True), line)
        assert few.hypotheses == distinct.hypotheses[:2]
    assert twice > 0


@pytest.mark.parametrize("options", [{"search": "sampling"}, {"beam_size": 6}])
def test_minimum_bayes_risk_chooses_what_is_most_like_the_others(
    make: Make, options: dict[str, object], lines: Lines
) -> None:
    for line in lines(6):
        candidates = only(make(**options, n_best=6), line).hypotheses
        found = only(make(**options, mbr=6, n_best=2), line)
        likeness = expected_likeness([one.text for one in candidates])
        best = candidates[int(np.argmax(likeness))]
        assert found.text == best.text
        assert found.hypotheses[0].log_probability == pytest.approx(best.log_probability, abs=1e-4)
        assert len(found.hypotheses) == 2


def test_likeness_is_sacrebleus_chrf() -> None:
    from sacrebleu import sentence_chrf

    texts = ["the cat sits", "the cat sat", "a dog", "the cat sits"]
    expected = [sum(sentence_chrf(text, [other]).score for other in texts) / 4 for text in texts]
    assert expected_likeness(texts) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("ensemble", ["log_probability", "probability"])
def test_ensembles_average_as_they_say(make: Make, ensemble: str, vocabulary: Vocabulary, random_model: Models) -> None:
    source = "the cat sees a house"
    best = only(make(1, 2, ensemble=ensemble), source).hypotheses[0]
    tokens = [vocabulary.pieces.index(piece) for piece in best.tokens]
    rows = []
    for seed in (1, 2):
        model = random_model(seed)
        hidden = model(torch.tensor([[*vocabulary.encode([source])[0], 2]]), None, torch.tensor([[1, *tokens]]))
        rows.append(model.logits(hidden)[0].log_softmax(-1))
    if ensemble == "probability":
        mean = (rows[0].exp() + rows[1].exp()).div(2).log()
    else:
        mean = ((rows[0] + rows[1]) / 2).log_softmax(-1)
    path = tokens if best.truncated else [*tokens, 2]
    expected = sum(mean[place, token].item() for place, token in enumerate(path))
    assert best.log_probability == pytest.approx(expected, abs=1e-4)
    assert only(make(1, 1, ensemble=ensemble), source).text == only(make(1), source).text


def test_the_coverage_penalty_is_the_formula(make: Make, vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    """Against the attention of a forced pass; in company, where sources are padded."""
    source = lines(8)
    translator = make(coverage_penalty=0.2)
    model = random_model(3)
    changed = 0
    for line, translation in zip(source, translator.translate(source), strict=True):
        best = translation.hypotheses[0]
        tokens = [vocabulary.pieces.index(piece) for piece in best.tokens]
        predicting = len(tokens) + (not best.truncated)
        from mtkit.model.attention import attention_weights

        encoded = vocabulary.encode([line])[0]
        with torch.no_grad(), attention_weights(model) as seen:
            model(torch.tensor([[*encoded, 2]]), None, torch.tensor([[1, *tokens]]))
        paid = seen["decoder.0.cross_attention"][0][0].mean(0)[:predicting, : len(encoded)].sum(0)
        penalty = 0.2 * paid.clamp(1e-6, 1.0).log().sum().item()
        assert best.score == pytest.approx(best.log_probability / gnmt(best.length, 0.6) + penalty, abs=1e-3)
        changed += best.text != only(make(), line).text
    assert changed > 0


def test_words_are_aligned_in_whatever_company(make: Make, lines: Lines) -> None:
    source = lines(12)
    together = list(make(details=True).translate(source))
    for line, translation in zip(source, together, strict=True):
        best = translation.hypotheses[0]
        assert only(make(details=True), line).hypotheses[0].alignment == best.alignment
        for word, other in best.alignment:
            assert 0 <= word < len(line.split())
            assert 0 <= other < len(best.text.split())
        targets = [target for _, target in best.alignment]
        assert targets == sorted(set(targets))
    assert sum(len(translation.hypotheses[0].alignment) for translation in together) > 10
    assert only(make(), source[0]).hypotheses[0].alignment == ()


def test_long_lines_are_cut_or_refused(make: Make) -> None:
    long = " ".join(["the cat"] * 20)
    options = {"max_source_tokens": 8, "beam_size": 1}
    cut = only(make(**options, long_lines="truncate"), long)
    assert cut.pieces == 1
    assert cut.warnings[0] == "line 1: 40 tokens, over decoding.max_source_tokens 8: only the first 8 translated"
    assert cut.text == only(make(beam_size=1), " ".join(["the cat"] * 4)).text
    with pytest.raises(UserError, match=r"line 2: 40 tokens, over .* 8: shorten it"):
        list(make(**options, long_lines="error").translate(["cat", long]))


def test_a_translation_that_lost_most_of_its_line_is_told(make: Make) -> None:
    line = "the cat sees the dog. " * 12
    (told,) = only(make(max_length_factor=0.1, beam_size=1), line).warnings[-1:]
    assert "something may be missing; decoding.split_sentences=true translates each sentence on its own" in told
    assert told.startswith("line 1: ")
    assert not [w for w in only(make(max_length_factor=0.1, beam_size=1), "the cat").warnings if "missing" in w]


def test_sentences_are_translated_apart_and_keep_their_spacing(make: Make) -> None:
    options = {"beam_size": 1, "min_length_constant": 4}
    pool = [
        f"{first} {rest}" for first in ("The", "A", "Das", "Old", "Red") for rest in ("cat sees a dog.", "tree finds it!")
    ]
    found = [(part.text, part) for part in make(**options).translate(pool)]
    parts = [part for text, part in found if text][:3]  # a model that knows nothing often has no text
    sentences = [part.source for part in parts]
    line = f" {sentences[0]}  {sentences[1]}\t{sentences[2]} "
    whole = only(make(**options, split_sentences=True, details=True), line)
    assert whole.pieces == 3
    assert whole.text == f"{parts[0].text}  {parts[1].text}\t{parts[2].text}"
    (best,) = whole.hypotheses
    assert best.log_probability == pytest.approx(sum(part.hypotheses[0].log_probability for part in parts), abs=1e-4)
    assert all(target < len(best.text.split()) and source < len(line.split()) for source, target in best.alignment)
    broken = only(make(**options, split_sentences=True), f"{sentences[0]}\u2028{sentences[1]}")
    assert broken.text == f"{parts[0].text} {parts[1].text}"
    assert only(make(split_sentences=True), " \t ").text == ""


def test_eight_sentences_are_eight_translations(make: Make) -> None:
    sentence = "The old cat sees a house."
    found = only(make(beam_size=1, split_sentences=True), " ".join([sentence] * 8))
    assert found.text == " ".join([only(make(beam_size=1), sentence).text] * 8)


def test_wishes_of_a_line_in_parts(make: Make) -> None:
    asked = Line("The cat sees a dog. A tree finds the house!", Wishes(prefix="das", forbidden=("cat",)))
    found = only(make(split_sentences=True), asked)
    assert found.pieces == 2
    assert found.text.startswith("das")


@pytest.mark.parametrize("options", [{"split_sentences": True}, {"max_source_tokens": 8}], ids=str)
def test_what_a_line_in_parts_requires_stands_where_it_costs_least(
    make: Make, options: dict[str, object], vocabulary: Vocabulary
) -> None:
    text = "The cat sees a dog. A tree finds the house! Old red café. The sentence see 1234."
    translator = make(5, beam_size=2, max_length_constant=30, **options)
    plain = only(translator, text).hypotheses[0]
    (cut,) = translator._cutter.cut([Line(text)], 1)
    assert len(cut.parts) > 3
    free = [hypotheses[0].hypothesis for hypotheses in translator._search(list(cut.parts))]
    by_itself = [
        word for one in free if not one.truncated for word in re.findall(r"\w+", vocabulary.decode([one.tokens])[0])
    ]
    assert by_itself, "or nothing is tried below"
    asked = [Line(text, Wishes(required=(Demand((word,)),))) for word in ["Haus x", "Katze", *by_itself[:1]]]
    together = list(translator.translate([*asked, text, *asked]))
    assert together[len(asked)].text == plain.text
    for place, each in enumerate(asked):
        demands = each.wishes.required
        found = only(translator, each)
        assert found.text == together[place].text == together[len(asked) + 1 + place].text
        assert pattern(demands[0].alternatives, str).search(found.text)
        for where in range(len(cut.parts)):
            parts = [part.requiring(demands) if number == where else part for number, part in enumerate(cut.parts)]
            scores = [hypotheses[0].hypothesis.score for hypotheses in translator._search(parts)]
            assert found.hypotheses[0].score >= min(plain.score, sum(scores) / len(parts)) - 1e-3
    several = Wishes(required=(Demand(("Haus x",)), Demand(("zwei", "drei"), 2)), forbidden=("zwei", "a"), prefix="das")
    found = only(translator, Line(text, several))
    assert found.text.startswith("das")
    assert len(pattern(["drei"], str).findall(found.text)) >= 2
    assert not pattern(["zwei", "a"], str).search(found.text)
    assert not [warning for warning in found.warnings if "requires" in warning]


def test_a_line_may_forbid_what_the_glossary_wants(make: Make, tmp_path: Path) -> None:
    """One line's wish is no reason to stop the work."""
    (tmp_path / "terms.tsv").write_text("cat\tKatze\ndog\tHund\tTier\n", encoding="utf-8")
    asked = Line("The cat sees a dog.", Wishes(forbidden=("Katze", "Hund")))
    found = only(make(glossary=str(tmp_path / "terms.tsv")), asked)
    assert "line 1: 'Katze' of the glossary is left out: 'Katze' is forbidden here" in found.warnings
    assert "Tier" in found.text
    assert "Katze" not in found.text.split()


def test_what_did_not_come_through_is_told(make: Make) -> None:
    found = only(make(check_copies=True, beam_size=1), "Call +49 30 1234, see https://a.example/x?y=1")
    told = [warning for warning in found.warnings if "is missing in the output" in warning]
    assert "line 1: https://a.example/x?y=1 is missing in the output" in told
    assert not only(make(beam_size=1), "Call +49 30 1234").warnings or not found.text


def test_placeholders_that_did_not_come_through_are_told(random_model: Models) -> None:
    counts = dict.fromkeys(("the", "a", "cat", "dog", "house", "Haus", "Katze", "das"), 5)
    options = schema.Vocabulary(size=402, soft_limit=True, symbols=("__P1__", "</i>"))
    vocabulary = learn_vocabulary(counts, options, symbols=options.symbols)
    translate = Translator(
        [random_model(3, pieces=len(vocabulary))],
        Vocabularies(vocabulary, vocabulary),
        schema.Decoding(check_copies=True, beam_size=1),
        CPU,
    ).translate
    clean, found = translate(["the cat", "the __P1__ cat"])
    assert [warning for warning in found.warnings if "__P1__" in warning] == ["line 2: __P1__ is missing in the output"]
    assert not [warning for warning in clean.warnings if "__P1__" in warning]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_best": 5}, "n_best 5 is more than beam_size 4"),
        ({"diverse_groups": 3}, "beam_size 4 cannot be divided in diverse_groups 3"),
        ({"mbr": 5}, "mbr 5 is more than beam_size 4"),
        ({"mbr": 1}, "mbr 1 is too few"),
        ({"n_best": 4, "mbr": 3}, "mbr 3 is too few to choose from: give at least 4"),
        ({"top_k": 5}, "top_k 5 is for sampling: set search=sampling too"),
        ({"temperature": 0.5}, "temperature 0.5 is for sampling"),
        ({"search": "sampling", "diverse_groups": 2}, "diverse_groups 2 is for a beam"),
        ({"search": "sampling", "patience": 1.0}, "patience 1.0 is for a beam"),
    ],
)
def test_options_that_do_nothing_together_are_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        schema.Decoding.model_validate(options)
    assert schema.Decoding.model_validate({"search": "sampling", "n_best": 30, "top_k": 5, "mbr": 30}).n_best == 30


def test_all_options_at_once(make: Make, lines: Lines) -> None:
    """They do not get into each other's way, whatever is combined."""
    choices = {
        "coverage_penalty": (0.0, 0.2),
        "no_repeat_ngram": (0, 3),
        "min_length_constant": (0, 4),
        "patience": (0.0, 1.0),
        "diverse_groups": (1, 2),
        "length_penalty": ("gnmt", "average"),
    }
    source = lines(4)
    for place, values in enumerate(itertools.product(*choices.values())):
        if place % 5:
            continue
        options = dict(zip(choices, values, strict=True))
        together = list(make(n_best=2, **options).translate(source))
        for line, translation in zip(source, together, strict=True):
            assert all(math.isfinite(one.score) for one in translation.hypotheses)
            assert [one.text for one in only(make(n_best=2, **options), line).hypotheses] == [
                one.text for one in translation.hypotheses
            ]
