"""What lexical constraints cost: sentences a second with required words and a forbidden one, against none, in one run.

The required words are drawn from the reference of each line, as in the literature (Post and Vilar 2018). Tells too how many
of them were there without being asked for, and how many with; this must be all.
"""

import argparse
import re
import time
from pathlib import Path

import numpy as np
import torch
from measuring import print_result

from mtkit.checkpoint import load_model
from mtkit.config.schema import Decoding
from mtkit.data.normalisation import nfc
from mtkit.decoding.parts import Line
from mtkit.decoding.phrases import Demand, Wishes, pattern
from mtkit.decoding.translator import Translator
from mtkit.support.lines import read_lines


def drawn(reference: str, count: int, random: np.random.Generator) -> Wishes:
    """Up to `count` different words of the reference, required; a word that no sentence needs, forbidden."""
    words = sorted(set(re.findall(r"\w{3,}", reference)))
    chosen = random.permutation(words)[:count].tolist()
    return Wishes(required=tuple(Demand((word,)) for word in chosen), forbidden=("sozusagen",))


def met(texts: list[str], wishes: list[Wishes]) -> float:
    """Share of the required phrases that are in the texts."""
    asked = [(text, demand) for text, each in zip(texts, wishes, strict=True) for demand in each.required]
    return sum(bool(pattern(demand.alternatives, nfc).search(text)) for text, demand in asked) / max(1, len(asked))


def measured(translator: Translator, lines: list[Line]) -> tuple[float, list[str]]:
    """Seconds of processor time, which neighbours do not stretch, and the translations."""
    begin = time.process_time()
    texts = [translation.text for translation in translator.translate(lines)]
    return time.process_time() - begin, texts


def main() -> None:
    """Prints one JSON line a number of phrases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="RUN", required=True)
    parser.add_argument("--source", metavar="FILE", required=True)
    parser.add_argument("--reference", metavar="FILE", required=True)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    loaded = load_model(Path(options.model), torch.device("cpu"))
    decoding = Decoding(beam_size=options.beam_size)
    translator = Translator([loaded.model], loaded.vocabularies, decoding, torch.device("cpu"))
    source = read_lines(options.source)[: options.lines]
    reference = read_lines(options.reference)[: options.lines]
    for count in (1, 2, 4):
        random = np.random.default_rng(count)
        wishes = [drawn(line, count, random) for line in reference]
        free, bound = [Line(line) for line in source], list(map(Line, source, wishes))
        rounds = [(measured(translator, free), measured(translator, bound)) for _ in range(options.rounds)]
        (plain, texts), (constrained, bound_texts) = (
            min(each, key=lambda one: one[0]) for each in zip(*rounds, strict=True)
        )
        print_result(
            f"constraints, {count} words a line",
            sentences_per_second={"free": round(len(source) / plain, 2), "bound": round(len(source) / constrained, 2)},
            ratio=round(constrained / plain, 2),
            met={"free": round(met(texts, wishes), 4), "bound": round(met(bound_texts, wishes), 4)},
            beam_size=options.beam_size,
            lines=len(source),
            threads=torch.get_num_threads(),
        )


if __name__ == "__main__":
    main()
