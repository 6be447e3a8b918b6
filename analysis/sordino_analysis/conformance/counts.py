"""Counts of events whose chances are known exactly, and how unlikely the least likely of them is.

A count of n independent draws is binomial, so that the chance of a count as extreme is exact: no approximation for
large numbers is made, and an event that cannot happen is noticed once it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom


@dataclass(frozen=True, eq=False)
class Counts:
    """`counts` (m,) of m events among `trials` draws, with the exact `chances` (m,) that the law gives them.

    `label` names event i in words.
    """

    trials: int
    counts: NDArray[np.int64]
    chances: NDArray[np.float64]
    label: Callable[[int], str]

    def worst(self) -> tuple[float, str]:
        """(p, what was seen): the smallest two-sided chance of a count so far off, times the number of events."""
        chances = np.clip(self.chances, 0.0, 1.0)
        below = binom.cdf(self.counts, self.trials, chances)
        above = binom.sf(self.counts - 1, self.trials, chances)
        tails = 2 * np.minimum(below, above)
        event = int(np.argmin(tails))
        seen = f"{self.label(event)} {self.counts[event]} times in {self.trials}"
        expected = self.trials * float(chances[event])
        return min(1.0, float(tails[event]) * len(tails)), f"{seen}, the law expects {expected:.6g}"


def partition(
    outcomes: NDArray[np.int64], chances: Sequence[float], what: str, name: Callable[[int], str], twice: str = ""
) -> list[Counts]:
    """How often each outcome came, and how often one came twice in a row.

    The second is over the disjoint pairs (0, 1), (2, 3), …, which are independent: a generator that is stuck or reused
    shows there though each outcome comes as often as it should. `twice` says so in words of its own.
    """
    law = np.asarray(chances, dtype=np.float64)
    pairs = outcomes[: len(outcomes) // 2 * 2].reshape(-1, 2)
    equal = np.array([np.count_nonzero(pairs[:, 0] == pairs[:, 1])])
    counted = np.bincount(outcomes, minlength=len(law)).astype(np.int64)
    return [
        Counts(len(outcomes), counted, law, lambda event: f"{what} was {name(event)}"),
        Counts(len(pairs), equal, np.array([law @ law]), lambda _: twice or f"{what} came twice in a row"),
    ]


def share(happened: NDArray[np.bool_], chance: float, what: str) -> list[Counts]:
    """How often one event happened, and how often it went alike twice in a row.

    `happened` (n,), one entry per report.
    """
    names = (f"not {what}", what)
    twice = f"two successive reports were both {what}, or both not,"
    return partition(happened.astype(np.int64), (1 - chance, chance), "a report", lambda event: names[event], twice)
