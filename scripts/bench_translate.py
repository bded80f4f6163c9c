"""Decoding speed: `translate` in each arithmetic beside CTranslate2 and `transformers`, in turns, in one run, on the CPU.

With --model RUN and --input FILE a trained model and real text, and outputs end where the model ends them; `transformers` is
then left out, as it has no such model. Without, a model of the paper's base size with random weights and made-up text:
outputs never end, so all engines make --length tokens of each line, which is the same work. mtkit and CTranslate2 run in the
same pipeline (text to text, the same batches); `transformers` gets these batches as token ids, in a process and an
environment of its own, made in --folder once. Each rate is the best of --rounds. Threads wait without spinning.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from measuring import best, peer_environment, print_result, run, zipf_words

from mtkit.checkpoint import load_model
from mtkit.config.schema import Decoding, Model
from mtkit.config.schema import Vocabulary as VocabularyConfig
from mtkit.data.folder import PreparedData
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.decoding.translator import Translator
from mtkit.model.transformer import Transformer
from mtkit.support.lines import read_lines

PEER = "transformers==5.23.0"
ENGINES = {
    "mtkit float32": ("mtkit", "float32"),
    "mtkit bfloat16": ("mtkit", "bfloat16"),
    "mtkit int8": ("mtkit", "int8"),
    "ctranslate2 float32": ("ctranslate2", "float32"),
    "ctranslate2 int8": ("ctranslate2", "int8"),
}
TRANSFORMERS = "transformers float32"
BARS = {
    ("mtkit float32", "ctranslate2 float32"): 0.9,
    ("mtkit best", "ctranslate2 int8"): 0.7,
    ("mtkit float32", TRANSFORMERS): None,
    ("mtkit best", TRANSFORMERS): 3.0,
}


def random_model(random: np.random.Generator, data: str | None) -> tuple[Transformer, Vocabularies]:
    """The paper's base model with 37,000 pieces, or with the vocabulary of prepared data."""
    if data:
        vocabularies = PreparedData.open(data).vocabularies()
    else:
        words = zipf_words(60_000, random)
        counts = {word: len(words) // (rank + 1) + 1 for rank, word in enumerate(words)}
        vocabularies = learn_vocabularies([counts], VocabularyConfig(size=37_000, soft_limit=True))
    torch.manual_seed(1)
    return Transformer(Model(), len(vocabularies.target)).eval(), vocabularies


def random_text(random: np.random.Generator, count: int) -> list[str]:
    """Lines as long as those of a news test set: 20 words on average, most of them among the commonest."""
    words = np.array(zipf_words(60_000, np.random.default_rng(1)))
    lengths = random.poisson(20, size=count).clip(3, 60)
    return [" ".join(words[random.zipf(1.3, size=length) % len(words)]) for length in lengths]


def seconds(translator: Translator, lines: list[str]) -> tuple[float, float]:
    """That it takes to translate all of them: by the clock, and of all CPUs."""
    begin = time.perf_counter(), time.process_time()
    count = sum(1 for _ in translator.translate(lines))
    assert count == len(lines)
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def batches(vocabularies: Vocabularies, lines: list[str], decoding: Decoding) -> Iterator[list[list[int]]]:
    """Token ids as the pipeline puts them together, end token included."""
    sources = sorted(vocabularies.source.encode(lines), key=len, reverse=True)
    while sources:
        size = min(decoding.batch_tokens // (len(sources[0]) + 1), 2048 // decoding.beam_size)
        yield [[*source, 2] for source in sources[: max(1, size)]]
        sources = sources[max(1, size) :]


def transformers_seconds(python: Path, given: Mapping[str, object], threads: int) -> float:
    """The same by `transformers`' generate, in its own process."""
    script = Path(__file__).with_name("peer_transformers.py")
    answer = run("transformers generate", [python, "-W", "ignore", script, json.dumps(given)], threads)
    return float(json.loads(answer.splitlines()[-1])["seconds"])


def measured(options: argparse.Namespace, beam: int) -> dict[str, object]:
    """Sentences a second of each engine, and the ratios that bars are set for."""
    device = torch.device("cpu")
    random = np.random.default_rng(2)
    if options.model:
        loaded = load_model(options.model, device)
        model, vocabularies, lines = loaded.model, loaded.vocabularies, read_lines(options.input)[: options.lines]
        longest = max(map(len, vocabularies.source.encode(lines)))
        limits = {"max_length_factor": 0.0, "max_length_constant": longest + 10}  # one for all: CTranslate2 knows no other
    else:
        model, vocabularies = random_model(np.random.default_rng(1), options.data)
        lines = read_lines(options.input)[: options.lines] if options.input else random_text(random, options.lines)
        limits = {"max_length_factor": 0.0, "max_length_constant": options.length}
    # Patience 1 is the rule of CTranslate2 for when to stop: our own, exact one takes more steps.
    usual = {"beam_size": beam, "length_penalty": "average", "alpha": 0.6, "patience": 1.0, **limits}
    usual["batch_tokens"] = options.batch_tokens
    translators = {}
    for name in options.engines:
        if name not in ENGINES:
            continue
        engine, precision = ENGINES[name]
        for shortlist in (0, options.shortlist) if options.shortlist and engine == "mtkit" else (0,):
            given = {**usual, "engine": engine, "precision": precision, "shortlist": shortlist}
            called = f"{name} shortlist" if shortlist else name
            translators[called] = Translator([model], vocabularies, Decoding.model_validate(given), device)
    peer = TRANSFORMERS in options.engines and not options.model
    python = peer_environment(options.folder.resolve(), PEER) if peer else Path()
    work = {
        "batches": list(batches(vocabularies, lines, Decoding.model_validate(usual))),
        "pieces": len(vocabularies.target),
        "beam": beam,
        "length": options.length,
    }
    for translator in translators.values():
        seconds(translator, lines[:8])
    rates: dict[str, list[float]] = {name: [] for name in [*translators, TRANSFORMERS]}
    busy: dict[str, list[float]] = {name: [] for name in translators}
    for _ in range(options.rounds):
        for name, translator in translators.items():
            wall, cpu = seconds(translator, lines)
            rates[name].append(len(lines) / wall)
            busy[name].append(cpu)
        if peer:
            rates[TRANSFORMERS].append(len(lines) / transformers_seconds(python, work, options.threads))
    fastest = {name: best(found) for name, found in rates.items() if found}
    own = [rate for name, rate in fastest.items() if name.startswith("mtkit")]
    known = fastest | ({"mtkit best": max(own)} if own else {})
    ratios: dict[str, dict[str, float | None]] = {
        f"{one} / {other}": {"ratio": round(known[one] / known[other], 2), "bar": bar}
        for (one, other), bar in BARS.items()
        if one in known and other in known
    }
    for name in translators:
        if (other := f"{name} shortlist") in translators:
            ratios[f"{other} / {name}"] = {
                "ratio": round(fastest[other] / fastest[name], 2),
                "cpu": round(min(busy[name]) / min(busy[other]), 2),
            }
    return {
        "sentences_per_second": {name: round(rate, 2) for name, rate in fastest.items()},
        "cpu_seconds": {name: round(min(found), 2) for name, found in busy.items()},
        "ratios": ratios,
        "lines": len(lines),
        "source_tokens": sum(map(len, vocabularies.source.encode(lines))),
        "model": options.model or "random base",
        "load_average": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Prints one JSON line a beam size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="RUN", help="trained run; default: random weights of base size")
    parser.add_argument("--data", metavar="FOLDER", help="prepared data whose vocabulary is taken, without --model")
    parser.add_argument("--input", metavar="FILE", help="text to translate, with --model or --data")
    parser.add_argument("--shortlist", metavar="N", type=int, default=0, help="also run with decoding.shortlist=N")
    parser.add_argument("--lines", type=int, default=64)
    parser.add_argument("--length", type=int, default=24, help="tokens of each output, without --model")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--beams", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--batch-tokens", type=int, default=Decoding().batch_tokens)
    parser.add_argument("--engines", nargs="+", choices=[*ENGINES, TRANSFORMERS], default=[*ENGINES, TRANSFORMERS])
    parser.add_argument("--folder", type=Path, default=Path("build/peer"), help="where the peer's environment is made, once")
    options = parser.parse_args()
    if bool(options.model or options.data) != bool(options.input):
        parser.error("give --model or --data together with --input, or none of them")
    torch.set_num_threads(options.threads)
    for beam in options.beams:
        print_result(f"translate beam {beam}", **measured(options, beam), threads=options.threads, torch=torch.__version__)


if __name__ == "__main__":
    main()
