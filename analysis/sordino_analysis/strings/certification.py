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
from scipy.special import betainc

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.string_queries import WATCHED_SHARE
from sordino_analysis.strings.chances import StringChances
from sordino_analysis.strings.held_out import HeldOutCounts, Integers
from sordino_shared.errors import InvalidValue

# A candidate that the path thinks little of still has a share of the error.
_LEAST_CHANCE = 0.001


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


def weights_of(chances: Floats, watched: NDArray[np.bool_] | None = None) -> Floats:
    """(m,) weights that sum to 1, from the chances that paths give to the first candidates.

    Where some of all m are `watched` (m,), half of the weight is theirs, alike for each; one that was found, too, has
    both. Any weights that do not depend on the held-out level keep the error of the list and of all intervals.
    """
    raised = np.maximum(chances, _LEAST_CHANCE)
    found = np.asarray(raised / raised.sum())
    if watched is None or not watched.any():
        return found
    weights = np.where(watched, WATCHED_SHARE / watched.sum(), 0.0)
    weights[: len(found)] += (1 - WATCHED_SHARE) * found
    return weights


def certify(found: HeldOutCounts, chances: StringChances, weights: Floats, error: float) -> Certified:
    """List and intervals of m candidates with `weights` (m,), whose counts in the held-out level chose none of them.

    With probability 1 − `error` or more every candidate on the list is held by some reporter, and every interval holds
    the share of the reporters. Raises InvalidValue without reports.
    """
    if not found.reports:
        raise InvalidValue("no report certifies: the held-out level has none", found.reports)
    listed = _listed(_tail(found.counts, found.reports, float(chances.other)), weights, error / 2)
    return Certified(found.shares(chances), found.intervals(chances, error / 2 * weights), listed, 1 - error)


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
