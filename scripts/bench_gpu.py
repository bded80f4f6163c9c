"""All that only a GPU can tell, in under eight minutes: training speed of base and big, with the share of the GPU's
arithmetic that it uses, and decoding speed, both with and without torch.compile; and whether GPU and CPU compute the same.

    python scripts/bench_gpu.py              on the first GPU
    python scripts/bench_gpu.py --dry-run    the same steps with toy sizes on the CPU: figures mean nothing

The text is made up (25 words a sentence, Zipf's law), the weights are random, so translations reach their length limit and
decoding speeds are for comparing with each other. One JSON line a measurement, a table at the end.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import print_result, write_zipf_corpus

from mtkit.config.schema import Config
from mtkit.data.batching import collate
from mtkit.data.folder import PreparedData
from mtkit.data.preparation import prepare
from mtkit.decoding.translator import Translator
from mtkit.model.transformer import Transformer
from mtkit.support.device import arithmetic, resolve
from mtkit.support.distributed import Processes
from mtkit.support.lines import read_lines
from mtkit.training.probing import with_micro_batches
from mtkit.training.trainer import Trainer
from mtkit.training.utilisation import operations_per_target_token, peak_of

SIZES: dict[str, dict[str, object]] = {
    "base": {},
    "big": {"d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3},
}
TOY: dict[str, dict[str, object]] = {
    "base": {"d_model": 32, "d_ff": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2},
    "big": {"d_model": 64, "d_ff": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2},
}
WINDOW = 8
"""Updates of a progress line; the first two lines have the start-up, and the compiler, in them."""


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    sizes: dict[str, dict[str, object]]
    pairs: int
    pieces: int
    update_tokens: int
    windows: int
    lines: int
    compile: tuple[bool, ...]


FULL = Scale(SIZES, pairs=60_000, pieces=37_000, update_tokens=25_000, windows=6, lines=512, compile=(False, True))
DRY = Scale(TOY, pairs=600, pieces=600, update_tokens=800, windows=3, lines=6, compile=(False,))


class Bench:
    """The measurements, on one device and one corpus."""

    def __init__(self, folder: Path, scale: Scale, device: torch.device) -> None:
        self._folder, self._scale, self._device = folder, scale, device
        write_zipf_corpus(folder, scale.pairs, alike=True)
        prepare(self.config("base"), folder / "data", overwrite=True)
        self._data = PreparedData.open(folder / "data")
        self._pieces = self._data.report.vocabulary_size

    def config(self, size: str, **training: object) -> Config:
        """The config of a run that is never validated."""
        splits = ("train", "validation")
        text = {s: {"source": str(self._folder / f"{s}.en"), "target": str(self._folder / f"{s}.de")} for s in splits}
        updates = WINDOW * self._scale.windows
        quiet = {
            "log_interval": WINDOW,
            "validation": {"interval": 10**6, "bleu": False},
            "checkpoints": {"interval": 10**6},
        }
        return Config.model_validate(
            {
                "data": {**text, "test": {"hub_split": ""}},
                "cleaning": {"max_ratio": 1000.0},
                "vocabulary": {"size": self._scale.pieces, "soft_limit": True},
                "model": self._scale.sizes[size],
                "training": {
                    "updates": updates,
                    "update_tokens": self._scale.update_tokens,
                    "micro_batch_tokens": "auto",
                    **quiet,
                    **training,
                },
            }
        )

    def training(self, size: str, precision: str, compiled: bool) -> dict[str, Any]:
        """Of `mtkit train`'s own loop: target tokens a second, MFU, memory, the seconds before the speed is steady."""
        begin = time.perf_counter()
        place = self._folder / f"{size}-{precision}-{compiled}"
        config = self.config(size, precision=precision, compile=compiled)
        config = with_micro_batches(config, self._data, self._device, Processes(), place)
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        trainer = Trainer(config, self._data, self._device, Processes())
        with trainer.open(place, resume=False) as run:
            trainer.run(run)
        records = [json.loads(line) for line in (place / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        steady = [record for record in records if "target_tokens" in record][2:]
        seconds = sum(record["seconds"] for record in steady)
        speed = sum(record["target_tokens"] for record in steady) / seconds
        peak = peak_of(self._device, precision, 1)
        work = operations_per_target_token(config, self._data.pairs("train"), self._pieces)
        return {
            "target_tokens_per_second": round(speed),
            "model_flop_utilisation": peak and round(speed * work / peak, 3),
            "tera_operations_per_second": round(speed * work / 1e12, 3),
            "micro_batch_tokens": config.training.micro_batch_tokens,
            "gpu_memory_gb": round(self._memory() / 1e9, 2),
            "seconds_before_steady": round(time.perf_counter() - begin - seconds, 1),
        }

    def decoding(self, size: str, precision: str, beam: int, compiled: bool) -> dict[str, Any]:
        """Sentences and target tokens a second of `mtkit translate`'s own loop."""
        lines = read_lines(self._folder / "train.en")[: self._scale.lines]
        config = self.config(size).decoding
        limits = {"max_length_factor": 1.0, "max_length_constant": 5}
        options = {"precision": precision, "beam_size": beam, "compile": compiled, **limits}
        translator = Translator(
            [self._model(size)], self._data.vocabularies(), config.model_copy(update=options), self._device
        )
        begin = time.perf_counter()
        list(translator.translate(lines[:32]))  # what starts only once
        started = time.perf_counter()
        found = [translation.hypotheses[0].length for translation in translator.translate(lines)]
        seconds = time.perf_counter() - started
        return {
            "seconds_before_steady": round(started - begin, 1),
            "sentences_per_second": round(len(found) / seconds, 1),
            "target_tokens_per_second": round(sum(found) / seconds),
        }

    def agreement(self, size: str) -> dict[str, Any]:
        """Logits of the same weights for the same batch on the CPU in float32, and here."""
        pairs = self._data.pairs("validation")
        batch = collate(*pairs.gather(np.arange(16)))
        model = self._model(size)
        here = batch.to(self._device)
        with torch.no_grad():
            ours = {}
            for precision in ("float32", "tf32", "bfloat16"):
                with arithmetic(self._device, precision):
                    hidden = model(here.source, here.source_mask, here.target_input)
                    ours[precision] = model.logits(hidden).double().cpu()
            model.cpu()
            reference = model.logits(model(batch.source, batch.source_mask, batch.target_input)).double()
        largest = reference.abs().max()
        return {
            f"largest_difference_{precision}": float(f"{float((logits - reference).abs().max() / largest):.2g}")
            for precision, logits in ours.items()
        }

    def _model(self, size: str) -> Transformer:
        torch.manual_seed(1)
        return Transformer(self.config(size).model, self._pieces).eval().to(self._device)

    def _memory(self) -> int:
        return torch.cuda.max_memory_allocated(self._device) if self._device.type == "cuda" else 0


def measurements(bench: Bench, scale: Scale) -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them by name, the most wanted first."""
    yield "agreement with the CPU, base", bench.agreement("base")
    for compiled in scale.compile:
        for size in scale.sizes:
            yield f"train {size} bfloat16{' compiled' if compiled else ''}", bench.training(size, "bfloat16", compiled)
    for precision in ("float32", "bfloat16"):
        for beam in (4, 1):
            yield f"translate base {precision} beam {beam}", bench.decoding("base", precision, beam, compiled=False)
    if True in scale.compile:
        for beam in (4, 1):
            yield f"translate base bfloat16 beam {beam} compiled", bench.decoding("base", "bfloat16", beam, compiled=True)
    yield "train base float32", bench.training("base", "float32", compiled=False)
    yield "train base tf32", bench.training("base", "tf32", compiled=False)


def table(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """For people: a line a measurement."""
    width = max(len(name) for name, _ in rows)
    said = [
        (name, "  ".join(f"{key.replace('_', ' ')} {value}" for key, value in figures.items())) for name, figures in rows
    ]
    return "\n".join(f"{name:<{width}}  {figures}" for name, figures in said)


def main() -> None:
    """Measures until it is done or its time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="toy sizes on the CPU")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=420.0, help="no measurement is begun later than this")
    options = parser.parse_args()
    begin = time.perf_counter()
    device = torch.device("cpu") if options.dry_run else resolve(options.device)
    scale = DRY if options.dry_run else FULL
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, figures in measurements(Bench(Path(folder), scale, device), scale):
            rows.append((what, figures))
            print_result(what, device=name, torch=torch.__version__, dry_run=options.dry_run, **figures)
            if time.perf_counter() - begin > options.seconds:
                print(f"the rest is left out: {options.seconds:g} seconds are over")
                break
    print(f"\n{name}, torch {torch.__version__}{', toy sizes: a dry run' if options.dry_run else ''}\n{table(rows)}")


if __name__ == "__main__":
    main()
