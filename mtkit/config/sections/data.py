"""Options of the text: where it comes from, what is removed from it, the vocabulary that it is written in."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mtkit.config.sections.section import Names, Section


def is_piece(name: str) -> bool:
    """Whether a symbol or tag may be called so: no white space, nothing that the vocabulary itself uses."""
    own = r"<pad>|<s>|</s>|<unk>|<0x[0-9A-F]{2}>"
    return bool(name) and not re.search(r"[\s\u2581\ud800-\udfff]", name) and not re.fullmatch(own, name)


def _language_code(value: str) -> str:
    """A code becomes part of file names, so it must be one."""
    if not re.fullmatch(r"[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8})*", value):
        raise ValueError(f"must be a language code such as de or pt_BR, found {value!r}")
    return value


Language = Annotated[str, AfterValidator(_language_code)]


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
        if self.columns and (self.source or self.tsv):
            raise ValueError("columns are those of jsonl, parquet and hub data: text files and tsv have none")
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
    capitals: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="share of the training pairs that are put in capitals on both sides, drawn by their line, so that the "
        "model can translate such text; 0 = none, 0.02 is usual",
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
    shortlist: bool = Field(
        False, description="also learn which target pieces each source piece translates to, for decoding.shortlist"
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
