"""What the two classes of one rule look like on average, where every combination of indicators is as likely."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_shared.errors import InvalidValue

# A table of 2^16 cells is written out; a wider one is another class.
MOST_INVOLVED = 16


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """(k,) means of k ±1 indicators among those whom a rule says no and yes to; an indicator that is off counts −1.

    `error` bounds how far each mean is from the true one, 0 where they are exact.
    """

    negative: Floats
    positive: Floats
    error: float = 0.0

    @property
    def direction(self) -> Floats:
        """(k,) m₁ − m₀: for equal noise no other direction tells the classes apart as well."""
        return self.positive - self.negative

    @property
    def separation(self) -> float:
        """‖m₁ − m₀‖², less what errors of the means may take from it."""
        lost = 2 * self.error * math.sqrt(len(self.negative))
        return max(0.0, math.sqrt(float(self.direction @ self.direction)) - lost) ** 2


@dataclass(frozen=True)
class Literals:
    """A conjunction, or with `any_holds` a clause, over k indicators: each place with whether it is on."""

    indicators: int
    wanted: tuple[tuple[int, bool], ...]
    any_holds: bool = False

    def __post_init__(self) -> None:
        places = [place for place, _ in self.wanted]
        if not places or len(set(places)) < len(places):
            raise InvalidValue("a rule looks at one indicator at least, and at each of them once", self.wanted)
        if not all(0 <= place < self.indicators for place in places):
            raise InvalidValue(f"indicators are numbered 0 to {self.indicators - 1}", self.wanted)

    @classmethod
    def named(cls, names: tuple[str, ...], wanted: Mapping[str, bool], *, any_holds: bool = False) -> Literals:
        """By the names of the indicators; raises InvalidValue for one that there is not."""
        unknown = sorted(set(wanted) - set(names))
        if unknown:
            listed = ", ".join(names)[:1000]
            raise InvalidValue(f"there is no indicator {unknown[0]!r}; there are {listed}", wanted)
        return cls(len(names), tuple((names.index(name), on) for name, on in wanted.items()), any_holds)

    def means(self) -> ClassMeans:
        """Exact: m₁ − m₀ = ± 2^w/(2^w − 1) at the indicators that the rule looks at, and 0 elsewhere."""
        width = len(self.wanted)
        sure, rest = np.zeros(self.indicators), np.zeros(self.indicators)
        for place, on in self.wanted:
            sign = 1.0 if on != self.any_holds else -1.0
            sure[place], rest[place] = sign, -sign / (2**width - 1)
        return ClassMeans(sure, rest) if self.any_holds else ClassMeans(rest, sure)


def means_of_table(positive: Mask, places: tuple[int, ...], indicators: int) -> ClassMeans:
    """Of any rule by its answers (2^w,) over the cells of w of k indicators in C order, the last moving fastest.

    Raises InvalidValue for a rule that says the same of all, and for one that looks at more than 16 indicators.
    """
    if len(places) > MOST_INVOLVED or len(positive) != 2 ** len(places):
        raise InvalidValue(f"a table is over at most {MOST_INVOLVED} indicators, with an answer for each cell", places)
    _check_both_classes(positive)
    cells = np.array(list(product((-1.0, 1.0), repeat=len(places)))).reshape(len(positive), -1)
    negative_means, positive_means = np.zeros(indicators), np.zeros(indicators)
    negative_means[list(places)], positive_means[list(places)] = cells[~positive].mean(0), cells[positive].mean(0)
    return ClassMeans(negative_means, positive_means)


def sampled_means(signs: Floats, positive: Mask, failure: float) -> ClassMeans:
    """From n types (n, k) of ±1 drawn evenly, with the rule's answers (n,), where no closed form is at hand (§7).

    All means are within `error` with probability 1 − `failure` (Hoeffding, union bound). Raises InvalidValue where a
    class was not drawn.
    """
    _check_both_classes(positive)
    fewest = int(min(positive.sum(), len(positive) - positive.sum()))
    error = math.sqrt(2 * math.log(4 * signs.shape[1] / failure) / fewest)
    return ClassMeans(signs[~positive].mean(axis=0), signs[positive].mean(axis=0), error)


def _check_both_classes(positive: Mask) -> None:
    if positive.all() or not positive.any():
        raise InvalidValue("a rule that says the same of all users has no two classes: leave it out", positive)
