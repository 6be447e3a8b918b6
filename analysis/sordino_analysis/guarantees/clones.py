"""What one user's value changes in a shuffled multiset of reports: divergences that are never below the exact ones.

Feldman, McMillan and Talwar 2021 ("Hiding among the clones"); Balle, Bell, Gascón and Nissim 2019 for the identity.
Their formula of 2023 ("Stronger privacy amplification") is not used: its authors withdrew it for general randomizers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import exp_lower_bound

# Every float of a binomial law comes of sums, products and quotients of positive numbers, each within 2⁻⁵³ of the exact
# one. A chain of a million of them is within 2⁻³².
ROUNDED_UP = 1 + 2.0**-30
# So many values of a sum are told apart, of one sum and of each of two. It costs less than .1 % of ε.
_VALUES, _VALUES_OF_TWO, _COARSE = 1500, 200, 80
# More users than these hide at least as well, and sums of more need much memory.
_MOST_USERS = 10**10
# Fixed point of probabilities: rounding is added to δ, and far below it.
_BITS = 192
_ROUNDED_DOWN = 1 - 2.0**-50


@dataclass(frozen=True, kw_only=True)
class Clones:
    """Three kinds of report, and how often one user sends each with two values, and everybody else at least.

    With E = `ratio`, s = `even` and o = (1−s)/(E+1) the user sends them with chances (E·o, o, s) with one value and
    (o, E·o, s) with the other. Each of the others sends them with chances of at least (`floor`, `floor`, `even_floor`),
    whatever they hold, independently of all that tells the values apart; what they send beyond it is given away.
    Raises InvalidValue for floors that are no chances, or none at all.
    """

    ratio: Fraction
    even: Fraction
    floor: Fraction
    even_floor: Fraction

    def __post_init__(self) -> None:
        if not (self.ratio > 1 and 0 <= self.even < 1 and self.floor > 0 and (self.even_floor > 0) == (self.even > 0)):
            raise InvalidValue("clones need a ratio above 1, and a chance for each kind of report", self)
        if self.blanket > 1:
            raise InvalidValue("the least chances of three kinds of report sum to more than 1", self)

    @classmethod
    def of_any(cls, ratio: Fraction) -> Clones:
        """For any randomizer whose chances of a report differ by at most the factor `ratio` = e^ε₀.

        FMT 2021, theorem of section 3: C ~ Bin(n − 1, e^−ε₀) clones, half of them of either kind.
        """
        return cls(ratio=ratio, even=Fraction(0), floor=1 / (2 * ratio), even_floor=Fraction(0))

    @classmethod
    def of_pair(cls, ratio: Fraction, distance: Fraction) -> Clones:
        """For two values whose laws are `distance` > 0 apart in total variation, of a randomizer of this `ratio`.

        The chances of a report with the two values are α(E, 1) + β(1, 1), or its mirror image, and with any value it
        is sent with at least α + β/E. A multiset of reports is drawn from one of the three kinds.
        """
        even = 1 - distance * (ratio + 1) / (ratio - 1)
        return cls(ratio=ratio, even=even, floor=(1 - even) / (ratio + 1), even_floor=even / ratio)

    @classmethod
    def of_pairs(cls, ratio: Fraction, least: Fraction, most: Fraction) -> Clones:
        """For every two values whose distance is from `least` to `most`.

        The user of a nearer pair is one of the farthest pair with a chance, and else tells nothing; the others send
        as the nearest pair makes them send.
        """
        far, near = cls.of_pair(ratio, most), cls.of_pair(ratio, least)
        return cls(ratio=ratio, even=far.even, floor=near.floor, even_floor=far.even_floor)

    @property
    def own(self) -> Fraction:
        """o, the chance of the kind of report that the other value sends E times as often."""
        return (1 - self.even) / (self.ratio + 1)

    @property
    def blanket(self) -> Fraction:
        """The least chance that a report of somebody else is of one of the three kinds."""
        return 2 * self.floor + self.even_floor

    @property
    def most_likely(self) -> Fraction:
        """How many times as often as the blanket a user sends a kind of report at most."""
        own = self.own * self.ratio / self.floor
        return max(own, self.even / self.even_floor) if self.even else own


class ShuffledReports:
    """δ(ε) of the multiset of `users` reports, the user's own among them: what every ε needs is computed once.

    With (N₁, N₂, N₃) ~ Mult(n; floor, floor, even_floor) the value's likelihood is ((o/floor)(E N₁ + N₂) +
    (s/even_floor) N₃)/n, and the other's has N₁ and N₂ exchanged. Given T = N₁ + N₂ + N₃ and M = N₁ + N₂, N₁ is
    Bin(M, ½). δ given T falls in T, as anybody can add a clone, and N₁ − M/2 is a martingale in M, so neighbouring T
    are taken for the least of them, and neighbouring M for the largest with the least drift among them.
    """

    def __init__(self, clones: Clones, users: int, negligible: float, coarse: bool = False) -> None:
        """`negligible` > 0 is about the chance that is left out of sums and added to δ; raises InvalidValue.

        `coarse` is sooner done, with a δ that is larger than it need be.
        """
        if users < 1:
            raise InvalidValue(f"a multiset holds at least one report, got {users}", users)
        self._clones = clones
        users = min(users, _MOST_USERS)
        totals = binomial_window(users, clones.blanket, negligible)
        values = _COARSE if coarse else _VALUES_OF_TWO if clones.even else _VALUES
        self._totals = _grid(max(1, totals.first), totals.last, values)
        paired = 2 * clones.floor / clones.blanket
        windows = [binomial_window(total, paired, negligible) for total in self._totals.tolist()]
        self._tops = _grid(windows[0].first, windows[-1].last, values)
        self._bottoms = np.append(windows[0].first, self._tops[:-1] + 1)
        shares = totals.chances * np.arange(totals.first, totals.last + 1) / users
        together = np.searchsorted(self._totals, np.arange(totals.first, totals.last + 1), side="right") - 1
        outer = np.bincount(np.maximum(together, 0), weights=shares)
        found = []
        for row, (share, window) in enumerate(zip(outer.tolist(), windows, strict=True)):
            columns = np.searchsorted(self._tops, np.arange(window.first, window.last + 1))
            weights = np.bincount(columns - columns[0], weights=window.chances) * share
            found.append((np.full(len(weights), row), np.arange(len(weights)) + columns[0], weights))
        self._rows, self._columns, self._weights = (np.concatenate(part) for part in zip(*found, strict=True))
        self._tails = _Tails(self._tops, negligible)
        left_out = totals.outside + max(window.outside for window in windows) + self._tails.outside
        self._left_out = left_out * float(clones.most_likely) * ROUNDED_UP

    def delta(self, nano_epsilon: int) -> float:
        """At least max over sets S of P(S) − e^ε P′(S), at ε = nano_epsilon · 10⁻⁹."""
        clones, power = self._clones, _exponential_below(nano_epsilon)
        # All of these fall as e^ε grows, so a lower bound of it gives more.
        turn = (clones.ratio - 1) * (1 + power)
        scale = clones.own / clones.floor
        drift = float((power - 1) * (clones.ratio + 1) / (2 * turn))
        even = clones.even / clones.even_floor if clones.even else Fraction(0)
        even_drift = float(even * (power - 1) / (scale * turn))
        totals = self._totals[self._rows]
        tops = np.minimum(self._tops[self._columns], totals)
        bottoms = np.minimum(self._bottoms[self._columns], totals)
        drifts = (m * drift + (totals - m) * even_drift for m in (tops, bottoms))
        levels = (self._tops[self._columns] / 2 + np.minimum(*drifts) * _ROUNDED_DOWN) * _ROUNDED_DOWN
        excess = self._tails.excess(self._columns, levels)
        # `totals` are the least of those taken together, and the weights hold T/n.
        sum_ = float(np.sum(self._weights * excess / totals)) * float(scale * turn)
        return (sum_ + self._left_out) * ROUNDED_UP


class _Tails:
    """E[N − level]₊ of N ~ Bin(m, ½), for each of several m."""

    def __init__(self, sums: NDArray[np.int64], negligible: float) -> None:
        self.outside = 0.0
        beyond, over, self._lengths = [], [], []
        for total in sums.tolist():
            window = binomial_window(total, Fraction(1, 2), negligible)
            half = window.chances[total // 2 - window.first :]
            tail = np.cumsum(half[::-1])[::-1]
            # Below the middle the excess grows by at most 1 for each step down.
            tail[0] = 1.0
            beyond.append(np.append(tail, 0.0))
            over.append(np.append(np.cumsum(tail[::-1])[::-1][1:], [0.0, 0.0]))
            self._lengths.append(len(half))
            self.outside = max(self.outside, window.outside)
        self._beyond, self._over = np.concatenate(beyond), np.concatenate(over)
        self._middles = sums // 2
        self._last = np.array(self._lengths)
        self._first = np.concatenate([[0], np.cumsum(self._last + 1)[:-1]])

    def excess(self, chosen: NDArray[np.int64], levels: Floats) -> Floats:
        """(m,) of the sums with the indices `chosen` (m,), over `levels` (m,)."""
        above = np.maximum(np.ceil(levels), self._middles[chosen])
        places = self._first[chosen] + np.minimum(above - self._middles[chosen], self._last[chosen]).astype(np.int64)
        return np.asarray((above - levels) * self._beyond[places] + self._over[places])


def _grid(first: int, last: int, values: int) -> NDArray[np.int64]:
    """From `first` to `last` in equal steps, about so many `values`."""
    return np.append(np.arange(first, last, max(1, (last - first) // values)), last)


def _exponential_below(nano: int) -> Fraction:
    """At most e^(nano·10⁻⁹), and at least 1."""
    return Fraction(exp_lower_bound(nano, _BITS), 1 << _BITS)


@dataclass(frozen=True, eq=False)
class Window:
    """`chances[i]` is at least P(X = first + i) but for rounding, `outside` at least the chance of all other values."""

    first: int
    chances: Floats
    outside: float

    @property
    def last(self) -> int:
        """The largest value in the window."""
        return self.first + len(self.chances) - 1


def binomial_window(trials: int, chance: Fraction, negligible: float) -> Window:
    """X ~ Bin(trials, chance) where it is likely: `outside` is about `negligible`, a number above 0 and below 1."""
    if trials == 0 or chance == 0:
        return Window(0, np.ones(1), 0.0)
    if chance == 1:
        return Window(trials, np.ones(1), 0.0)
    odds = float(chance / (1 - chance))
    mode = min(trials, math.floor((trials + 1) * chance))
    reach = _reach(trials * float(chance * (1 - chance)), negligible)
    low, high = max(0, mode - reach), min(trials, mode + reach)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    above = np.cumprod((trials - up) / (up + 1) * odds)
    below = np.cumprod(down / (trials - down + 1) / odds)
    weights = np.concatenate([below[::-1], np.ones(1), above])
    # The sum over the window is at most that over all values, so the quotients are at least the chances.
    chances = weights / weights.sum()
    last = _tail(chances[-1], float(trials - high) / (high + 1) * odds)
    first = _tail(chances[0], float(low) / (trials - low + 1) / odds)
    return Window(low, chances, (first + last) * ROUNDED_UP)


def _reach(variance: float, negligible: float) -> int:
    """Bernstein's inequality: beyond mean ± reach there is about the chance `negligible`."""
    log = math.log(2 / negligible)
    return math.ceil(log / 3 + math.sqrt(log**2 / 9 + 2 * log * variance)) + 1


def _tail(edge: float, ratio: float) -> float:
    """Σ of the chances beyond an edge: their ratios only fall, so a geometric series bounds them."""
    return 0.0 if ratio == 0 else math.inf if ratio >= 1 else edge * ratio / (1 - ratio)
