"""Losses of randomizers whose laws are in closed form: reports of two levels, and mixtures of them.

A report of a value is `high` times as likely as in the blanket for a share of the outputs, and `low` times for all
others. What tells two values apart is how large the share is that is high for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.shuffling.profile import LossLaw


@dataclass(frozen=True)
class TwoLevels:
    """Outputs of a uniform blanket of which a share is `ratio` times as likely as the others for any value.

    `overlap` is the share that is high for both of two values, at its least over pairs: moving mass into it makes
    E[(L − t)₊] smaller for every t, so the least one is the pair that is hardest to hide.
    """

    ratio: float
    share: float
    overlap: float

    def __post_init__(self) -> None:
        least = max(0.0, 2 * self.share - 1)
        if not (self.ratio > 1 and 0 < self.share < 1 and least - 1e-12 <= self.overlap <= self.share):
            raise InvalidValue("two levels need a ratio above 1, a share below 1 and an overlap that fits it", self)

    @property
    def levels(self) -> tuple[float, float]:
        """(high, low), the likelihoods relative to the blanket."""
        total = self.ratio * self.share + 1 - self.share
        return self.ratio / total, 1 / total

    def losses(self, power: float) -> list[tuple[float, float]]:
        """(value, chance) of the four kinds of report at `power` = e^ε; kinds of no chance are left out."""
        high, low = self.levels
        apart = self.share - self.overlap
        kinds = (
            (high - power * low, apart),
            (low - power * high, apart),
            (high * (1 - power), self.overlap),
            (low * (1 - power), 1 - 2 * self.share + self.overlap),
        )
        return [(value, chance) for value, chance in kinds if chance > 0]


def of_set(size: int, subset: int, ratio: float) -> TwoLevels:
    """Sets of `subset` of `size` members: a set with the value is `ratio` times as likely as one without it.

    With one member it is randomized response. Two values are both in a share s(s − 1)/(k(k − 1)) of the sets.
    """
    return TwoLevels(ratio, subset / size, subset * (subset - 1) / (size * (size - 1)))


def of_random_labels(members: int, labels: int, ratio: float) -> TwoLevels:
    """Labels of which those of two values are independent (`linear`, `field`): both are members with chance w²."""
    share = members / labels
    return TwoLevels(ratio, share, share * share)


def mixture(parts: Iterable[tuple[float, TwoLevels]], power: float) -> LossLaw:
    """The loss where the report says which part it is of; `parts` are (chance, levels), the chances summing to 1.

    Raises:
        InvalidValue: the chances do not sum to 1.
    """
    losses = [(value, chance * part) for chance, levels in parts for value, part in levels.losses(power)]
    if not math.isclose(math.fsum(chance for _, chance in losses), 1, abs_tol=1e-9):
        raise InvalidValue("the chances of a mixture do not sum to 1", losses)
    return losses
