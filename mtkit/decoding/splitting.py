"""Lines too long for a model, cut into pieces that are not.

Comes in: the tokens of a line. Goes out: the same tokens in runs. Knows the pieces of the source's vocabulary, no model.
"""

import re
from collections.abc import Sequence

from mtkit.data.normalisation import WORD_MARK

SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*$")  # before a space
WIDE_SENTENCE_END = re.compile(r"[。！？][」』”）]*$")  # these scripts put no space

CONTINUES_CHARACTER = re.compile("<0x[89AB][0-9A-F]>")  # a byte that is not the first of its UTF-8 character


def split_tokens(tokens: Sequence[int], pieces: Sequence[str], longest: int) -> list[list[int]]:
    """Cuts the tokens of a line into runs of at most `longest`: at sentence ends, else at spaces, else between tokens.

    pieces: the vocabulary's, by token. Each run but the last is as long as that allows. `longest` is at least 4, so that
    the bytes of a character stay together.
    """
    runs = []
    start = 0
    while len(tokens) - start > longest:
        end = _cut(tokens, pieces, start, start + longest)
        runs.append(list(tokens[start:end]))
        start = end
    runs.append(list(tokens[start:]))
    return runs


def _cut(tokens: Sequence[int], pieces: Sequence[str], start: int, end: int) -> int:
    """Where to end the run that begins at `start` and reaches `end` at most."""
    word_start = 0
    for place in range(end, start, -1):
        before = "".join(pieces[token] for token in tokens[max(start, place - 4) : place])  # room for quotes and brackets
        begins_word = pieces[tokens[place]].startswith(WORD_MARK)
        if WIDE_SENTENCE_END.search(before) or (begins_word and SENTENCE_END.search(before)):
            return place
        if begins_word and not word_start:
            word_start = place
    if word_start:
        return word_start
    while CONTINUES_CHARACTER.fullmatch(pieces[tokens[end]]):
        end -= 1
    return end
