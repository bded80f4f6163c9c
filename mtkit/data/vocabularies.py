"""The vocabularies of a translation, source and target together: one that both share, or one for each.

Comes in: word counts of the training text, or a folder that holds the vocabularies. Goes out: both at once, with one
fingerprint, and their files: `vocabulary.model` where it is shared, else `vocabulary.source.model` and
`vocabulary.target.model`, which are named by what they are for, as the numbered pairs are, so that a folder can be read
without knowing its languages. Beside them may lie a shortlist, which belongs to them. Knows nothing of languages or of what
is numbered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtkit.config import schema
from mtkit.data.normalisation import NORMALISATIONS
from mtkit.data.shortlist import SHORTLIST, Shortlist
from mtkit.data.vocabulary import Vocabulary, learn_vocabulary
from mtkit.support.errors import UserError
from mtkit.support.files import whole_file
from mtkit.support.lines import read_lines

SHARED, SOURCE, TARGET = "vocabulary.model", "vocabulary.source.model", "vocabulary.target.model"


@dataclass(frozen=True)
class Vocabularies:
    """What numbers the source, and what numbers the target: the very same object where they share one vocabulary."""

    source: Vocabulary
    target: Vocabulary
    folder: Path | None = field(default=None, compare=False)  # that they were read from

    @property
    def shared(self) -> bool:
        """Whether there is but one."""
        return self.source is self.target

    @property
    def fingerprint(self) -> str:
        """That of the shared vocabulary; `source/target`, the fingerprints of both, where there are two."""
        return self.source.fingerprint if self.shared else f"{self.source.fingerprint}/{self.target.fingerprint}"

    @classmethod
    def load(cls, folder: Path, *, shared: bool) -> "Vocabularies":
        """Those that lie in `folder`. UserError naming the file that is missing or damaged."""
        if shared:
            vocabulary = Vocabulary.load(folder / SHARED)
            return cls(vocabulary, vocabulary, folder)
        return cls(Vocabulary.load(folder / SOURCE), Vocabulary.load(folder / TARGET), folder)

    def shortlist(self) -> Shortlist:
        """The one that was learned with them. UserError if there is none, or it is damaged."""
        return Shortlist.load((self.folder or Path()) / SHORTLIST, self.fingerprint)

    @property
    def files(self) -> dict[str, bytes]:
        """Content of each file, by its name."""
        if self.shared:
            return {SHARED: self.source.model_bytes}
        return {SOURCE: self.source.model_bytes, TARGET: self.target.model_bytes}

    def save(self, folder: Path) -> None:
        """Writes them into `folder`, each file whole or not at all; and the shortlist, if they have one."""
        files = self.files
        if self.folder is not None and (self.folder / SHORTLIST).exists():
            files[SHORTLIST] = self.shortlist().content(self.fingerprint)
        for name, content in files.items():
            with whole_file(folder / name) as stream:
                stream.write(content)

    @property
    def file_name(self) -> str:
        """What messages call the file or the two files, as a shell would write it."""
        return SHARED if self.shared else "vocabulary.{source,target}.model"


def shortened(fingerprint: str) -> str:
    """The fingerprint of one vocabulary or of two, in as many characters as a reader compares."""
    return "/".join(part[:12] for part in fingerprint.split("/"))


def learn_vocabularies(
    word_counts: Sequence[Mapping[str, int]], config: schema.Vocabulary, tags: Sequence[str] = ()
) -> Vocabularies:
    """Learns one vocabulary for each of `word_counts`: those of source and target, or of both in one to share it.

    `tags` are reserved in that of the source besides those of the config. UserError as for `learn_vocabulary`.
    """
    symbols = named_symbols(config, tags)
    tags = list(dict.fromkeys([*config.tags, *tags]))
    if len(word_counts) == 1:
        vocabulary = learn_vocabulary(word_counts[0], config, tags=tags, symbols=symbols)
        return Vocabularies(vocabulary, vocabulary)
    source, target = word_counts
    return Vocabularies(
        learn_vocabulary(source, config, "the source text", tags, symbols),
        learn_vocabulary(target, config, "the target text", symbols=symbols),
    )


def reused_vocabularies(config: schema.Vocabulary, tags: Sequence[str] = ()) -> Vocabularies:
    """Those of the run or the prepared data that `vocabulary.reuse` names. UserError if they are not what is needed."""
    folder = Path(config.reuse)
    try:
        names = {path.name for path in folder.iterdir()}
    except NotADirectoryError:
        raise UserError(f"vocabulary.reuse: {folder.absolute()}: no folder: name a run or a prepared data folder") from None
    except FileNotFoundError:
        raise UserError(
            f"vocabulary.reuse: {folder.absolute()}: no such folder: name a run or a prepared data folder"
        ) from None
    except OSError as error:
        raise UserError(f"vocabulary.reuse: {folder}: cannot be read: {error.strerror}") from None
    if not names & {SHARED, SOURCE}:
        raise UserError(f"vocabulary.reuse: {folder}: holds no {SHARED}: name a run or a prepared data folder")
    if config.shared != (SHARED in names):
        found = str(not config.shared).lower()
        raise UserError(f"vocabulary.reuse: {folder} has vocabulary.shared={found}: set it so")
    vocabularies = Vocabularies.load(folder, shared=config.shared)
    for tag in (*config.tags, *tags):
        vocabularies.source.tag_id(tag)
    for symbol in named_symbols(config, tags):
        for vocabulary in (vocabularies.source, vocabularies.target):
            if symbol not in (vocabulary.pieces[token] for token in vocabulary.encode([f"a{symbol}a"])[0]):
                raise UserError(
                    f"vocabulary.reuse: the vocabulary of {folder} has no symbol {symbol}: leave it out of "
                    "vocabulary.symbols, or learn a vocabulary with it"
                )
    return vocabularies


def as_reused(config: schema.Config, reused: Vocabularies) -> schema.Config:
    """The config with the treatment of text that the vocabulary has: it is not the config's to choose any more."""
    vocabulary = config.vocabulary.model_copy(update={"normalization": reused.source.normalization})
    return config.model_copy(update={"vocabulary": vocabulary})


def named_symbols(config: schema.Vocabulary, tags: Sequence[str] = ()) -> list[str]:
    """The symbols named in the config and those of its file, as the text will have them. UserError for what is none."""
    named = [(symbol, "vocabulary.symbols") for symbol in config.symbols]
    if config.symbols_file:
        lines = enumerate(read_lines(config.symbols_file), 1)
        named += [(symbol, f"{config.symbols_file}:{number}") for number, symbol in lines if symbol]
    treat = NORMALISATIONS[config.normalization].treat
    for symbol, place in named:
        if not schema.is_piece(symbol) or treat(symbol) != symbol or symbol in (*config.tags, *tags):
            raise UserError(
                f"{place}: symbol {symbol!r} must be text without white space, in the form that "
                f"vocabulary.normalization {config.normalization} gives it, and neither a control piece nor a tag"
            )
    return list(dict.fromkeys(symbol for symbol, _ in named))
