"""How far estimated losses, and differences of two of them, may be off at a level: for many reports, and for few."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.concept_errors import ConceptErrors, LossQuantiles
from sordino_analysis.estimation.intervals import independent_quantile
from sordino_shared.quantities import quantity

# With fewer reports for each character the far tails of losses are visibly heavier than normal ones: with 16 a normal
# band of the 4,994 rules of 16 indicators and width 3 holds in .941, with 32 in .944.
NORMAL_FROM = 32


@dataclass(frozen=True, eq=False)
class RuleReaches(ABC):
    """What errors of all losses stay within at once, at `level`, and those of the differences that the best rule has.

    Both are in units of losses, without a bias.
    """

    errors: ConceptErrors
    users: int
    level: float

    @abstractmethod
    def of_losses(self, losses: Floats) -> Floats:
        """(Q,) for all losses at once, by the estimated ones (Q,)."""

    @abstractmethod
    def of_differences(self, rule: int) -> Floats:
        """(Q,) what the error of each rule c less that of `rule` is at most, for all `rule` at once if c is the best.

        It is 0 where reports tell nothing of the difference.
        """

    @property
    def doubts(self) -> tuple[str, ...]:
        """Sentences about what so few reports leave open."""
        return ()


class NormalReaches(RuleReaches):
    """Of normal errors: the band is Šidák's."""

    def of_losses(self, losses: Floats) -> Floats:
        return independent_quantile(self.level, len(losses)) * self.errors.standard(losses, self.users)

    def of_differences(self, rule: int) -> Floats:
        return self._quantiles * self.errors.differences(rule, self.users)

    @cached_property
    def _quantiles(self) -> Floats:
        return self.errors.quantile(self.level)


@dataclass(frozen=True, eq=False)
class DrawnReaches(RuleReaches):
    """By `quantiles` of the law of so many reports, for errors in units of √(m/users) whatever the estimates are."""

    quantiles: LossQuantiles

    def of_losses(self, losses: Floats) -> Floats:
        return np.asarray(self.quantiles.band * np.sqrt(self.errors.second_moments / self.users))

    def of_differences(self, rule: int) -> Floats:
        return self.quantiles.best * self.errors.differences(rule, self.users)


@dataclass(frozen=True, eq=False)
class BernsteinReaches(RuleReaches):
    """For any number of reports, by Bernstein's inequality for each loss: `widths` (Q,) of contributions bound them."""

    widths: Floats

    def of_losses(self, losses: Floats) -> Floats:
        return bernstein_reach(
            self.errors.second_moments, self.widths, self.users, (1 - self.level) / (2 * len(losses))
        )

    def of_differences(self, rule: int) -> Floats:
        spread = self.errors.differences(rule, self.users)
        tail = (1 - self.level) / max(1, len(spread) - 1)
        reach = bernstein_reach(spread**2 * self.users, self.widths + self.widths[rule], self.users, tail)
        return np.where(spread > 0, reach, 0.0)

    @property
    def doubts(self) -> tuple[str, ...]:
        count, parts = self.errors.parts
        needed = f"the {count} {parts}" if self.users < count else f"{NORMAL_FROM} for each of the {count} {parts}"
        return (
            f"with {quantity(self.users, 'report')}, fewer than {needed} that rules need, the normal approximation "
            "does not hold: band, set and excess are Bernstein's, which hold for any number of reports and are wide",
        )


def rule_reaches(errors: ConceptErrors, users: int, level: float, widths: Callable[[], Floats]) -> RuleReaches:
    """Normal ones of many reports; of few those of their law where it can be drawn from, and Bernstein's otherwise.

    With fewer reports than characters some were told by nobody, and Bernstein's are taken. `widths` gives (Q,) the
    largest contribution of a report to each loss less the least.
    """
    if users >= NORMAL_FROM * errors.parts[0]:
        return NormalReaches(errors, users, level)
    drawn = errors.of_few(users, level) if users >= errors.parts[0] else None
    if drawn is None:
        return BernsteinReaches(errors, users, level, widths())
    return DrawnReaches(errors, users, level, drawn)


def bernstein_reach(second_moments: Floats, widths: Floats, users: int, tail: float) -> Floats:
    """(Q,) what means of `users` contributions exceed their expectation by with chance `tail` at most (Bernstein).

    `second_moments` (Q,) bound the variances, `widths` (Q,) how far contributions lie apart.
    """
    odds = math.log(1 / tail)
    return np.asarray(np.sqrt(2 * second_moments * odds / users) + widths * odds / (3 * users))
