"""Whether a sentence is in a language that it should not be in. Needs the extra `clean` (py3langid, its model inside).

A guess at the language of a single sentence is often wrong between close languages and on names, so a pair is only
suspicious when the guess among all languages is sure of a third one.
"""

import functools
from typing import Any

from mtkit.support.errors import UserError

FEWEST_CHARACTERS = 20
"""Shorter sentences are not judged."""


@functools.cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise UserError("cleaning.drop_foreign needs py3langid: pip install 'mtkit[clean]'") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def check_available() -> None:
    """UserError if py3langid is not installed."""
    _identifier()


def foreign(text: str, languages: frozenset[str]) -> float:
    """How sure it is that `text` is in none of `languages` (ISO 639-1), from 0 to 1; 0 for short text."""
    if len(text) < FEWEST_CHARACTERS:
        return 0.0
    language, probability = _identifier().classify(text)
    return 0.0 if language in languages else float(probability)
