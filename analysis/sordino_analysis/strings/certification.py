"""Which candidates are held by some device, and shares of all of them, from reports that chose none of them.

Of a string that nobody holds N ~ Bin(n, q) exactly, whatever others hold. Of one that a share f of all reporters
holds, those of the held-out level are a random part: N is a sum of independent events of mean n(q + f(p − q)), and
Clopper and Pearson's interval of that chance holds (Hoeffding 1956, Theorem 4). List and intervals have half of the
error each, divided by weights that do not depend on these reports: weighted Holm (Holm 1979; Genovese, Roeder and
Wasserman 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betainccinv, betaincinv

from sordino_analysis.arrays import Floats
from sordino_analysis.strings.chances import StringChances
from sordino_shared.errors import InvalidValue

# A candidate that the path thinks little of still has a share of the error.
_LEAST_CHANCE = 0.001
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Certified:
    """(m,) shares `uncut`, which is unbiased, and `certified`; (m, 2) `interval`, which hold all at once."""

    uncut: Floats
    interval: Floats
    certified: NDArray[np.bool_]
    level: float

    @property
    def value(self) -> Floats:
        """(m,) the shares cut to [0, 1]."""
        return np.clip(self.uncut, 0.0, 1.0)


def weights_of(chances: Floats) -> Floats:
    """(m,) weights that sum to 1, from the chances that paths give to candidates."""
    raised = np.maximum(chances, _LEAST_CHANCE)
    return np.asarray(raised / raised.sum())


def certify(counts: Integers, reports: int, chances: StringChances, weights: Floats, error: float) -> Certified:
    """List and intervals of m candidates that `counts` (m,) of the held-out level's `reports` hold.

    With probability 1 − `error` or more every candidate on the list is held by some reporter, and every interval holds
    the share of the reporters. Raises InvalidValue without reports.
    """
    if not reports:
        raise InvalidValue("no report certifies: the held-out level has none", reports)
    own, other = float(chances.own), float(chances.other)
    listed = _listed(_tail(counts, reports, other), weights, error / 2)
    ends = clopper_pearson(counts, reports, error / 2 * weights)
    uncut = (counts / reports - other) / (own - other)
    interval = np.clip((ends - other) / (own - other), 0.0, 1.0)
    return Certified(uncut, interval, listed, 1 - error)


def clopper_pearson(counts: Integers, reports: int, errors: Floats) -> Floats:
    """(m, 2) the interval of each event's chance with the `errors` (m,), half of each at either end."""
    low = betaincinv(np.maximum(counts, 1), reports - counts + 1, errors / 2)
    # By the complement: 1 less an error of 2^-64 is 1.
    high = betainccinv(counts + 1, np.maximum(reports - counts, 1), errors / 2)
    ends = np.stack([np.where(counts == 0, 0.0, low), np.where(counts == reports, 1.0, high)], axis=-1)
    return np.asarray(ends)


def _tail(counts: Integers, reports: int, other: float) -> Floats:
    """(m,) P(Bin(n, q) ≥ N). For a string that nobody holds it is x or less with chance x at most."""
    return np.where(counts == 0, 1.0, betainc(np.maximum(counts, 1), reports - counts + 1, other))


def _listed(values: Floats, weights: Floats, error: float) -> NDArray[np.bool_]:
    """Weighted Holm: by rising p/w, as long as p ≤ error·w/(the weight that is left)."""
    listed, left = np.zeros(len(values), dtype=np.bool_), float(weights.sum())
    for place in np.argsort(values / weights, kind="stable"):
        if values[place] * left > error * weights[place]:
            break
        listed[place] = True
        left -= float(weights[place])
    return listed


def forged_reach(chances: StringChances, held_out: float) -> tuple[float, float]:
    """Times a share of forged reports: what they add to a string that they all name, and if all are of its level."""
    gain = float(Fraction(1 - chances.other) / (chances.own - chances.other))
    return gain, gain / held_out
