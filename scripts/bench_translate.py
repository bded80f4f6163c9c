"""Decoding speed: sentences a second of `translate` against a search that decodes the whole prefix anew at each step.

With --model RUN a trained model and, from --input, real text; without, a random model, whose outputs all reach the length
limit (so only the ratio means something).
"""

import argparse
import time
from pathlib import Path

import torch
from measuring import best, print_result, zipf_words
from torch import Tensor

from mtkit.checkpoint import load_model
from mtkit.config.schema import Decoding, Model
from mtkit.config.schema import Vocabulary as VocabularyConfig
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.decoding.stepping import DecodingState, Stepper
from mtkit.decoding.translator import Translator
from mtkit.model.transformer import Transformer
from mtkit.support.lines import read_lines


class Uncached(Stepper):
    """Keeps the tokens instead of keys and values, and runs the decoder over all of them at each step."""

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """As Stepper.step."""
        cache = state.caches[0].layers[0]
        before = cache.keys
        prefix = tokens if before is None else torch.cat([before, tokens], dim=1)
        cache.keys = cache.values = prefix
        model = self.models[0]
        hidden = model.decode(prefix, state.memories[0], state.mask)[:, -1]
        return torch.log_softmax(model.logits(hidden.float()), dim=-1)


def rate(translator: Translator, lines: list[str]) -> float:
    """Sentences a second."""
    begin = time.perf_counter()
    count = sum(1 for _ in translator.translate(lines))
    return count / (time.perf_counter() - begin)


def main() -> None:
    """Prints one JSON line a beam size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="RUN", help="trained run; default: a random tiny model")
    parser.add_argument("--input", metavar="FILE", help="text to translate; default: made-up sentences of 12 words")
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    model, vocabularies = chosen(options.model)
    import numpy as np

    random = np.random.default_rng(2)
    text = read_lines(options.input) if options.input else [" ".join(zipf_words(12, random)) for _ in range(options.lines)]
    lines = text[: options.lines]
    device = torch.device("cpu")
    for beam in (1, 4):
        decoding = Decoding(beam_size=beam, max_length_factor=1.0, max_length_constant=10)
        ours, uncached = (Translator([model], vocabularies, decoding, device) for _ in range(2))
        uncached.engine.stepper = Uncached([model], device)
        rates = [(rate(ours, lines), rate(uncached, lines)) for _ in range(options.rounds)]
        cached, plain = (best(found) for found in zip(*rates, strict=True))
        print_result(
            f"translate beam {beam}",
            sentences_per_second={"mtkit": round(cached, 2), "uncached": round(plain, 2)},
            ratio=round(cached / plain, 2),
            lines=len(lines),
            model=options.model or "random tiny",
            threads=torch.get_num_threads(),
        )


def chosen(run: str | None) -> tuple[Transformer, Vocabularies]:
    """The trained model asked for, or a random one of Multi30k's size."""
    if run:
        loaded = load_model(Path(run), torch.device("cpu"))
        return loaded.model, loaded.vocabularies
    import numpy as np

    words = zipf_words(5000, np.random.default_rng(1))
    counts = {word: 5000 // (rank + 1) + 1 for rank, word in enumerate(words)}
    vocabularies = learn_vocabularies([counts], VocabularyConfig(size=6000, soft_limit=True))
    torch.manual_seed(1)
    sizes = Model(d_model=128, d_ff=256, heads=4, encoder_layers=4, decoder_layers=4)
    return Transformer(sizes, len(vocabularies.target)).eval(), vocabularies


if __name__ == "__main__":
    main()
