"""decoding.shortlist: nothing but what a sentence may use, the same whatever stands beside it, and nothing else changed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data.lexicon import KEPT, Lexicon
from mtkit.data.shortlist import SHORTLIST, Candidates, Shortlist
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import BOS, EOS, Vocabulary
from mtkit.decoding.linear_maps import MAPS, lacking
from mtkit.decoding.parts import Line
from mtkit.decoding.phrases import Demand, Wishes
from mtkit.decoding.search import Hypothesis, beam_search
from mtkit.decoding.stepping import NEVER, Stepper
from mtkit.decoding.translator import Translator
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
AVAILABLE = [precision for precision in MAPS if lacking(precision) is None]
Models = Callable[..., Transformer]
Lines = Callable[..., list[str]]
Sets = list[np.ndarray]


def drawn(count: int, pieces: int, share: float = 0.2) -> Sets:
    """For each sentence the control tokens and some others."""
    random = np.random.default_rng(count)
    return [np.union1d(range(4), np.flatnonzero(random.random(pieces) < share)) for _ in range(count)]


def found(
    stepper: Stepper, sources: list[list[int]], allowed: Sets | None, beam: int, *, all_at_once: bool = False
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, by the fused output step if there is one and not `all_at_once`."""
    options = schema.Decoding(beam_size=beam, n_best=beam)
    best = stepper.best if stepper.finds_best and not all_at_once else None
    with stepper.running():
        state = stepper.begin(sources, allowed)
        limits = [len(source) + 6 for source in sources]
        return beam_search(stepper.step, state, limits, options, CPU, best_of_step=best)


def told(answers: list[list[Hypothesis]], digits: int = 4) -> list[list[tuple[tuple[int, ...], float]]]:
    return [[(one.tokens, round(one.log_probability, digits)) for one in hypotheses] for hypotheses in answers]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("models", [1, 2])
def test_only_what_a_sentence_may_use_and_normalised_over_that(
    models: int, beam: int, vocabulary: Vocabulary, random_model: Models, lines: Lines
) -> None:
    sources = vocabulary.encode(lines(12))
    allowed = drawn(len(sources), len(vocabulary))
    ensemble = [random_model(seed) for seed in range(3, 3 + models)]
    answers = found(Stepper(ensemble, CPU), sources, allowed, beam)
    for source, own, hypotheses in zip(sources, allowed, answers, strict=True):
        for one in hypotheses:
            assert set(one.tokens) <= set(own.tolist()) - set(NEVER)
            if models == 1:
                target = [*one.tokens, *([] if one.truncated else [EOS])]
                hidden = ensemble[0](torch.tensor([[*source, EOS]]), None, torch.tensor([[BOS, *target[:-1]]]))
                logits = ensemble[0].logits(hidden)[0].detach()[:, own].log_softmax(-1)
                places = torch.from_numpy(np.searchsorted(own, target))
                assert float(logits[range(len(target)), places].sum()) == pytest.approx(one.log_probability, abs=1e-3)
    free = found(Stepper(ensemble, CPU), sources, None, beam)
    assert any(one[0].tokens != other[0].tokens for one, other in zip(answers, free, strict=True))


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("precision", AVAILABLE)
def test_a_translation_does_not_depend_on_what_others_may_use(
    precision: str, beam: int, vocabulary: Vocabulary, random_model: Models, lines: Lines
) -> None:
    sources = vocabulary.encode(lines(30))
    allowed = drawn(len(sources), len(vocabulary))
    stepper = Stepper([random_model(3)], CPU, precision)
    together = told(found(stepper, sources, allowed, beam), 2)
    backwards = told(found(stepper, sources[::-1], allowed[::-1], beam), 2)[::-1]
    alone = [told(found(stepper, [source], [own], beam), 2)[0] for source, own in zip(sources, allowed, strict=True)]
    # Those in which a choice hangs on the rounding of products of another size may differ.
    rounding = 0 if precision == "float32" else 2
    for other in (backwards, alone):
        best = [one[0][0] == another[0][0] for one, another in zip(together, other, strict=True)]
        assert best.count(False) <= rounding


@pytest.mark.parametrize("beam", [1, 4])
def test_the_fused_step_and_the_whole_one_find_the_same(
    beam: int, vocabulary: Vocabulary, random_model: Models, lines: Lines
) -> None:
    sources = vocabulary.encode(lines(20))
    allowed = drawn(len(sources), len(vocabulary))
    packed, plain = Stepper([random_model(2)], CPU), Stepper([random_model(2)], CPU)
    plain.packed, plain._outputs, plain.models = False, [], [random_model(2)]  # as on a GPU
    expected = told(found(packed, sources, allowed, beam, all_at_once=True), 3)
    assert told(found(packed, sources, allowed, beam), 3) == expected
    assert told(found(plain, sources, allowed, beam), 3) == expected


def test_fewer_tokens_than_the_beam_asks_for(vocabulary: Vocabulary, random_model: Models, lines: Lines) -> None:
    """One sentence may use three words, the other everything: the first is not filled up with what it may not use."""
    sources = vocabulary.encode(lines(2))
    allowed = [np.array([0, 1, 2, 3, 300, 301]), np.arange(len(vocabulary))]
    for precision in AVAILABLE:
        few, free = found(Stepper([random_model(3)], CPU, precision), sources, allowed, 6)
        assert all(set(one.tokens) <= {300, 301} and np.isfinite(one.score) for one in few)
        assert few
        assert free[0].tokens == found(Stepper([random_model(3)], CPU, precision), sources, None, 6)[1][0].tokens


@pytest.fixture
def known(vocabulary: Vocabulary, tmp_path: Path) -> Vocabularies:
    """The vocabulary with a shortlist: the k-th best translation of a piece is the one k places behind it."""
    learned = Vocabularies(vocabulary, vocabulary, tmp_path)
    words = np.arange(260, len(vocabulary))
    translations = np.zeros((len(vocabulary), KEPT), dtype=np.int64)
    for place, piece in enumerate(words):
        translations[piece, :20] = np.roll(words, -place)[1:21]
    shortlist = Shortlist.of(Lexicon(translations, words[:3]), len(vocabulary))
    (tmp_path / SHORTLIST).write_bytes(shortlist.content(learned.fingerprint))
    return learned


@pytest.fixture
def make(known: Vocabularies, random_model: Models) -> Callable[..., Translator]:
    """make(**options): a translator with that shortlist."""

    def build(**options: object) -> Translator:
        usual = {"max_length_factor": 0.5, "max_length_constant": 8, "shortlist": 2}
        return Translator([random_model(3)], known, schema.Decoding.model_validate(usual | options), CPU)

    return build


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam_size": 1},
        {"search": "sampling", "n_best": 3},
        {"no_repeat_ngram": 2},
        {"coverage_penalty": 0.2},
        {"diverse_groups": 2},
    ],
)
def test_whatever_searches_keeps_to_the_shortlist(
    options: dict[str, object], make: Callable[..., Translator], known: Vocabularies, lines: Lines
) -> None:
    source = lines(30)
    candidates = Candidates(known.shortlist(), known.source, known.target, 2)
    translator = make(**options)
    together = [translation.hypotheses for translation in translator.translate(source)]
    for line, hypotheses in zip(source, together, strict=True):
        own = {known.target.pieces[token] for token in candidates.of(known.source.encode([line])[0])}
        assert all(set(one.tokens) <= own for one in hypotheses)
    assert [one[0].text for one in together] != [each.text for each in make(**options, shortlist=0).translate(source)]
    one_by_one = [next(translator.translate([line])).text for line in source]
    assert one_by_one == [hypotheses[0].text for hypotheses in together]


def test_lines_that_must_hold_something_are_searched_in_full(make: Callable[..., Translator], lines: Lines) -> None:
    source = lines(12)
    wishes = (Wishes(prefix="zebra"), Wishes(required=(Demand(("old tree",)),)), Wishes())
    asked = [Line(text, wishes[place % 3]) for place, text in enumerate(source)]
    full, short = (list(make(shortlist=count).translate(asked)) for count in (0, 2))
    for place, (one, other) in enumerate(zip(full, short, strict=True)):
        if place % 3 < 2:
            assert one.text == other.text
            assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-4)
    assert [one.text for one in full] != [one.text for one in short]
    assert short[0].text.startswith("zebra")
    assert "old tree" in short[1].text


def test_without_one_it_is_told_before_anything_is_translated(vocabulary: Vocabulary, random_model: Models) -> None:
    bare = Vocabularies(vocabulary, vocabulary)
    with pytest.raises(UserError, match=r"shortlist.safetensors: no such file: .*vocabulary.shortlist=true"):
        Translator([random_model(3)], bare, schema.Decoding(shortlist=50), CPU)
    with pytest.raises(UserError, match=r"decoding.shortlist 50: only the engine mtkit has it"):
        Translator([random_model(3)], bare, schema.Decoding(shortlist=50, engine="ctranslate2"), CPU)
