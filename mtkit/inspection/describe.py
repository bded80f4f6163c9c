"""What a config amounts to, before anything is trained: a config in, figures out, as values, text (`description_text`) or
JSON. Reads no data and needs no memory to speak of.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from mtkit.config.schema import Config
from mtkit.inspection.memory import DecodingMemory, TrainingMemory, decoding_memory, training_memory
from mtkit.inspection.paper import Row, paper_row
from mtkit.model.operations import TRAINING, Operations, count_operations, total
from mtkit.model.parameters import Parameters, count_parameters

SENTENCE = 30
"""Tokens of a sentence on each side, control token included, that operations and memory are told for. The training text of
WMT14 English-German has about 25 words a sentence (116 and 110 million in 4.5 million pairs: Luong et al. 2015), and in
37,000 pieces 100 words are about 120."""


@dataclass(frozen=True)
class Description:
    """All that is told of one config."""

    name: str
    config: Config
    source_pieces: int
    target_pieces: int
    sentence: int  # tokens on each side
    rate: float  # target tokens a second
    parameters: Parameters
    operations: Mapping[str, Operations]  # of a forward pass, by part
    training: TrainingMemory
    decoding: DecodingMemory
    paper: Row | None

    @property
    def forward(self) -> Operations:
        """Of all parts together, a token."""
        return total(self.operations)

    @property
    def passes(self) -> int:
        """Through the model for each micro-batch: R-Drop takes two."""
        return 2 if self.config.training.rdrop else 1

    @property
    def micro_batch_tokens(self) -> int:
        """On each side, padding included; where only the device will decide, those of a whole update."""
        return self.config.training.micro_batch_tokens or self.config.training.update_tokens

    @property
    def micro_batches(self) -> int:
        """Of an update."""
        return self.config.training.update_tokens // self.micro_batch_tokens

    @property
    def update_tokens(self) -> int:
        """Of an update on each side, padding included: so many at most."""
        return self.micro_batches * self.micro_batch_tokens

    @property
    def training_tokens(self) -> int:
        """Of all updates on each side: so many at most."""
        return self.config.training.updates * self.update_tokens

    @property
    def training_operations(self) -> int:
        """Of all updates, forward and backward: so many at most."""
        return self.training_tokens * self.passes * TRAINING * (self.forward.source + self.forward.target)

    @property
    def hours(self) -> float:
        """Of all updates at `rate`: so many at most."""
        return self.training_tokens / self.rate / 3600

    def to_json(self) -> dict[str, object]:
        """The same for programs, with parts by the names of `PARTS`; None where the paper has no such model or count."""
        return {
            "config": self.name,
            "pieces": {"source": self.source_pieces, "target": self.target_pieces},
            "parameters": {
                "parts": dict(self.parameters.parts),
                "total": self.parameters.total,
                "active_per_token": self.parameters.active,
            },
            "paper": self.paper
            and {
                "table_3_row": self.paper.name,
                "parameters": self.paper.millions and self.paper.millions * 10**6,
                "bleu_newstest2013": self.paper.bleu,
            },
            "tokens_per_sentence": self.sentence,
            "operations_per_source_token": self._operations("source"),
            "operations_per_target_token": self._operations("target"),
            "update": {
                "micro_batches": self.micro_batches,
                "passes": self.passes,
                "source_tokens": self.update_tokens,
                "target_tokens": self.update_tokens,
            },
            "training": {
                "updates": self.config.training.updates,
                "source_tokens": self.training_tokens,
                "target_tokens": self.training_tokens,
                "operations": self.training_operations,
                "target_tokens_per_second": self.rate,
                "hours": self.hours,
            },
            "memory_bytes": {
                "training": asdict(self.training) | {"total": self.training.total},
                "decoding": asdict(self.decoding) | {"total": self.decoding.total},
            },
        }

    def _operations(self, side: str) -> dict[str, object]:
        forward: int = getattr(self.forward, side)
        parts = {part: getattr(found, side) for part, found in self.operations.items()}
        return {"parts": parts, "forward": forward, "forward_and_backward": TRAINING * forward}


def describe(name: str, config: Config, rate: float) -> Description:
    """The config `name` in figures, trained at `rate` target tokens a second. Its vocabulary is taken at its full size."""
    source_pieces = target_pieces = config.vocabulary.size
    largest = config.training.micro_batch_tokens or config.training.update_tokens
    sentence = min(SENTENCE, config.cleaning.max_tokens + 1, largest)
    parameters = count_parameters(config.model, source_pieces, target_pieces)
    return Description(
        name,
        config,
        source_pieces,
        target_pieces,
        sentence,
        rate,
        parameters,
        count_operations(config.model, target_pieces, sentence, sentence),
        training_memory(config, parameters, target_pieces, sentence),
        decoding_memory(config, parameters, target_pieces, sentence),
        paper_row(config),
    )
