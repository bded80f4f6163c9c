"""The vocabularies of a translation, source and target together: one that both share, or one for each.

Comes in: word counts of the training text, or a folder that holds the vocabularies. Goes out: both at once, with one
fingerprint, and their files: `vocabulary.model` where it is shared, else `vocabulary.source.model` and
`vocabulary.target.model`, which are named by what they are for, as the numbered pairs are, so that a folder can be read
without knowing its languages. Knows nothing of languages or of what is numbered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtkit.config import schema
from mtkit.data.vocabulary import Vocabulary, learn_vocabulary
from mtkit.support.files import whole_file

SHARED, SOURCE, TARGET = "vocabulary.model", "vocabulary.source.model", "vocabulary.target.model"


@dataclass(frozen=True)
class Vocabularies:
    """What numbers the source, and what numbers the target: the very same object where they share one vocabulary."""

    source: Vocabulary
    target: Vocabulary

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
            return cls(vocabulary, vocabulary)
        return cls(Vocabulary.load(folder / SOURCE), Vocabulary.load(folder / TARGET))

    def save(self, folder: Path) -> None:
        """Writes them into `folder`, each file whole or not at all."""
        files = {SHARED: self.source} if self.shared else {SOURCE: self.source, TARGET: self.target}
        for name, vocabulary in files.items():
            with whole_file(folder / name) as stream:
                stream.write(vocabulary.model_bytes)

    @property
    def file_name(self) -> str:
        """What messages call the file or the two files, as a shell would write it."""
        return SHARED if self.shared else "vocabulary.{source,target}.model"


def shortened(fingerprint: str) -> str:
    """The fingerprint of one vocabulary or of two, in as many characters as a reader compares."""
    return "/".join(part[:12] for part in fingerprint.split("/"))


def learn_vocabularies(word_counts: Sequence[Mapping[str, int]], config: schema.Vocabulary) -> Vocabularies:
    """Learns one vocabulary for each of `word_counts`: those of source and target, or of both in one to share it.

    UserError as for `learn_vocabulary`.
    """
    if len(word_counts) == 1:
        vocabulary = learn_vocabulary(word_counts[0], config)
        return Vocabularies(vocabulary, vocabulary)
    source, target = word_counts
    return Vocabularies(
        learn_vocabulary(source, config, "the source text"), learn_vocabulary(target, config, "the target text")
    )
