"""From patterns to the three splits: draw pairs, keep each English sentence once, hold combinations out.

A combination is a pair of content words that stand in a grammatical relation (a verb and its object, an adjective and its
noun). A hash that knows no seed puts each combination into test, validation or training for good. A training sentence has
only training combinations; a test sentence has at least one test combination and no validation one, and the other way round.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from draws import Draw, NoFitError
from patterns import PATTERNS, Pattern
from sentences import SentencePair

TRAIN_SIZE, VALIDATION_SIZE, TEST_SIZE = 36_000, 300, 500
TEST_SHARE, VALIDATION_SHARE = 0.06, 0.04
MINIMUM_COUNT = 30  # each word of a held-out sentence occurs at least so often in training
SHORTEST, LONGEST = 4, 16  # words of a sentence
PATIENCE = 4_000  # draws in a row that bring nothing new before a pattern counts as exhausted


@dataclass(frozen=True)
class Corpus:
    train: tuple[SentencePair, ...]
    validation: tuple[SentencePair, ...]
    test: tuple[SentencePair, ...]


def build_corpus(seed: int) -> Corpus:
    """The whole corpus, a function of the seed."""
    pairs = _draw_all(seed)
    by_split: dict[str, list[SentencePair]] = {"train": [], "validation": [], "test": []}
    for pair in pairs:
        split = split_of(pair.pairs)
        if split:
            by_split[split].append(pair)
    train = by_split["train"][:TRAIN_SIZE]
    assert len(train) == TRAIN_SIZE, f"only {len(train)} training pairs were drawn"
    english, german = (
        Counter(_words(pair.english for pair in train)),
        Counter(_words(pair.german for pair in train)),
    )

    def learnable(pair: SentencePair) -> bool:
        return all(english[word] >= MINIMUM_COUNT for word in _words([pair.english])) and all(
            german[word] >= MINIMUM_COUNT for word in _words([pair.german])
        )

    seen_german = {pair.german for pair in train}
    held = {
        split: [pair for pair in by_split[split] if learnable(pair) and pair.german not in seen_german]
        for split in ("validation", "test")
    }
    assert len(held["validation"]) >= VALIDATION_SIZE
    assert len(held["test"]) >= TEST_SIZE
    return Corpus(tuple(train), tuple(held["validation"][:VALIDATION_SIZE]), tuple(held["test"][:TEST_SIZE]))


def split_of(pairs: Iterable[str]) -> str:
    """train, validation or test by the combinations of a sentence; empty where validation and test meet in one."""
    homes = {home_of(pair) for pair in pairs} - {"train"}
    if not homes:
        return "train"
    return homes.pop() if len(homes) == 1 else ""


def home_of(combination: str) -> str:
    """The split that a combination belongs to, the same for every seed."""
    share = int.from_bytes(hashlib.sha256(combination.encode()).digest()[:8], "big") / 2**64
    if share < TEST_SHARE:
        return "test"
    return "validation" if share < TEST_SHARE + VALIDATION_SHARE else "train"


def _draw_all(seed: int) -> list[SentencePair]:
    """Every pattern draws its share, then the sentences are shuffled together."""
    drawn: dict[str, SentencePair] = {}
    for pattern, share in PATTERNS:
        _draw_into(drawn, pattern, Draw(Random(f"{seed} {pattern.__name__}")), share)
    pairs = list(drawn.values())
    Random(seed).shuffle(pairs)
    return pairs


def _draw_into(drawn: dict[str, SentencePair], pattern: Pattern, draw: Draw, count: int) -> None:
    """Add `count` new sentences of a pattern, fewer where it has no more to say."""
    fruitless = 0
    while count and fruitless < PATIENCE:
        pair = _draw_one(pattern, draw)
        if pair is None or pair.english in drawn:
            assert pair is None or drawn[pair.english].german == pair.german, f"two translations of {pair.english!r}"
            fruitless += 1
            continue
        drawn[pair.english] = pair
        fruitless, count = 0, count - 1


def _draw_one(pattern: Pattern, draw: Draw) -> SentencePair | None:
    try:
        pair = pattern(draw)
    except NoFitError:
        return None
    lengths = (len(pair.english.split()), len(pair.german.split()))
    fits = SHORTEST <= lengths[0] <= LONGEST and SHORTEST - 1 <= lengths[1] <= LONGEST
    return pair if fits and pair.pairs else None


def _words(lines: Iterable[str]) -> list[str]:
    return [word.strip(".,?").lower() for line in lines for word in line.split()]
