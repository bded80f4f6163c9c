"""Options of the Transformer. Adding a variant of a part is one word in a `Literal` here."""

from typing import Literal, Self

from pydantic import Field, model_validator

from mtkit.config.sections.section import Few, Section, Share


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
