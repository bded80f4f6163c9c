"""What is asked of a search for one piece of source text."""

from dataclasses import dataclass

from mtkit.decoding.phrases import NO_WISHES, Wishes


@dataclass(frozen=True)
class Request:
    """Token ids to translate, without control tokens, and what the hypotheses must be like."""

    source: tuple[int, ...]
    longest: int  # tokens a hypothesis may have, end token included
    shortest: int = 0
    wishes: Wishes = NO_WISHES
    everything: bool = False  # whether all tokens are searched, whatever the shortlist says
