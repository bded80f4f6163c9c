"""What a hypothesis' log-probability is divided by, so that long ones can win. The dict is the list of formulas.

Every penalty is positive and does not fall with the length: the search's stopping rule relies on it.
"""

from collections.abc import Callable


def gnmt(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha (Wu et al. 2016, equation 14), as in the paper."""
    return float(((5 + length) / 6) ** alpha)


def average(length: int, alpha: float) -> float:
    """length^alpha: with alpha 1 the score is the mean log-probability of a token."""
    return float(length**alpha)


LENGTH_PENALTIES: dict[str, Callable[[int, float], float]] = {"gnmt": gnmt, "average": average}
