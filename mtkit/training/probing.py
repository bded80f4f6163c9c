"""`training.micro_batch_tokens: auto`: the largest micro-batch that the device holds, found by trying.

An update is the same number of tokens however it is cut, so this changes how fast a run learns from it, not what (the
hardware law). The number found becomes part of the run's config: the run goes on with it wherever it is resumed.
"""

from pathlib import Path

import torch

from mtkit.checkpoint import CONFIG, Run
from mtkit.config.schema import Config
from mtkit.data.batching import Batch
from mtkit.data.folder import PreparedData
from mtkit.model.transformer import Transformer
from mtkit.support.device import arithmetic
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.training.loss import TranslationLoss

ON_CPU = 4096
"""Tokens at most where there is no memory of its own to fill; more are not faster there."""

SHORT = 8
"""Tokens of a sentence beside the longest that is tried: many short ones keep other things than few long ones."""

USABLE = 0.9
"""Share of a GPU's memory that a trial may take: the rest is for what fragments and for the libraries."""


def with_micro_batches(config: Config, data: PreparedData, device: torch.device, processes: Processes, run: Path) -> Config:
    """`config` with `auto` replaced: by what the run in the folder `run` began with if there is one, or by a trial."""
    if config.training.micro_batch_tokens:
        return config
    found = Run(run).config().training.micro_batch_tokens if (run / CONFIG).is_file() else 0
    if not found:
        pairs, vocabularies = data.pairs("train"), data.vocabularies()
        longest = int(max(pairs.source_lengths.max(), pairs.target_lengths.max())) + 1
        if device.type == "cpu":
            update = config.training.update_tokens
            found = update // max(1, min(max(processes.count, -(-update // ON_CPU)), update // longest))
        else:
            model = Transformer(config.model, len(vocabularies.target), len(vocabularies.source)).to(device)
            model.recompute = config.training.recompute
            found = largest_fitting(model, config, longest, device, processes)
    return config.model_copy(update={"training": config.training.model_copy(update={"micro_batch_tokens": found})})


def largest_fitting(model: Transformer, config: Config, longest: int, device: torch.device, processes: Processes) -> int:
    """Tokens of the fewest equal micro-batches of an update that keep all processes busy and fit into each one's memory.

    `longest` is the length of the longest sentence. UserError if not even a micro-batch for that fits.
    """
    update = config.training.update_tokens
    rounds = 1
    while (tokens := update // (rounds * processes.count)) >= longest:
        if not processes.any(not _fits(model, config, tokens, longest, device), device):
            return tokens
        rounds += max(1, rounds // 4)
    if rounds == 1 and not processes.any(not _fits(model, config, longest, longest, device), device):
        return longest
    raise UserError(
        f"training.micro_batch_tokens auto: not even {longest} tokens, the longest sentence, fit into the memory of "
        f"{device}: take a smaller model, training.recompute=true, or prepare with a lower cleaning.max_tokens"
    )


def _fits(model: Transformer, config: Config, tokens: int, longest: int, device: torch.device) -> bool:
    """Whether forward and backward pass of `tokens` tokens on each side go through, the optimizer's moments beside them."""
    training = config.training
    loss = TranslationLoss(model, training.label_smoothing, training.rdrop)
    if device.type == "cuda":
        torch.cuda.set_per_process_memory_fraction(USABLE, device)
    try:
        copies = 3 if training.optimizer.average else 2
        moments = [torch.empty_like(weight) for weight in model.parameters() for _ in range(copies)]
        for length in {longest, min(longest, SHORT)}:
            with arithmetic(device, training.precision):
                value, _ = loss(_made_up(tokens // length, length, device))
            value.backward()
        del moments
    except torch.OutOfMemoryError:
        return False
    finally:
        model.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(1.0, device)
    return True


def _made_up(sentences: int, length: int, device: torch.device) -> Batch:
    """Pairs of `length` tokens on each side; the last one of the source is padding, as there nearly always is some."""
    tokens = torch.full((sentences, length), 4, device=device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[-1, -1] = length == 1
    return Batch(tokens, mask, tokens, tokens)
