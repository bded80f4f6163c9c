"""Looking at a model during training: loss on the validation pairs, BLEU of their translation. Changes nothing."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import sacrebleu
import torch

from mtkit.config.schema import Config
from mtkit.data.batching import collate, cut
from mtkit.data.folder import PreparedData
from mtkit.decoding.translator import Translator
from mtkit.evaluation.scores import Score, score
from mtkit.metrics import Sample
from mtkit.model.transformer import Transformer
from mtkit.support.device import arithmetic
from mtkit.support.distributed import Processes
from mtkit.support.lines import read_lines
from mtkit.training.loss import TranslationLoss

ALIKE = 0.9
"""Share of equal translations from which on something is wrong with the training."""


@dataclass(frozen=True)
class Findings:
    """What a validation found."""

    loss: float  # mean negative log-likelihood of a target token, nats
    bleu: Score | None
    samples: tuple[Sample, ...]
    alike: float  # share of the commonest translation


class Validator:
    """Validates one model again and again on the same text, the work shared by all processes."""

    def __init__(self, data: PreparedData, config: Config, device: torch.device, processes: Processes) -> None:
        self._config, self._device, self._processes = config, device, processes
        self._pairs = data.pairs("validation")
        self._vocabularies = data.vocabularies()
        lines = config.training.validation.max_lines or None
        report = data.report
        self._source = read_lines(data.text_path("validation", report.source_language))[:lines]
        self._reference = read_lines(data.text_path("validation", report.target_language))[:lines]
        self._label = f"validation, {len(self._source)} lines"
        self.measure = _measure(config, len(self._source)) if config.training.validation.bleu else ""
        """All that the BLEU of a model depends on besides its weights and the text; empty if there is none."""

    def __call__(self, model: Transformer) -> Findings:
        """The findings for `model`, the same in all processes."""
        with _evaluating(model), torch.no_grad():
            loss = self._loss(model)
            translations = self._translations(model) if self._config.training.validation.bleu else []
        if not translations:
            return Findings(loss, None, (), 0.0)
        evaluation = self._config.evaluation.model_copy(update={"metrics": ("bleu",)})
        (bleu,) = score(
            translations,
            [self._reference],
            evaluation,
            test_set=self._label,
            target_language=self._config.data.target_language,
        )
        places = np.linspace(0, len(translations) - 1, num=min(3, len(translations)), dtype=int)
        samples = tuple(Sample(self._source[i], translations[i], self._reference[i]) for i in places)
        alike = Counter(translations).most_common(1)[0][1] / len(translations)
        return Findings(loss, bleu, samples, alike)

    def _loss(self, model: Transformer) -> float:
        source, target = self._pairs.source_lengths + 1, self._pairs.target_lengths + 1
        order = np.lexsort((source, target)).astype(np.int64)
        longest = int(max(source.max(), target.max()))
        starts = cut(source[order], target[order], max(longest, self._config.training.micro_batch_tokens))
        total, tokens = 0.0, 0
        measured = TranslationLoss(model, 0.0)
        for indices in np.split(order, starts[1:])[self._processes.rank :: self._processes.count]:
            with arithmetic(self._device, self._config.training.precision):
                total += float(measured(collate(*self._pairs.gather(indices)).to(self._device))[1])
            tokens += int(target[indices].sum())
        self._processes.meet()
        total, count = self._processes.sum([total, float(tokens)], self._device)
        return total / count

    def _translations(self, model: Transformer) -> list[str]:
        translator = Translator([model], self._vocabularies, self._config.decoding, self._device)
        own = self._source[self._processes.rank :: self._processes.count]
        translated = [translation.text for translation in translator.translate(own)]
        self._processes.meet()
        shares = self._processes.gather(translated)
        translations = [""] * len(self._source)
        for rank, share in enumerate(shares):
            translations[rank :: self._processes.count] = share
        return translations


def _measure(config: Config, lines: int) -> str:
    decoding = config.decoding.model_dump(exclude={"n_best", "batch_tokens", "buffer"})
    parts = {"sacrebleu": sacrebleu.__version__, "lines": lines, "lowercase": config.evaluation.lowercase} | decoding
    return ", ".join(f"{name} {value}" for name, value in parts.items())


@contextmanager
def _evaluating(model: Transformer) -> Iterator[None]:
    model.eval()
    try:
        yield
    finally:
        model.train()
