"""Every option of mtkit: its name, default, range, meaning and unit.

Comes in: plain values that `loader` read from YAML. Goes out: frozen sections that the commands read. Knows nothing of
files or of what the options do. Defaults are those of the paper's base model (Vaswani et al. 2017), so a config file
states only differences. The sections are in `sections`, a file each; adding a variant of a part is one word in a `Literal`
there.
"""

from typing import Self

from pydantic import Field, model_validator

from mtkit.config.sections.data import Cleaning, Corpus, Data, Split, Vocabulary, is_piece
from mtkit.config.sections.decoding import Decoding
from mtkit.config.sections.evaluation import Evaluation
from mtkit.config.sections.model import Model
from mtkit.config.sections.section import LARGEST, Section
from mtkit.config.sections.training import Checkpoints, Optimizer, Schedule, Training, Validation

__all__ = [
    "LARGEST",
    "Checkpoints",
    "Cleaning",
    "Config",
    "Corpus",
    "Data",
    "Decoding",
    "Evaluation",
    "Model",
    "Optimizer",
    "Schedule",
    "Section",
    "Split",
    "Training",
    "Validation",
    "Vocabulary",
    "is_piece",
]


class Config(Section):
    """A whole config file. Every command checks all sections and reads its own."""

    data: Data = Field(Data(), description="the parallel text")
    cleaning: Cleaning = Field(Cleaning(), description="what is removed from it")
    vocabulary: Vocabulary = Field(Vocabulary(), description="the subword vocabulary")
    model: Model = Field(Model(), description="the Transformer")
    training: Training = Field(Training(), description="the optimisation")
    decoding: Decoding = Field(Decoding(), description="the search")
    evaluation: Evaluation = Field(Evaluation(), description="the scores")

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        faults = []
        if self.model.positions == "learned" and self.model.learned_positions <= self.cleaning.max_tokens:
            faults.append(
                f"model.learned_positions {self.model.learned_positions} is too few for sentences of cleaning.max_tokens "
                f"{self.cleaning.max_tokens} and their control token"
            )
        if self.training.bpe_dropout and self.vocabulary.kind != "bpe":
            faults.append("training.bpe_dropout skips merges of byte-pair encoding: vocabulary.kind unigram has none")
        if self.model.tied_embeddings == "all" and not self.vocabulary.shared:
            faults.append(
                "model.tied_embeddings all is one matrix for both languages, vocabulary.shared false numbers them apart: "
                "set model.tied_embeddings=decoder (or none), or vocabulary.shared=true"
            )
        if faults:
            raise ValueError("; ".join(faults))
        return self
