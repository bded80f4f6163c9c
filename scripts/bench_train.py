"""Training speed: mtkit's own trainer against bare PyTorch loops over the same batches, in turns, in one run.

Two baselines: `same_model` is mtkit's model in the shortest loop there is (so the ratio shows what the trainer costs), and
`plain_torch` is a model of the same sizes from torch.nn parts, with torch's dropout and cross-entropy (so the ratio shows
what one gains over writing it oneself).
"""

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from measuring import best, print_result, write_zipf_corpus
from torch import Tensor, nn

from mtkit.config.schema import Config
from mtkit.data.batching import Batch, collate
from mtkit.data.folder import PreparedData
from mtkit.data.preparation import prepare
from mtkit.data.vocabulary import PAD
from mtkit.model.positions import sinusoids
from mtkit.model.transformer import Transformer
from mtkit.support.distributed import Processes
from mtkit.training.feed import Feed
from mtkit.training.trainer import Trainer

SIZES = {
    "tiny": {"d_model": 128, "d_ff": 256, "heads": 4, "encoder_layers": 4, "decoder_layers": 4, "dropout": 0.3},
    "base": {},
}


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


def bare_loop(model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[Batch]) -> float:
    """Target tokens a second of the shortest training loop, one update a batch."""
    tokens, begin = 0, time.perf_counter()
    for batch in batches:
        logits = model(batch).flatten(0, 1)
        loss = F.cross_entropy(logits, batch.target_output.flatten(), ignore_index=PAD, label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        tokens += int((batch.target_output != PAD).sum())
    return tokens / (time.perf_counter() - begin)


def trainer_round(config: Config, data: PreparedData, folder: Path) -> float:
    """Target tokens a second of `mtkit train`, as it reports them itself; checkpoints and validation are not counted."""
    trainer = Trainer(config, data, torch.device("cpu"), Processes())
    with trainer.open(folder, resume=False) as run:
        trainer.run(run)
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steady = [record for record in records if "target_tokens" in record][1:]  # the first has the start-up in it
    return float(sum(record["target_tokens"] for record in steady) / sum(record["seconds"] for record in steady))


def main() -> None:
    """Prints one JSON line a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["tiny"])
    parser.add_argument("--updates", type=int, default=4, help="updates of each in a round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=2048, help="padded tokens of an update on each side")
    parser.add_argument("--vocabulary", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_zipf_corpus(folder, pairs=5_000, words_a_line=12)
        for size in options.sizes:
            print_result(f"train {size}", **measured(folder, size, options))


def measured(folder: Path, size: str, options: argparse.Namespace) -> dict[str, object]:
    """The rates of all three, in turns, and their ratios."""
    files = {
        split: {"source": str(folder / f"{split}.en"), "target": str(folder / f"{split}.de")}
        for split in ("train", "validation")
    }
    training = {
        "updates": options.updates + 4,
        "update_tokens": options.tokens,
        "micro_batch_tokens": options.tokens,
        "log_interval": 4,
        "validation": {"interval": 10**6, "bleu": False},
    }
    config = Config.model_validate(
        {
            "data": {**files, "test": {"hub_split": ""}},
            "cleaning": {"max_ratio": 1000.0},
            "vocabulary": {"size": options.vocabulary, "soft_limit": True},
            "model": SIZES[size],
            "training": training,
        }
    )
    prepare(config, folder / "data", overwrite=True)
    data = PreparedData.open(folder / "data")
    pairs, pieces = data.pairs("train"), data.report.vocabulary_size
    plan = Feed(pairs, config.training, torch.device("cpu"), Processes()).plan(0)
    chosen = [indices for update in range(options.updates) for indices in plan.micro_batches(update)]
    batches = [collate(*pairs.gather(np.asarray(indices))) for indices in chosen]
    models = {"same_model": SameModel(config, pieces), "plain_torch": PlainTorch(config, pieces)}
    optimizers = {name: torch.optim.Adam(model.parameters(), lr=1e-5, fused=True) for name, model in models.items()}
    rates: dict[str, list[float]] = {"mtkit": [], "same_model": [], "plain_torch": []}
    for number in range(options.rounds):
        rates["mtkit"].append(trainer_round(config, data, folder / f"run-{size}-{number}"))
        for name, model in models.items():
            rates[name].append(bare_loop(model, optimizers[name], batches))
    fastest = {name: best(found) for name, found in rates.items()}
    return {
        "target_tokens_per_second": {name: round(rate) for name, rate in fastest.items()},
        "ratio_to_same_model": round(fastest["mtkit"] / fastest["same_model"], 3),
        "ratio_to_plain_torch": round(fastest["mtkit"] / fastest["plain_torch"], 3),
        "threads": torch.get_num_threads(),
        "tokens_per_update": options.tokens,
    }


if __name__ == "__main__":
    main()
