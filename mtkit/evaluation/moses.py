"""Tokenised BLEU, the kind of number that the Transformer's paper and much of its time report.

Moses' tokeniser on both sides, then BLEU without smoothing, as multi-bleu.perl has it; for German also with compounds split
at hyphens (##AT##-##AT##), as in tensor2tensor's get_ende_bleu.sh and fairseq's compound_split_bleu.sh. It depends on the
version of the tokeniser and of the reference, so it compares with no sacreBLEU score, and says so. Needs the extra
sacremoses.
"""

import re
from importlib.metadata import version
from typing import Any

from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from mtkit.support.errors import UserError

NOT_COMPARABLE = "not comparable with sacreBLEU"

HYPHENATED = re.compile(r"(\S)-(\S)")


class MosesTokens(BaseTokenizer):
    """Moses' tokens of a line, a space between them; if `compounds`, what is joined by hyphens is set apart too."""

    def __init__(self, language: str, *, compounds: bool) -> None:
        try:
            from sacremoses import MosesTokenizer
        except ImportError:
            raise UserError(
                "evaluation.metrics: tokenised-bleu and compound-split-bleu need sacremoses, which is not installed: "
                "pip install 'mtkit[sacremoses]'"
            ) from None
        self._moses: Any = MosesTokenizer(lang=language)
        self._language, self._compounds = language, compounds

    def signature(self) -> str:
        """For the signature of the score."""
        split = "-compound-split" if self._compounds else ""
        return f"moses-{self._language}{split}-sacremoses-{version('sacremoses')}"

    def __call__(self, line: str) -> str:
        """The tokens of `line`."""
        tokens: str = self._moses.tokenize(line, return_str=True, escape=False)
        return HYPHENATED.sub(r"\1 ##AT##-##AT## \2", tokens) if self._compounds else tokens


class TokenisedBLEU(BLEU):
    """BLEU of Moses' tokens. Its scores go by a name of their own, which says that they compare with no others."""

    def __init__(self, *, lowercase: bool, language: str, compounds: bool) -> None:
        super().__init__(lowercase=lowercase, force=True, tokenize="none", smooth_method="none")
        self.tokenizer = MosesTokens(language or "en", compounds=compounds)
        self.tokenizer_signature = self.tokenizer.signature()
        self._kind = "compound-split" if compounds else "tokenised"

    def _compute_score_from_stats(self, stats: list[int]) -> BLEUScore:
        found: BLEUScore = super()._compute_score_from_stats(stats)
        found.name = f"{self._kind} BLEU ({NOT_COMPARABLE})"
        return found
