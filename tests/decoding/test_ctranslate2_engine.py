"""decoding.engine=ctranslate2: the pipeline, options and answers of our own search; what it cannot do is refused."""

from collections.abc import Callable, Sequence

import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabularies import Vocabularies
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from mtkit.decoding.ctranslate2_engine import HONOURED, unsupported
from mtkit.decoding.engines import ENGINES
from mtkit.decoding.parts import Line
from mtkit.decoding.phrases import Wishes
from mtkit.decoding.requests import Request
from mtkit.decoding.translator import BLANK, Translation, Translator
from mtkit.model.transformer import Transformer
from mtkit.support.errors import UserError

CPU = torch.device("cpu")
Models = Callable[..., Transformer]
Lines = Callable[..., list[str]]
Make = Callable[..., Translator]


@pytest.fixture
def make(vocabulary: Vocabulary, random_model: Models) -> Make:
    """make(seed, **options): a translator with a random model and, unless told otherwise, CTranslate2."""

    def build(seed: int = 3, **options: object) -> Translator:
        usual = {"engine": "ctranslate2", "max_length_factor": 0.5, "max_length_constant": 8}
        decoding = schema.Decoding.model_validate(usual | options)
        return Translator([random_model(seed)], Vocabularies(vocabulary, vocabulary), decoding, CPU)

    return build


def texts(translations: list[Translation]) -> list[list[str]]:
    return [[one.text for one in translation.hypotheses] for translation in translations]


@pytest.mark.parametrize("seed", [2, 3])
def test_greedy_answers_are_those_of_our_own_search(seed: int, make: Make, lines: Lines) -> None:
    source = [*lines(60), "", " \t"]
    ours, theirs = (list(make(seed, engine=engine, beam_size=1).translate(source)) for engine in ("mtkit", "ctranslate2"))
    assert len({translation.text for translation in ours}) > 30
    assert texts(theirs) == texts(ours)
    assert theirs[-1].hypotheses == (BLANK,)
    for own, other in zip(ours, theirs, strict=True):
        assert (other.number, other.source, other.pieces, other.warnings) == (
            own.number,
            own.source,
            own.pieces,
            own.warnings,
        )
        assert other.hypotheses[0].truncated == own.hypotheses[0].truncated
        assert other.hypotheses[0].length == own.hypotheses[0].length


def allowed_log_probability(model: Transformer, source: Sequence[int], target: Sequence[int]) -> float:
    """log p(target, end | source) where control tokens have no share of the probability."""
    sides = (torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))
    with torch.no_grad():
        logits = model.logits(model(sides[0], None, sides[1]))[0]
    logits[:, [PAD, BOS, UNK]] = -torch.inf
    return float(logits.log_softmax(-1).gather(1, torch.tensor([[*target, EOS]]).T).sum())


@pytest.mark.parametrize("penalty", ["gnmt", "average"])
def test_scores_are_those_of_forced_decoding(
    penalty: str, make: Make, lines: Lines, vocabulary: Vocabulary, random_model: Models
) -> None:
    engine = ENGINES["ctranslate2"](
        [random_model(2)],
        Vocabularies(vocabulary, vocabulary),
        schema.Decoding.model_validate({"length_penalty": penalty, "n_best": 3, "engine": "ctranslate2"}),
        CPU,
    )
    sources = vocabulary.encode(lines(20))
    found = engine.search([Request(tuple(source), 30) for source in sources])
    ended = [(place, one) for place, best in enumerate(found) for one in best if not one.truncated]
    assert len(ended) >= 20
    forced = [allowed_log_probability(random_model(2), sources[place], one.tokens) for place, one in ended]
    assert [one.log_probability for _, one in ended] == pytest.approx(forced, abs=1e-4)
    for best in found:
        whole = [one for one in best if not one.truncated]
        assert [one.score for one in whole] == sorted((one.score for one in whole), reverse=True)
        assert len({one.tokens for one in best}) == len(best)


def test_each_line_keeps_its_own_length_limit(make: Make, lines: Lines) -> None:
    """Short lines beside a long one, whose limit is higher."""
    source = [*lines(30, longest=3), " ".join(["the cat"] * 40)]
    options: dict[str, object] = {"max_length_factor": 1.0, "max_length_constant": 1, "beam_size": 3}
    together = list(make(2, **options).translate(source))
    assert texts(together) == texts([next(iter(make(2, **options).translate([line]))) for line in source])
    assert any(translation.hypotheses[0].truncated for translation in together)
    assert len({translation.hypotheses[0].length for translation in together}) > 2


def test_all_that_it_cannot_do_is_told_at_once(vocabulary: Vocabulary, random_model: Models) -> None:
    decoding = schema.Decoding(engine="ctranslate2", precision="bfloat16")
    with pytest.raises(UserError) as refused:
        ENGINES["ctranslate2"]([random_model(1), random_model(2)], Vocabularies(vocabulary, vocabulary), decoding, CPU)
    assert "decoding.engine ctranslate2 cannot do this: " in str(refused.value)
    assert "2 models: it has no ensembles" in str(refused.value)
    assert "decoding.precision bfloat16: this cpu has float32, int8" in str(refused.value)


def test_wishes_are_refused(make: Make) -> None:
    with pytest.raises(UserError, match="knows no prefixes and no required or forbidden phrases"):
        list(make().translate([Line("the cat", Wishes(prefix="a"))]))


def test_at_equal_settings_the_answers_of_a_beam_are_those_of_our_own_search(make: Make, lines: Lines) -> None:
    """Control tokens apart: their share of these random models' probabilities is large, so few hypotheses are compared."""
    options: dict[str, object] = {"beam_size": 4, "length_penalty": "average", "alpha": 1.0, "patience": 1.0}
    source = lines(60)
    ours, theirs = (list(make(2, engine=engine, **options).translate(source)) for engine in ("mtkit", "ctranslate2"))
    same = [one == other for one, other in zip(texts(ours), texts(theirs), strict=True)]
    assert sum(same) > 40


def test_options_that_only_our_search_has_are_refused() -> None:
    assert not unsupported(schema.Decoding())
    assert set(schema.Decoding.model_fields) >= HONOURED
    for name in schema.Decoding.model_fields:
        other = schema.Decoding().model_copy(update={name: object()})
        told = unsupported(other)
        assert len(told) == (name not in HONOURED), name
        assert all(name in reason for reason in told)
