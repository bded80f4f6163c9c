"""Small stand-ins for what training makes: a vocabulary, Transformers with random weights, lines to translate."""

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from mtkit.config import schema
from mtkit.data.vocabulary import EOS, Vocabulary, learn_vocabulary
from mtkit.model.transformer import Transformer

TEXT = "the a cat dog house tree sees finds and or red old new Haus Katze ein das <b> &amp; it's 1234 café (old!) sentence."
WORDS = TEXT.split()

ModelFactory = Callable[..., Transformer]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Models this small are slower with more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """About 300 pieces, the 256 bytes included."""
    counts = {word: 50 - place for place, word in enumerate(WORDS)}
    return learn_vocabulary(counts, schema.Vocabulary(size=400, soft_limit=True))


@pytest.fixture(scope="session")
def random_model(vocabulary: Vocabulary) -> ModelFactory:
    """random_model(seed): an untrained Transformer that has strong opinions, so that no choice hangs on rounding.

    Its hypotheses end after some tokens, more or less as a trained model's do: `ending` raises the end token's share.
    """

    def build(seed: int, *, ending: float = 8.0, dropout: float = 0.1, pieces: int | None = None) -> Transformer:
        config = schema.Model(d_model=32, d_ff=64, heads=4, encoder_layers=1, decoder_layers=2, dropout=dropout)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = Transformer(config, pieces or len(vocabulary))
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    if "cross_attention." in name and name.endswith("weight"):
                        parameter.mul_(4.0)  # or the source would not matter
                last = model.get_submodule("decoder.1.feed_forward_residual.norm")
                last.get_parameter("weight").normal_(std=3.0)  # or the newest token would be repeated
                end = model.embedding.weight[EOS]
                last.get_parameter("bias").copy_(ending * end / end.square().sum())
        return model.eval()

    return build


@pytest.fixture(scope="session")
def lines() -> Callable[..., list[str]]:
    """lines(count, longest): random lines of 1 to `longest` words."""

    def draw(count: int, longest: int = 15) -> list[str]:
        random = np.random.default_rng(zlib.crc32(f"{count} {longest}".encode()))
        return [" ".join(random.choice(WORDS, size=random.integers(1, longest + 1))) for _ in range(count)]

    return draw
