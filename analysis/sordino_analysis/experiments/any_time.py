"""Looks at any time, with no end: the normal mixture of Robbins (1970).

Asymptotic: contributions are bounded and reports are many, from about 1,000 an arm on.
"""

from __future__ import annotations

import math

from sordino_shared.errors import InvalidValue


def any_time_quantile(share: float, level: float) -> float:
    """How many standard errors on either side hold at all times at once; `share` is I/I_end, inf without information.

    √((1 + ρ/I)·log((I + ρ)/(ρα²))) with ρ = I_end/(2 log(1/α) + log(1 + 2 log(1/α))), which makes it least near I_end:
    3.04 there at .95. Raises InvalidValue for a level that is none.
    """
    if not 0 < level < 1:
        raise InvalidValue(f"the level must lie between 0 and 1, such as .95, got {level}", level)
    if share <= 0:
        return math.inf
    doubled = -2 * math.log(1 - level)
    prior = 1 / (doubled + math.log1p(doubled))
    return math.sqrt((1 + prior / share) * (math.log((share + prior) / prior) + doubled))
