"""(ε, δ) of local reports for anyone who sees them only as a multiset: never below what is true.

It is derived from ε₀, which the device proves and spends all the same. It protects from readers of published counts,
whose operator is trusted, or from a server behind a separate shuffler that strips ids, addresses and order. It says
nothing about a server that takes reports from devices itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sordino_analysis.guarantees.approximate import Approximate, check_delta
from sordino_analysis.guarantees.clones import Clones, ShuffledReports
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

# The share of δ that chances outside of all sums may take.
_LEFT_OUT = 1e-5
# ε is decided to this part of itself.
_PRECISION_BITS = 17
# The search for a number of honest reports ends here.
_MOST_HONEST = 10**9
# Of the reports: privacy is stated for one fake report in ten.
FAKE_SHARE = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """(ε, δ) of every user in a multiset with the reports of `honest` devices or more, each of them ε₀-private.

    Derived, for people to read: it is never added up and no ledger keeps it. Where shuffling proves nothing better it
    is the local guarantee, and δ is not used.
    """

    kind: ClassVar[str] = "shuffled"
    local: PureEpsilon
    nano_epsilon: int
    delta: Fraction
    honest: int

    @property
    def amplified(self) -> bool:
        """Whether ε is below ε₀."""
        return self.nano_epsilon < self.local.nano

    @property
    def epsilon(self) -> float:
        """ε as a float, for display only."""
        return PureEpsilon(self.nano_epsilon).epsilon

    def __str__(self) -> str:
        """`ε = 0.05 at δ = 1e-06`, or `ε = 1` where shuffling proves nothing better."""
        return str(Approximate(self.nano_epsilon, self.delta)) if self.amplified else str(self.local)


def honest_floor(reports: int, fake: Fraction = FAKE_SHARE) -> int:
    """Honest devices among so many counted reports, if at most the share `fake` of them is not: rounded down.

    A server cannot count honest devices, so the share is stated before. Raises InvalidValue for a share outside [0, 1).
    """
    if not 0 <= fake < 1:
        raise InvalidValue(f"the share of fake reports must be from 0 to below 1, got {float(fake):g}", fake)
    return math.floor(reports * (1 - fake))


def shuffled_of(local: PureEpsilon, clones: Sequence[Clones], honest: int, delta: Fraction) -> Shuffled:
    """The least ε found that is proved at this δ for every two values, each pair of which is one of the `clones`.

    The first of them should be the worst. Raises InvalidValue for a δ outside [10⁻¹⁵, 1).
    """
    check_delta(delta)
    found = 0 if clones else -1
    for kind in clones if honest >= 1 else ():
        if found and _reports(kind, honest, delta, coarse=True).delta(found) <= delta:
            continue
        found = _least(_reports(kind, honest, delta), found, local.nano, delta)
    spent = local.nano if honest < 1 else min(local.nano, max(found, 0))
    return Shuffled(local=local, nano_epsilon=spent, delta=delta, honest=honest)


def honest_needed(clones: Sequence[Clones], nano_epsilon: int, delta: Fraction) -> int:
    """The least number of honest devices found whose reports, shuffled, are proved (ε, δ)-private; within .1 %.

    Raises InvalidValue for a δ outside [10⁻¹⁵, 1), and where 10⁹ devices do not suffice.
    """
    check_delta(delta)
    found = 1
    for kind in clones:
        if _reports(kind, found, delta, coarse=True).delta(nano_epsilon) > delta:
            found = _least_honest(kind, found, nano_epsilon, delta)
    return found


def _least_honest(clones: Clones, low: int, nano_epsilon: int, delta: Fraction) -> int:
    """The same of one kind, of at least `low`."""
    return least_count(lambda honest: _reports(clones, honest, delta).delta(nano_epsilon), low, delta)


def least_count(delta_of: Callable[[int], float], low: int, delta: Fraction) -> int:
    """The least count found, of at least `low` and within .1 %, whose δ is at most `delta`.

    `delta_of` falls; ln δ falls about in proportion to the count. Raises InvalidValue where 10⁹ do not suffice.
    """
    goal = math.log(delta)

    def excess(count: int) -> float:
        found = delta_of(count)
        return math.log(found) - goal if found > 0 else -math.inf

    high, above = low, excess(low)
    if above <= 0:
        return low
    below = above
    while below > 0:
        low, above, high = high, below, 2 * high
        if high > _MOST_HONEST:
            raise InvalidValue("more than 10^9 reports are needed to hide one of them: allow a larger ε", high)
        below = excess(high)
    halve = False
    while high - low > max(1, high >> 10):
        share = 0.5 if halve or math.isinf(below) else above / (above - below)
        middle = min(high - 1, max(low + 1, low + math.ceil((high - low) * share) + (high >> 11)))
        found, halve = excess(middle), not halve
        if found <= 0:
            high, below = middle, found
        else:
            low, above = middle, found
    return high


def _reports(clones: Clones, honest: int, delta: Fraction, coarse: bool = False) -> ShuffledReports:
    return ShuffledReports(clones, honest, float(delta) * _LEFT_OUT / float(clones.most_likely), coarse)


def _least(reports: ShuffledReports, low: int, high: int, delta: Fraction) -> int:
    """The least nano-ε of at least `low` and at most `high` whose δ is proved to be at most `delta`, else `high`."""
    if reports.delta(low) <= delta:
        return low
    while high - low > max(1, high >> _PRECISION_BITS):
        middle = (low + high) // 2
        if reports.delta(middle) <= delta:
            high = middle
        else:
            low = middle
    return high
