"""Training speed: mtkit's own trainer against bare PyTorch loops over the same batches, in turns, in one run.

Two baselines: `same_model` is mtkit's model in the shortest loop there is (so the ratio shows what the trainer costs), and
`plain_torch` is a model of the same sizes from torch.nn parts, with torch's dropout and cross-entropy (so the ratio shows
what one gains over writing it oneself).
"""

import argparse
import json
import math
import os
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from measuring import best, print_result, write_zipf_corpus
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

from mtkit.config.schema import Config
from mtkit.data.batching import Batch, collate
from mtkit.data.folder import PreparedData
from mtkit.data.preparation import prepare
from mtkit.data.vocabulary import PAD
from mtkit.model.positions import sinusoids
from mtkit.model.transformer import Transformer
from mtkit.support.device import arithmetic
from mtkit.support.distributed import Processes, processes
from mtkit.training.feed import Feed
from mtkit.training.trainer import Trainer

SIZES = {
    "tiny": {"d_model": 128, "d_ff": 256, "heads": 4, "encoder_layers": 4, "decoder_layers": 4, "dropout": 0.3},
    "base": {},
}
TOKENS = {"tiny": 4096, "base": 2048}
"""Padded, of an update on each side; several processes share them."""

CPU = torch.device("cpu")


class PlainTorch(nn.Module):
    """The same Transformer from torch.nn parts."""

    positions: Tensor

    def __init__(self, config: Config, pieces: int) -> None:
        super().__init__()
        sizes = config.model
        self.embedding = nn.Embedding(pieces, sizes.d_model)
        nn.init.normal_(self.embedding.weight, std=sizes.d_model**-0.5)
        self.register_buffer("positions", sinusoids(1024, sizes.d_model), persistent=False)
        self.dropout = nn.Dropout(sizes.dropout)
        shape = (sizes.d_model, sizes.heads, sizes.d_ff, sizes.dropout)
        encoder = nn.TransformerEncoderLayer(*shape, batch_first=True)
        decoder = nn.TransformerDecoderLayer(*shape, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder, sizes.encoder_layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, sizes.decoder_layers)

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> logits [B, T, V]."""
        ignored = batch.source == PAD
        future = nn.Transformer.generate_square_subsequent_mask(batch.target_input.shape[1], dtype=torch.bool)
        memory = self.encoder(self._embed(batch.source), src_key_padding_mask=ignored)
        target = self._embed(batch.target_input)
        hidden = self.decoder(target, memory, tgt_mask=future, memory_key_padding_mask=ignored, tgt_is_causal=True)
        return F.linear(hidden, self.embedding.weight)

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        embedded: Tensor = self.dropout(scaled + self.positions[: tokens.shape[1]])
        return embedded


class SameModel(nn.Module):
    """mtkit's model with torch's loss."""

    def __init__(self, config: Config, pieces: int) -> None:
        super().__init__()
        self.model = Transformer(config.model, pieces)

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> logits [B, T, V]."""
        return self.model.logits(self.model(batch.source, batch.source_mask, batch.target_input))


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    size: str
    precision: str
    processes: int
    updates: int
    vocabulary: int
    threads: int  # of all processes together

    @property
    def micro_batch_tokens(self) -> int:
        """Padded, of one process on each side."""
        return TOKENS[self.size] // self.processes

    def config(self, folder: Path) -> Config:
        """Over the text in `folder`."""
        splits = ("train", "validation")
        files = {split: {"source": str(folder / f"{split}.en"), "target": str(folder / f"{split}.de")} for split in splits}
        training = {
            "updates": self.updates + 4,
            "update_tokens": TOKENS[self.size],
            "micro_batch_tokens": self.micro_batch_tokens,
            "precision": self.precision,
            "log_interval": 4,
            "validation": {"interval": 10**6, "bleu": False},
        }
        return Config.model_validate(
            {
                "data": {**files, "test": {"hub_split": ""}},
                "cleaning": {"max_ratio": 1000.0},
                "vocabulary": {"size": self.vocabulary, "soft_limit": True},
                "model": SIZES[self.size],
                "training": training,
            }
        )


def bare_loop(kind: type[SameModel] | type[PlainTorch], setting: Setting, folder: Path, group: Processes) -> float:
    """Target tokens a second of the shortest training loop, one update a batch; the first updates do not count."""
    data = PreparedData.open(folder / "data")
    config, pairs = setting.config(folder), data.pairs("train")
    plan = Feed(pairs, config.training, CPU, Processes()).plan(0)
    shared = [plan.micro_batches(update) for update in range(len(plan.updates))]
    chosen = [parts[group.rank] for parts in shared if len(parts) >= group.count][: setting.updates + 4]
    batches = [collate(*pairs.gather(np.asarray(indices))) for indices in chosen]
    torch.manual_seed(1)
    model: nn.Module = kind(config, data.report.vocabulary_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, fused=True)
    if group.count > 1:
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    tokens, begin = 0, 0.0
    for number, batch in enumerate(batches):
        if number == 4:
            tokens, begin = 0, time.perf_counter()
        with arithmetic(CPU, setting.precision):
            logits = model(batch).flatten(0, 1)
            target = batch.target_output.flatten()
            loss = F.cross_entropy(logits.float(), target, ignore_index=PAD, label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        tokens += int((batch.target_output != PAD).sum())
    seconds = time.perf_counter() - begin
    return group.sum([float(tokens)], CPU)[0] / seconds


def same_model(setting: Setting, folder: Path, group: Processes) -> float:
    """mtkit's model in the shortest loop."""
    return bare_loop(SameModel, setting, folder, group)


def plain_torch(setting: Setting, folder: Path, group: Processes) -> float:
    """torch.nn's parts in the shortest loop."""
    return bare_loop(PlainTorch, setting, folder, group)


def mtkit(setting: Setting, folder: Path, group: Processes) -> float:
    """Target tokens a second of `mtkit train`, as it reports them itself; checkpoints and validation are not counted."""
    place = folder / f"run-{time.time_ns() if group.leads else ''}"
    place = Path(group.gather(str(place))[0])
    trainer = Trainer(setting.config(folder), PreparedData.open(folder / "data"), CPU, group)
    with trainer.open(place, resume=False) as run:
        trainer.run(run)
    records = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    steady = [record for record in records if "target_tokens" in record][1:]  # the first has the start-up in it
    return float(sum(record["target_tokens"] for record in steady) / sum(record["seconds"] for record in steady))


Loop = Callable[[Setting, Path, Processes], float]
LOOPS: dict[str, Loop] = {"mtkit": mtkit, "same_model": same_model, "plain_torch": plain_torch}


def in_processes(loop: Loop, setting: Setting, folder: Path) -> float:
    """What `loop` measures in as many processes as `setting` says, which share its threads."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = folder / "result.json"
    spawn(_share, (loop, setting, folder, port, result), nprocs=setting.processes)  # type: ignore[no-untyped-call]
    return float(json.loads(result.read_text()))


def _share(rank: int, loop: Loop, setting: Setting, folder: Path, port: int, result: Path) -> None:
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RESTART_COUNT": "0"}
    os.environ |= {**address, "WORLD_SIZE": str(setting.processes), "RANK": str(rank), "LOCAL_RANK": str(rank)}
    torch.set_num_threads(max(1, setting.threads // setting.processes))
    with processes("cpu") as group:
        rate = loop(setting, folder, group)
        if group.leads:
            result.write_text(json.dumps(rate))


def main() -> None:
    """Prints one JSON line a size, precision and number of processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["tiny"])
    parser.add_argument("--precisions", nargs="+", choices=["float32", "bfloat16"], default=["float32"])
    parser.add_argument("--processes", nargs="+", type=int, default=[1])
    parser.add_argument("--updates", type=int, default=8, help="measured updates of each in a round; a multiple of 4")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of all processes together")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_zipf_corpus(folder, pairs=10_000, words_a_line=12, alike=True)
        settings = [
            Setting(size, precision, count, options.updates, options.vocabulary, options.threads)
            for size in options.sizes
            for precision in options.precisions
            for count in options.processes
        ]
        prepare(settings[0].config(folder), folder / "data", overwrite=True)
        for setting in settings:
            title = f"train {setting.size} {setting.precision}, {setting.processes} process(es)"
            print_result(title, **measured(folder, setting, options.rounds))


def measured(folder: Path, setting: Setting, rounds: int) -> dict[str, object]:
    """The rates of all three, in turns, and their ratios."""
    rates: dict[str, list[float]] = {name: [] for name in LOOPS}
    for _ in range(rounds):
        for name, loop in LOOPS.items():
            rates[name].append(in_processes(loop, setting, folder))
    fastest = {name: best(found) for name, found in rates.items()}
    return {
        "target_tokens_per_second": {name: round(rate) for name, rate in fastest.items()},
        "ratio_to_same_model": round(fastest["mtkit"] / fastest["same_model"], 3),
        "ratio_to_plain_torch": round(fastest["mtkit"] / fastest["plain_torch"], 3),
        "threads": setting.threads,
        "tokens_per_update": TOKENS[setting.size],
        "load_average": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    main()
