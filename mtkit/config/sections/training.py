"""Options of the optimisation, of looking at it and of keeping its results."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from mtkit.config.sections.section import Section, Share


def _auto_as_zero(value: object) -> object:
    return 0 if value == "auto" else value


class Optimizer(Section):
    """Adam with the paper's constants. Weight decay, when set, is decoupled (AdamW) and spares biases and norms."""

    kind: Literal["adam", "schedule_free"] = Field(
        "adam",
        description="adam; or schedule_free = Schedule-Free AdamW (Defazio et al. 2024; needs the extra schedulefree), "
        "which goes with schedule.kind: constant",
    )
    beta1: Share = Field(0.9, description="decay of the mean of the gradients")
    beta2: Share = Field(0.98, description="decay of the mean of the squared gradients")
    epsilon: float = Field(1e-9, gt=0.0, description="added to the root of the second moment")
    weight_decay: float = Field(0.0, ge=0.0, description="decoupled weight decay per unit of learning rate; 0 = none")
    clip_norm: float = Field(0.0, ge=0.0, description="largest norm of an update's gradient; 0 = no clipping, as the paper")
    average: Share = Field(
        0.0,
        description="decay of an exponential moving average of the weights, which is validated and kept in place of the "
        "weights themselves; 0 = none, 0.999 is usual",
    )

    @model_validator(mode="after")
    def _one_average(self) -> Self:
        if self.kind == "schedule_free" and self.average:
            raise ValueError("kind schedule_free averages the weights itself: set average to 0")
        if self.kind == "schedule_free" and not self.beta1:
            raise ValueError("kind schedule_free needs a beta1 above 0")
        return self


class Schedule(Section):
    """The learning rate as a function of the update number."""

    kind: Literal["paper", "inverse_square_root", "cosine", "linear", "constant"] = Field(
        "paper",
        description="paper = factor * d_model^-0.5 * min(n^-0.5, n * warmup^-1.5); the others rise to peak over warmup, "
        "then fall as n^-0.5, along a cosine or a line to 0 at training.updates, or stay",
    )
    factor: float = Field(1.0, gt=0.0, description="multiplies the paper's schedule")
    peak: float = Field(7e-4, gt=0.0, description="learning rate at the end of the warm-up, for all kinds but paper")
    warmup: int = Field(4000, ge=1, description="updates of linear rise")


class Validation(Section):
    """How often and how the model is looked at during training. It never changes the training."""

    interval: int = Field(1000, ge=1, description="updates between validations")
    patience: int = Field(
        0, ge=0, description="the training ends early after so many validations in a row without a new best; 0 = never"
    )
    bleu: bool = Field(True, description="also translate the validation text and score it, as `translate` + `evaluate` do")
    max_lines: int = Field(0, ge=0, description="translate only the first so many lines; 0 = all")


class Checkpoints(Section):
    """What is kept on disk while training."""

    interval: int = Field(1000, ge=1, description="updates between checkpoints; the last update always has one")
    keep_last: int = Field(5, ge=1, description="newest checkpoints kept")
    keep_best: int = Field(1, ge=0, description="checkpoints with the best validation score kept besides")


class Training(Section):
    """The optimisation. How many devices share the work is torchrun's business and does not change the run."""

    seed: int = Field(1, ge=0, description="decides initial weights, batches and dropout masks")
    updates: int = Field(100_000, ge=1, description="optimiser updates in all")
    epochs: int = Field(0, ge=0, description="the training ends early after so many passes over the text; 0 = never")
    hours: float = Field(
        0.0, ge=0.0, description="the training stops as by a signal after so long a time, --resume goes on; 0 = never"
    )
    update_tokens: int = Field(
        25_000,
        ge=1,
        description="tokens of an update on each side, padding included: source at most, and target at most",
    )
    micro_batch_tokens: Annotated[int, BeforeValidator(_auto_as_zero)] = Field(
        3125,
        ge=0,
        description="tokens of one forward pass on each side, padding included; an update adds up several; auto (or 0) = "
        "the most that fit into the memory of the GPU, found at the start and kept in the run's config",
    )
    label_smoothing: Share = Field(0.1, description="share of probability spread evenly over the vocabulary")
    bpe_dropout: Share = Field(
        0.0,
        description="probability that a merge of pieces is skipped when a training sentence is cut into pieces, anew each "
        "time it is met (BPE-dropout, Provilkov et al. 2020); 0 = always the same pieces, 0.1 is usual",
    )
    rdrop: float = Field(
        0.0,
        ge=0.0,
        description="weight of the divergence between two forward passes with different dropout (R-Drop, Liang et al. "
        "2021); 0 = one pass only, 5 is usual",
    )
    precision: Literal["float32", "tf32", "bfloat16", "float16"] = Field(
        "float32",
        description="arithmetic of forward and backward passes; weights and moments stay float32; tf32 = products in "
        "TensorFloat-32 on a GPU that has it; float16 scales the loss",
    )
    compile: bool = Field(
        False, description="compile the layers (torch.compile, any shapes): minutes at the start, faster updates on a GPU"
    )
    recompute: bool = Field(
        False,
        description="compute each layer again for its gradient instead of keeping what is in it: a third more work, much "
        "less memory, the same numbers",
    )
    threads: int = Field(0, ge=0, le=1024, description="CPU threads of a process; 0 = leave it to torch")
    log_interval: int = Field(100, ge=1, description="updates between progress lines")
    tensorboard: bool = Field(
        False, description="also write the figures for TensorBoard, into RUN/tensorboard (needs the extra tensorboard)"
    )
    optimizer: Optimizer = Field(Optimizer(), description="how gradients become steps")
    schedule: Schedule = Field(Schedule(), description="how large the steps are")
    validation: Validation = Field(Validation(), description="watching the training")
    checkpoints: Checkpoints = Field(Checkpoints(), description="keeping its results")

    @model_validator(mode="after")
    def _update_holds_micro_batch(self) -> Self:
        if self.micro_batch_tokens > self.update_tokens:
            raise ValueError(f"micro_batch_tokens {self.micro_batch_tokens} is more than update_tokens {self.update_tokens}")
        return self
