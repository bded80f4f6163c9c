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


def main_codes(*codes: str) -> frozenset[str]:
    """The languages without their regions, as py3langid names them: pt of pt_BR."""
    return frozenset(code.lower().replace("_", "-").partition("-")[0] for code in codes)


def check_known(*codes: str) -> None:
    """UserError if py3langid is not installed, or does not know a language: it would take all text for another one."""
    known = set(_identifier().nb_classes)
    for code in sorted(main_codes(*codes) - known):
        raise UserError(
            f"cleaning.drop_foreign: py3langid does not know the language {code} of data.source_language or "
            f"data.target_language (it knows {len(known)} others): name it by its ISO 639-1 code, such as de, or set "
            "cleaning.drop_foreign=0"
        )


def foreign(text: str, languages: frozenset[str]) -> float:
    """How sure it is that `text` is in none of `languages` (ISO 639-1), from 0 to 1; 0 for short text."""
    if len(text) < FEWEST_CHARACTERS:
        return 0.0
    language, probability = _identifier().classify(text)
    return 0.0 if language in languages else float(probability)
