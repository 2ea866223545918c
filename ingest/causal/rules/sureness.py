"""How sure a rule may be that judges by what repeats: shares of cases, and starts at once against chance."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Floats, Ints

MOST_SURE = 0.98
"""The highest confidence that is given: what is inferred is never certain, however often it repeats.
Simulations show more, but their lags are kinder than real ones (docs/rules.md)."""
LEAST_SURE = 0.5
"""The least confidence with which an edge or a pair is made: below it, that there is none is likelier."""
_PRIOR_CASES = 2
"""For how many cases the prior counts, so that one case decides little: it moves a prior of .5 to .67."""


def share_for(for_it: Ints | Floats, cases: Ints | Floats, prior: float | Floats) -> Floats:
    """Find the share of `cases` that speak for a cause, begun with a few that do so as often as `prior` says.

    This is the mean of a beta distribution with a prior of that mean and the weight of two cases.
    """
    shares: Floats = (for_it + _PRIOR_CASES * prior) / (cases + _PRIOR_CASES)
    return shares


def by_chance(hits: int, expected: float) -> float:
    """Tell how likely at least so many hits are by chance: the tail of a Poisson distribution."""
    from scipy.special import pdtrc  # noqa: PLC0415  (few files need it, and it takes .1 s)

    return 1.0 if hits <= expected else float(pdtrc(hits - 1, max(expected, 1e-12)))


def surer_at_once(share: Floats, at_once: Flags, chance: Floats) -> Floats:
    """Tell how likely causes are: their `share` of all cases, and more where a start came at once.

    After another cause it would have come at once by `chance` only.
    """
    return np.where(at_once, share / (share + (1 - share) * chance), share)
