"""Constraints are always honoured, whatever the model thinks of them; and cost those nothing that have none."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtkit.config import schema
from mtkit.data.normalisation import nfc
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import Vocabulary
from mtkit.decoding.own_engine import OwnEngine
from mtkit.decoding.parts import Line
from mtkit.decoding.phrases import Demand, Spelling, Wishes, pattern
from mtkit.decoding.translator import Translation, Translator
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
Models = Callable[..., Transformer]
Make = Callable[..., Translator]

WORDS = [
    "the",
    "cat",
    "Haus",
    "Katze",
    "das",
    "café",
    "1234",
    "ing",
    "sentence.",
    "ein Haus",
    "old dog",
    "zzz",
    "😀",
    "(old!)",
    "s",
]


@pytest.fixture(scope="module")
def make(vocabulary: Vocabulary, random_model: Models) -> Make:
    """make(seed, **options): a translator with a random model."""

    def build(seed: int = 3, **options: object) -> Translator:
        decoding = schema.Decoding.model_validate({"max_length_factor": 0.5, "max_length_constant": 6} | options)
        return Translator([random_model(seed)], Vocabularies(vocabulary, vocabulary), decoding, CPU)

    return build


def wishing(*required: str | tuple[str, ...], forbidden: tuple[str, ...] = (), prefix: str = "", times: int = 1) -> Wishes:
    alternatives = [each if isinstance(each, tuple) else (each,) for each in required]
    return Wishes(prefix, tuple(Demand(each, times) for each in alternatives), forbidden)


def faults(translation: Translation, wishes: Wishes) -> list[str]:
    """Which wishes the translation does not meet, by its text alone."""
    text, found = translation.text, []
    for demand in wishes.required:
        if len(pattern(demand.alternatives, nfc).findall(text)) < demand.count:
            found.append(f"{demand} not in {text!r}")
    for phrase in wishes.forbidden:
        if pattern([phrase], nfc).search(text):
            found.append(f"{phrase!r} in {text!r}")
    if not text.startswith(wishes.prefix):
        found.append(f"{text!r} does not begin with {wishes.prefix!r}")
    return found


phrases = st.sampled_from(WORDS)
wishes = st.builds(
    Wishes,
    st.sampled_from(["", "", "das", "the old"]),
    st.lists(st.builds(Demand, st.lists(phrases, min_size=1, max_size=3).map(tuple), st.integers(1, 2)), max_size=3).map(
        tuple
    ),
    st.lists(st.sampled_from(["a", "tree", "finds", "see", "or red", "new", "-"]), max_size=3).map(tuple),
)


@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(wishes, min_size=1, max_size=4), st.integers(0, 5), st.sampled_from([1, 2, 4, 5]), st.sampled_from([0, 2]))
def test_all_wishes_come_true(make: Make, asked: list[Wishes], seed: int, beam_size: int, ngram: int) -> None:
    """Of models that know nothing of them, for every beam, several lines at a time."""
    lines = [
        Line(text, each) for text, each in zip(["the cat sees", "a dog", "old house and tree", "red"], asked, strict=False)
    ]
    translator = make(seed, beam_size=beam_size, no_repeat_ngram=ngram)
    for translation, each in zip(translator.translate(lines), asked, strict=True):
        assert not faults(translation, each)
        if each.required:
            assert not translation.hypotheses[0].truncated


def test_lines_without_wishes_are_translated_as_if_nobody_had_any(make: Make, lines: Callable[..., list[str]]) -> None:
    source = lines(20)
    alone = [translation.hypotheses for translation in make().translate(source)]
    mixed = [Line(text, wishing("Haus", forbidden=("cat",)) if place % 2 else Wishes()) for place, text in enumerate(source)]
    found = [translation.hypotheses for translation in make().translate(mixed)]
    assert [one.text for (one,) in found[::2]] == [one.text for (one,) in alone[::2]]
    assert [one.score for (one,) in found[::2]] == pytest.approx([one.score for (one,) in alone[::2]], abs=1e-4)


def test_wishes_do_not_depend_on_company(make: Make, lines: Callable[..., list[str]]) -> None:
    source = [Line(text, wishing(WORDS[place % 9], forbidden=("a", "dog"))) for place, text in enumerate(lines(18))]
    together = [translation.text for translation in make().translate(source)]
    assert [next(iter(make().translate([line]))).text for line in source] == together
    assert [translation.text for translation in make().translate(source[::-1])][::-1] == together


def test_what_comes_by_itself_is_not_asked_for_twice(make: Make, lines: Callable[..., list[str]]) -> None:
    """A demand that the translation meets anyway changes nothing."""
    for translation in list(make().translate(lines(20))):
        words = [word for word in translation.text.split() if re.fullmatch(r"\w+", word)]
        best = translation.hypotheses[0]
        if words and not best.truncated:
            wishes = Wishes(required=(Demand((words[-1],), 1),))
            (again,) = make(max_length_constant=40).translate([Line(translation.source, wishes)])
            assert again.hypotheses[0].score >= best.score - 1e-4


def test_a_forbidden_phrase_may_be_part_of_a_longer_word(make: Make, vocabulary: Vocabulary) -> None:
    assert pattern(["Haus"], nfc).search("ein Haus.")
    assert not pattern(["Haus"], nfc).search("Haushalt Rathaus Haus_1 Haus2")
    assert pattern(["ein Haus", "Haus"], nfc).search("mein Haus")
    assert pattern(["房子"], nfc).search("这房子很大")


def test_the_score_is_that_of_forced_decoding(make: Make, vocabulary: Vocabulary, random_model: Models) -> None:
    engine = OwnEngine([random_model(3)], Vocabularies(vocabulary, vocabulary), schema.Decoding(), CPU)
    source = "the cat sees the dog"
    (found,) = make().translate([Line(source, wishing("Katze", ("café", "Haus"), forbidden=("a",), prefix="ein"))])
    best = found.hypotheses[0]
    tokens = [vocabulary.pieces.index(piece) for piece in best.tokens]
    (score,) = engine.stepper.forced_scores(vocabulary.encode([source]), [tokens])
    assert best.log_probability == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        (wishing(" "), "blank"),
        (wishing(()), "no alternatives"),
        (wishing(forbidden=("",)), "blank"),
        (wishing("das Haus", forbidden=("Haus",)), "'das Haus' must be in the translation and 'Haus' must not"),
        (wishing(prefix="the cat", forbidden=("cat",)), "'the cat' must be in the translation and 'cat' must not"),
    ],
)
def test_what_cannot_be_is_told(make: Make, wishes: Wishes, told: str) -> None:
    with pytest.raises(UserError, match=f"^line 2: .*{told}"):
        list(make().translate(["a", Line("the dog", wishes)]))


def test_of_alternatives_one_that_is_forbidden_is_not_taken(make: Make) -> None:
    asked = wishing(("old dog", "Haus"), forbidden=("dog",))
    (found,) = make().translate([Line("the cat", asked)])
    assert not faults(found, asked)
    assert "Haus" in found.text


@settings(derandomize=True, max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(wishes, min_size=2, max_size=3), st.integers(0, 5))
@pytest.mark.parametrize(
    "options",
    [
        {"search": "sampling", "n_best": 3},
        {"diverse_groups": 2, "n_best": 4},
        {"diverse_groups": 4},
        {"n_best": 4},
        {"mbr": 3},
    ],
    ids=str,
)
def test_all_wishes_come_true_in_every_search(
    make: Make, options: dict[str, object], asked: list[Wishes], seed: int
) -> None:
    """And in every translation of a line, in whatever company."""
    lines = [Line(text, each) for text, each in zip(["the cat sees", "a dog", "old house"], asked, strict=False)]
    translator = make(seed, **options)
    together = list(translator.translate(lines))
    for line, translation in zip(lines, together, strict=True):
        for one in translation.hypotheses:
            assert not faults(replace(translation, hypotheses=(one,)), line.wishes)
        (alone,) = translator.translate([line])
        assert [one.text for one in alone.hypotheses] == [one.text for one in translation.hypotheses]


def test_what_the_prefix_says_is_not_judged_by_its_first_letters(make: Make) -> None:
    """Token by token it may look as if a forbidden word came, up to the letters that make it another one."""
    for prefix in ("Haus中", "cat中 the", "Hausé"):
        asked = wishing(forbidden=("Haus", "cat"), prefix=prefix)
        (found,) = make().translate([Line("the cat sees", asked)])
        assert not faults(found, asked)


def test_punctuation_stands_beside_words_and_words_stand_alone() -> None:
    """A boundary is needed where letters could go on, and nowhere else."""
    assert pattern(["."], nfc).search("Er geht.")
    assert pattern(["-fach"], nfc).search("das 3-fache") is None
    assert pattern(["-fach"], nfc).search("3-fach")
    assert pattern(["C++"], nfc).search("C++11")
    assert pattern(["(old!)"], nfc).search("x(old!)y")
    assert pattern(["😀"], nfc).search("gut😀ja")
    assert pattern(["हिन्दी"], nfc).search("हिन्दीभाषी") is None, "a mark belongs to the letter before it"


@pytest.mark.parametrize("beam_size", [1, 2])
def test_what_is_there_whatever_follows_is_prevented_before_it_comes(make: Make, beam_size: int) -> None:
    """Afterwards it would be too late: no letters turn a full stop or 房 into another word."""
    lines = ["the cat sees", "a dog", "old house", "red tree"]
    options = {"beam_size": beam_size, "max_length_constant": 12}
    plain = [translation.text for translation in make(**options).translate(lines)]
    signs = tuple(
        sorted({character for text in plain for character in text if not character.isalnum() and character != " "})
    )
    first = tuple(sorted({text.replace(" ", "")[0] for text in plain if text}))
    for forbidden in [signs, (*signs, "房", "的。"), (*signs, *first)]:
        asked = wishing(forbidden=forbidden)
        for translation in make(**options).translate([Line(line, asked) for line in lines]):
            assert not any(sign in translation.text for sign in signs)
            assert not faults(translation, asked)
    assert signs


def test_a_spelling_is_followed_through_repetitions() -> None:
    spelt = Spelling((7, 8, 7, 8, 9), False)
    tokens = [7, 8, 7, 8, 7, 8, 9, 7, 7, 8, 5]
    matched, seen = 0, []
    for token in tokens:
        matched = spelt.advance(matched, token)
        seen.append(matched)
    assert seen == [1, 2, 3, 4, 3, 4, 5, 1, 1, 2, 0]
    expected = [
        max(n for n in range(6) if n <= end and tuple(tokens[end - n : end]) == spelt.tokens[:n])
        for end in range(1, len(tokens) + 1)
    ]
    assert seen == expected


def test_learned_positions_that_do_not_suffice_are_told(vocabulary: Vocabulary) -> None:
    torch.manual_seed(1)
    sizes = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    config = schema.Model.model_validate(sizes | {"positions": "learned", "learned_positions": 12})
    model = Transformer(config, len(vocabulary)).eval()
    translator = Translator([model], Vocabularies(vocabulary, vocabulary), schema.Decoding(), CPU)
    with pytest.raises(UserError, match="has learned positions for 12: ask for less"):
        list(translator.translate([Line("the cat", wishing("a sentence that is as long as the positions are"))]))
