"""Every option of mtkit: its name, default, range, meaning and unit.

Comes in: plain values that `loader` read from YAML. Goes out: frozen sections that the commands read. Knows nothing of
files or of what the options do. Defaults are those of the paper's base model (Vaswani et al. 2017), so a config file
states only differences. Adding a variant of a part is one word in a `Literal` here.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

LARGEST = 10**12
"""What no number of any option exceeds: beyond, arithmetic with it overflows somewhere."""


def is_piece(name: str) -> bool:
    """Whether a symbol or tag may be called so: no white space, nothing that the vocabulary itself uses."""
    own = r"<pad>|<s>|</s>|<unk>|<0x[0-9A-F]{2}>"
    return bool(name) and not re.search(r"[\s\u2581]", name) and not re.fullmatch(own, name)


class Section(BaseModel):
    """One section of a config file: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*")
    @classmethod
    def _within_reach(cls, value: object) -> object:
        if isinstance(value, int | float) and abs(value) > LARGEST:
            raise ValueError(f"must be at most {LARGEST}, found {value}")
        if any(isinstance(text, str) and "\0" in text for text in (value if isinstance(value, tuple) else (value,))):
            raise ValueError("must not hold the character NUL: no file, language or test set has it in its name")
        return value


def _as_tuple(value: object) -> object:
    """One value or a list of them: `a.en` means `[a.en]`."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _language_code(value: str) -> str:
    """A code becomes part of file names, so it must be one."""
    if not re.fullmatch(r"[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8})*", value):
        raise ValueError(f"must be a language code such as de or pt_BR, found {value!r}")
    return value


def _auto_as_zero(value: object) -> object:
    return 0 if value == "auto" else value


Language = Annotated[str, AfterValidator(_language_code)]
Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Few = Annotated[int, Field(ge=1, le=10_000)]


def _sections(value: object) -> object:
    """A list of sections as YAML has it."""
    return tuple(value) if isinstance(value, list) else value


class Corpus(Section):
    """Sentence pairs of one origin: files of both languages, or files that hold pairs. Names may hold * and ?."""

    source: Names = Field(
        (), description="source text, one sentence a line; a file or a list of files; plain, .gz, .zst, .xz or .bz2"
    )
    target: Names = Field((), description="target text, line n translates line n of the source; as many files as source")
    tsv: Names = Field((), description="instead: files of source TAB target lines; quotation marks are text")
    jsonl: Names = Field((), description="instead: files with a JSON object a line, see columns")
    parquet: Names = Field((), description="instead: Parquet files, see columns")
    columns: Names = Field(
        (),
        description="names of the source's and the target's column in jsonl, parquet and hub data; none = the language "
        "codes, in the row itself or under `translation`",
    )
    weight: float = Field(
        1.0,
        gt=0.0,
        le=1000.0,
        description="how often an epoch of training has each pair: 2 = twice, 0.5 = half of them, others in each epoch",
    )
    tag: str = Field("", description="control piece put before each source, such as <bt> for back-translations; '' = none")

    @property
    def origins(self) -> dict[str, Names]:
        """What names files here, by option."""
        named = {"source": self.source, "tsv": self.tsv, "jsonl": self.jsonl, "parquet": self.parquet}
        return {option: files for option, files in named.items() if files}

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if len(self.source) != len(self.target):
            raise ValueError(
                f"source names {len(self.source)} file(s) and target names {len(self.target)}: give as many of each"
            )
        if len(self.origins) > 1:
            raise ValueError(f"give only one of source and target, tsv, jsonl, parquet (found {', '.join(self.origins)})")
        if len(self.columns) not in (0, 2):
            raise ValueError(f"columns must name two columns, source and target, found {len(self.columns)}")
        if self.tag and not is_piece(self.tag):
            raise ValueError(f"tag {self.tag!r} must be text without white space and not a control piece")
        return self


class Split(Corpus):
    """Where the sentence pairs of one split come from: files, a test set of sacreBLEU's, or the hub data set."""

    more: Annotated[tuple[Corpus, ...], BeforeValidator(_sections)] = Field(
        (), description="further corpora of this split, each with options as above"
    )
    test_set: str = Field("", description="name of a test set, such as newstest2013, used when no file is given here")
    hub_split: str = Field("", description="name of the split of data.hub, used when no file is given here; '' = none")

    @model_validator(mode="after")
    def _further_corpora_have_files(self) -> Self:
        for number, corpus in enumerate(self.more, 1):
            if not corpus.origins:
                raise ValueError(f"more: corpus {number} names no files: give source and target, tsv, jsonl or parquet")
        return self


class Data(Section):
    """The parallel text: languages, where each split comes from, where the prepared form is kept."""

    source_language: Language = Field("en", description="language translated from (ISO code, names the files)")
    target_language: Language = Field("de", description="language translated into (ISO code, names the files)")
    folder: str = Field("", description="prepared data folder; '' = data/ and the config file's name")
    hub: str = Field("", description="data set of the Hugging Face hub, or a local folder in that layout; '' = files only")
    hub_config: str = Field("", description="configuration of the hub data set, such as de-en; '' = its only one")
    hub_revision: str = Field("", description="revision (branch, tag or commit) of the hub data set; '' = its newest")
    train: Split = Field(Split(hub_split="train"), description="pairs to learn from")
    validation: Split = Field(Split(hub_split="validation"), description="pairs to watch the training with")
    test: Split = Field(Split(hub_split="test"), description="pairs to score the finished model on")

    @model_validator(mode="after")
    def _two_languages(self) -> Self:
        if self.source_language == self.target_language:
            raise ValueError(f"source_language and target_language are both '{self.source_language}'")
        for split, section in (("validation", self.validation), ("test", self.test)):
            if any(corpus.weight != 1.0 for corpus in (section, *section.more)):
                raise ValueError(f"{split}.weight must be 1: only training has pairs more or less often")
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of all corpora."""
        sections = (self.train, self.validation, self.test)
        named = [corpus.tag for section in sections for corpus in (section, *section.more) if corpus.tag]
        return tuple(dict.fromkeys(named))


class Cleaning(Section):
    """What prepare changes in and removes from the training text. Validation and test lines are never removed."""

    on_bad_utf8: Literal["error", "drop", "replace"] = Field(
        "error",
        description="a line that is not UTF-8: stop and name it, drop the pair, or put U+FFFD for the bad bytes",
    )
    unescape_entities: bool = Field(True, description="turn HTML entities such as &amp; and &quot; into characters")
    max_tokens: int = Field(256, ge=1, description="longest sentence kept in training, in vocabulary pieces on each side")
    max_ratio: float = Field(
        9.0,
        ge=1.0,
        description="longest allowed ratio between the lengths of the sides in pieces (pairs over 10 pieces)",
    )
    drop_copies: bool = Field(True, description="drop pairs whose sides are equal (Ott et al. 2018: they spoil beam search)")
    drop_duplicates: bool = Field(False, description="keep only the first of equal pairs")
    drop_duplicate_sources: bool = Field(False, description="keep only the first of the pairs with equal source")
    drop_duplicate_targets: bool = Field(False, description="keep only the first of the pairs with equal target")
    drop_held_out: Literal["none", "pairs", "sources", "targets", "either"] = Field(
        "none",
        description="leave out of the training what is in validation or test too: equal pairs, all with an equal source, "
        "with an equal target, or with either; what is not left out is counted and told",
    )
    drop_foreign: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="drop pairs of which a side is, at least so surely, in neither of the two languages (py3langid, extra "
        "`clean`); 0 = do not look, 0.95 is usual",
    )
    misaligned_run: int = Field(
        10, ge=0, description="tell of runs of at least so many lines that seem not to translate each other; 0 = do not look"
    )


class Vocabulary(Section):
    """The subword vocabulary, learned from the cleaned training text."""

    shared: bool = Field(
        True, description="one vocabulary for both languages, as in the paper; false = one for each, of `size` pieces each"
    )
    reuse: str = Field(
        "", description="run or prepared data folder whose vocabulary is taken instead of learning one; '' = learn"
    )
    kind: Literal["bpe", "unigram"] = Field(
        "bpe", description="how pieces are found: bpe = byte-pair encoding, as in the paper; unigram (Kudo 2018)"
    )
    size: int = Field(37000, ge=261, le=1_000_000, description="pieces in all, with 4 control and 256 byte pieces")
    soft_limit: bool = Field(False, description="take fewer pieces when the text does not hold `size` of them")
    character_coverage: float = Field(
        0.9999,
        gt=0.9,
        le=1.0,
        description="share of the text's characters that get a piece; the rest is spelt in bytes",
    )
    byte_fallback: bool = Field(
        True,
        description="spell characters without a piece in bytes; false = they are lost: character_coverage must be 1",
    )
    normalization: Literal["nfc", "nfkc", "identity"] = Field(
        "nfc",
        description="what becomes of text, in prepare and in translate: nfc = composed characters, single plain spaces, no "
        "control or zero-width characters; nfkc = and compatibility forms as plain ones; identity = text as it is, but for "
        "line separators and tabs",
    )
    symbols: Names = Field((), description="texts that always are one piece, such as __P1__, wherever they stand")
    symbols_file: str = Field("", description="file of further symbols, one a line; '' = none")
    tags: Names = Field(
        (), description="reserved control pieces that no text yields; tags of data.train are added by themselves"
    )

    @model_validator(mode="after")
    def _characters_are_kept(self) -> Self:
        faults = []
        if not self.byte_fallback and self.character_coverage < 1.0:
            faults.append("byte_fallback false needs character_coverage 1.0, or characters of the text are lost")
        named = [*self.symbols, *self.tags]
        for name in dict.fromkeys(named):
            if named.count(name) > 1:
                faults.append(f"{name!r} is given twice among symbols and tags")
            if not is_piece(name):
                faults.append(f"{name!r} among symbols and tags must be text without white space and not a control piece")
        if faults:
            raise ValueError("; ".join(faults))
        return self


class Model(Section):
    """The Transformer. The defaults are the paper's base model; names are the paper's."""

    d_model: int = Field(512, ge=2, le=1_000_000, description="width of embeddings and of every layer's output")
    d_ff: int = Field(2048, ge=1, le=1_000_000, description="inner width of the feed-forward sublayers; of each expert")
    heads: Few = Field(8, description="attention heads")
    d_k: int = Field(0, ge=0, le=1_000_000, description="width of a head's queries and keys; 0 = d_model / heads")
    d_v: int = Field(0, ge=0, le=1_000_000, description="width of a head's values; 0 = d_model / heads")
    key_value_heads: int = Field(
        0,
        ge=0,
        description="heads of keys and values, each shared by a group of query heads (Ainslie et al. 2023); 0 = heads",
    )
    encoder_layers: Few = Field(6, description="layers of the encoder")
    decoder_layers: Few = Field(6, description="layers of the decoder")
    dropout: Share = Field(0.1, description="share dropped from each sublayer's output and from the embedded input")
    attention_dropout: Share = Field(0.0, description="share of attention weights dropped (0 in the paper's code)")
    feedforward_dropout: Share = Field(0.0, description="share of inner feed-forward units dropped (0 in the paper's code)")
    positions: Literal["sinusoidal", "sinusoidal_concatenated", "learned", "rotary", "alibi", "relative"] = Field(
        "sinusoidal",
        description="how a layer knows the order of the tokens: sinusoidal = the paper's, sine and cosine side by side; "
        "sinusoidal_concatenated = all sines, then all cosines, as in tensor2tensor; learned = a learned vector a position; "
        "rotary = queries and keys turned by their position (Su et al. 2021); alibi = a penalty that grows with distance "
        "(Press et al. 2022); relative = a learned bias a distance and head (Raffel et al. 2020)",
    )
    learned_positions: int = Field(
        1024,
        ge=2,
        le=1_000_000,
        description="tokens of the longest sentence, control token included, that learned positions are for",
    )
    norm: Literal["layer", "rms"] = Field(
        "layer", description="normalisation: layer = LayerNorm, rms = RMSNorm (Zhang and Sennrich 2019)"
    )
    norm_placement: Literal["post", "pre", "sandwich"] = Field(
        "post",
        description="post = norm(x + sublayer(x)), as in the paper; pre = x + sublayer(norm(x)), and a norm after the last "
        "layer, which learns sooner; sandwich = x + norm(sublayer(norm(x))), and a norm after the last layer",
    )
    feedforward: Literal["relu", "gelu", "swiglu", "experts"] = Field(
        "relu",
        description="kind of feed-forward sublayer: relu = max(0, xW1 + b1)W2 + b2; gelu = the same with GELU; swiglu = "
        "(swish(xW) * xV)W2 (Shazeer 2020), as large as the others with 2/3 of their d_ff; experts = several relu "
        "sublayers, of which a router chooses a few for each token",
    )
    experts: Few = Field(8, description="sublayers that a router chooses from, for feedforward: experts")
    experts_per_token: Few = Field(2, description="experts that each token goes through")
    balance: float = Field(
        0.01,
        ge=0.0,
        description="weight of the loss that keeps the experts equally busy (Fedus et al. 2022), a target token",
    )
    tied_embeddings: Literal["all", "decoder", "none"] = Field(
        "all",
        description="what shares one matrix: all = source and target embeddings and output layer, as in the paper; "
        "decoder = target embedding and output layer; none = each has its own",
    )

    @property
    def key_width(self) -> int:
        """d_k, whether it was given or follows from d_model."""
        return self.d_k or self.d_model // self.heads

    @property
    def value_width(self) -> int:
        """d_v, whether it was given or follows from d_model."""
        return self.d_v or self.d_model // self.heads

    @property
    def groups(self) -> int:
        """Heads of keys and values."""
        return self.key_value_heads or self.heads

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        faults = []
        if self.d_model % self.heads and not (self.d_k and self.d_v):
            faults.append(f"d_model {self.d_model} is not a multiple of heads {self.heads} (or set d_k and d_v)")
        elif self.positions == "rotary" and self.key_width % 2:
            faults.append(f"d_k is {self.key_width}, which is odd: rotary positions turn pairs of its numbers")
        if self.heads % self.groups:
            faults.append(f"heads {self.heads} is not a multiple of key_value_heads {self.key_value_heads}")
        if self.positions.startswith("sinusoidal") and self.d_model % 2:
            faults.append(f"d_model {self.d_model} is odd: sinusoidal positions need pairs of sine and cosine")
        if self.positions == "alibi" and self.heads == 1:
            faults.append("heads 1 is too few for positions: alibi, which tells left from right by heads that differ")
        if self.feedforward == "experts" and self.experts_per_token > self.experts:
            faults.append(f"experts_per_token {self.experts_per_token} is more than experts {self.experts}")
        if faults:
            raise ValueError("; ".join(faults))
        return self


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


class Decoding(Section):
    """The search for a translation. Defaults are the paper's."""

    beam_size: int = Field(4, ge=1, le=1000, description="hypotheses kept a sentence; 1 = greedy search")
    length_penalty: Literal["gnmt", "average"] = Field(
        "gnmt",
        description="score = sum of log-probabilities / penalty; gnmt: ((5 + L) / 6)^alpha (Wu et al. 2016), average: "
        "L^alpha; L counts the end-of-sentence token",
    )
    alpha: float = Field(0.6, ge=0.0, description="strength of the length penalty; 0 = none")
    n_best: int = Field(1, ge=1, description="translations printed a line, best first; at most beam_size")
    max_length_factor: float = Field(1.0, ge=0.0, description="longest output = factor * source tokens + constant")
    max_length_constant: int = Field(50, ge=1, description="longest output = factor * source tokens + constant, in tokens")
    max_source_tokens: int = Field(
        1024,
        ge=8,
        description="a longer line is translated in pieces, split at sentence ends or spaces, with a warning",
    )
    batch_tokens: int = Field(4096, ge=1, description="padded source tokens translated at a time")
    buffer: int = Field(2000, ge=1, description="lines read ahead to sort by length; 1 = answer each line at once")
    precision: Literal["float32", "bfloat16"] = Field("float32", description="arithmetic of the model while decoding")

    @model_validator(mode="after")
    def _beam_holds_n_best(self) -> Self:
        if self.n_best > self.beam_size:
            raise ValueError(f"n_best {self.n_best} is more than beam_size {self.beam_size}")
        return self


class Evaluation(Section):
    """Scoring translations."""

    test_set: str = Field(
        "", description="test set that `mtkit evaluate` scores: a name such as newstest2014; '' = data.test as prepared"
    )
    metrics: Annotated[tuple[Literal["bleu", "chrf", "chrf++", "ter"], ...], BeforeValidator(_as_tuple)] = Field(
        ("bleu", "chrf"), min_length=1, description="scores to print, each with its signature"
    )
    lowercase: bool = Field(False, description="compare without regard to case; the signature says so")


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
