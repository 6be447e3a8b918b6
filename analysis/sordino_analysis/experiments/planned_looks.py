"""Planned looks: boundaries that spend the chance of a false alarm as information comes in.

An experiment with information I has a statistic Z = d/se. S = Z·√t with t = I/I_end is a Brownian motion seen at the
looks, so that the chance of crossing at each of them is found by integrating its law from look to look (Armitage,
McPherson and Rowe 1969; Jennison and Turnbull 2000, chapter 19).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_shared.errors import InvalidValue

# A look that adds less than this share of the planned information is none: its law would take thousands of nodes.
LEAST_GROWTH = 0.001
# Boundaries end here: further out, where less than this chance is spent, doubles hold no chance any more.
_FURTHEST = 37.0
# Less than this is nothing to spend: a boundary of 36 standard errors, which nothing crosses.
_LEAST_CHANCE = 1e-284
# Boundaries are found to this many standard errors, far below what six decimals show.
_BOUNDARY_TOLERANCE = 1e-9
# Beyond nine standard errors a normal law has 10⁻¹⁹.
_WIDEST = 9.0
# Nodes for each standard deviation of the narrowest step, and for each law: half of them give the same four decimals.
_NODES_EACH = 4.0
# Nodes that a law has where no step is narrow; as above.
_NODES = 16


def spent(share: float, level: float) -> float:
    """The chance of a false alarm that may be spent up to this share t of the information: 2(1 − Φ(z/√t)).

    O'Brien and Fleming's rule as a spending function (Lan and DeMets 1983): 1 − `level` from t = 1 on.
    """
    if share <= 0:
        return 0.0
    return 2 * float(ndtr(-normal_quantile(level) / math.sqrt(min(share, 1.0))))


def boundaries(shares: Sequence[float], level: float, *, ended: bool) -> Floats:
    """(looks,) how many standard errors a difference must be from 0 at each look, so that `level` holds over all.

    `shares` (looks,) are I/I_end in the order of the looks, I_end pinned before the first report. The look at the
    pinned end, which is the last one where `ended`, spends all that is left, whatever its share is. So does the first
    look whose share is 1 or more, and no look follows it. A look without new information has the boundary inf.
    Raises InvalidValue for a level that is none.
    """
    if not 0 < level < 1:
        raise InvalidValue(f"the level must lie between 0 and 1, such as .95, got {level}", level)
    times, found = np.maximum.accumulate(np.asarray(shares, dtype=float)), np.full(len(shares), np.inf)
    looks = _counted(times, ended)
    law = _Undecided.at_the_start(_finest(times, looks))
    gone = 0.0
    for look in looks:
        last = (ended and look == len(times) - 1) or times[look] >= 1
        total = 1 - level if last else spent(times[look], level)
        found[look] = law.boundary(times[look], total - gone)
        law, gone = law.within(times[look], found[look]), max(gone, total)
    return found


def crossing_chances(shares: Sequence[float], bounds: Sequence[float], drift: float) -> tuple[Floats, Floats]:
    """(looks,) chances to cross below and above for the first time, where the mean of Z is `drift` at t = 1.

    `shares` and `bounds` (looks,) are those of `boundaries`; with a drift of 0 both add up to 1 − level.
    """
    times = np.maximum.accumulate(np.asarray(shares, dtype=float))
    below, above = np.zeros(len(times)), np.zeros(len(times))
    looks = [look for look in range(len(times)) if math.isfinite(bounds[look])]
    law = _Undecided.at_the_start(_finest(times, looks))
    for look in looks:
        below[look], above[look] = law.beyond(times[look], bounds[look], drift)
        law = law.within(times[look], bounds[look], drift)
    return below, above


def _counted(times: Floats, ended: bool) -> list[int]:
    """The looks that have a boundary."""
    found: list[int] = []
    seen = 0.0
    for look, time in enumerate(times):
        if time - seen >= LEAST_GROWTH:
            found.append(look)
            seen = time
            if time >= 1:
                return found
    if ended and len(times) and times[-1] > 0 and found[-1:] != [len(times) - 1]:
        # What is left is spent at the end: an earlier look at the same information gives way to it.
        return [look for look in found if times[-1] - times[look] >= LEAST_GROWTH] + [len(times) - 1]
    return found


def _finest(times: Floats, looks: Sequence[int]) -> float:
    """The standard deviation of the least step of S between looks."""
    return math.sqrt(min(np.diff(times[list(looks)], prepend=0.0), default=1.0))


@dataclass(frozen=True, eq=False)
class _Undecided:
    """The law of S among experiments that crossed no boundary yet: `masses` (n,) at `nodes` (n,)."""

    time: float
    nodes: Floats
    masses: Floats
    finest: float

    @classmethod
    def at_the_start(cls, finest: float) -> _Undecided:
        return cls(0.0, np.zeros(1), np.ones(1), finest)

    def boundary(self, time: float, chance: float) -> float:
        """b with P(|S| ≥ b·√time now) = `chance`, inf where nothing is to be spent."""
        if chance < _LEAST_CHANCE:
            return math.inf

        def excess(bound: float) -> float:
            return math.log(max(sum(self.beyond(time, bound)), _LEAST_CHANCE / 1e9)) - math.log(chance)

        # Where less is left than must be spent every path crosses: that happens at no level below 1.
        return float(brentq(excess, 0.0, _FURTHEST, xtol=_BOUNDARY_TOLERANCE)) if excess(0.0) > 0 else 0.0

    def beyond(self, time: float, bound: float, drift: float = 0.0) -> tuple[float, float]:
        """Chances that S at `time` is below −bound·√time, and above bound·√time."""
        step, far = math.sqrt(time - self.time), bound * math.sqrt(time)
        centre = self.nodes + drift * (time - self.time)
        return float(self.masses @ ndtr((-far - centre) / step)), float(self.masses @ ndtr((centre - far) / step))

    def within(self, time: float, bound: float, drift: float = 0.0) -> _Undecided:
        """The law at `time` of those that stay inside, on Gauss and Legendre's nodes."""
        step, deviation = math.sqrt(time - self.time), math.sqrt(time)
        low = max(-bound * deviation, drift * time - _WIDEST * deviation)
        high = min(bound * deviation, drift * time + _WIDEST * deviation)
        if high <= low:
            return _Undecided(time, np.zeros(1), np.zeros(1), self.finest)
        roots, weights = _legendre(_NODES + math.ceil(_NODES_EACH * (high - low) / 2 / self.finest))
        nodes = low + (high - low) * (roots + 1) / 2
        centre = self.nodes + drift * (time - self.time)
        density = np.exp(-(((nodes[:, None] - centre) / step) ** 2) / 2) @ self.masses
        masses = density * weights * (high - low) / 2 / (step * math.sqrt(2 * math.pi))
        return _Undecided(time, nodes, masses, self.finest)


@cache
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    roots, weights = np.polynomial.legendre.leggauss(nodes)
    return roots, weights
