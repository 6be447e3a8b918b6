"""Counts of events whose chances are known exactly, and how unlikely the least likely of them is.

A count of n independent draws is binomial, so that the chance of a count as extreme is exact: no approximation for
large numbers is made, and an event that cannot happen is noticed once it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

# Above this many payloads most are never seen, and counts of what they have in common say more.
MOST_LISTED = 4096


@dataclass(frozen=True, eq=False)
class Counts:
    """`counts` (m,) of m events among `trials` draws, with the exact `chances` (m,) that the law gives them.

    `trials` is one number, or (m,) where events have draws of their own. `label` names event i in words.
    """

    trials: int | NDArray[np.int64]
    counts: NDArray[np.int64]
    chances: NDArray[np.float64]
    label: Callable[[int], str]

    def worst(self) -> tuple[float, str]:
        """(p, what was seen): the smallest chance of a count so far off, times the number of events."""
        chances, trials = np.clip(self.chances, 0.0, 1.0), np.broadcast_to(self.trials, self.counts.shape)
        tails = self._tails(trials, chances)
        event = int(np.argmin(tails))
        seen = f"{self.label(event)} {self.counts[event]} times in {trials[event]}"
        expected = trials[event] * float(chances[event])
        return min(1.0, float(tails[event]) * len(tails)), f"{seen}, the law expects {expected:.6g}"

    def _tails(self, trials: NDArray[np.int64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,) by two sides."""
        below, above = binom.cdf(self.counts, trials, chances), binom.sf(self.counts - 1, trials, chances)
        return np.asarray(2 * np.minimum(below, above))


@dataclass(frozen=True, eq=False)
class BoundedCounts(Counts):
    """Counts whose `chances` are upper bounds: only more than they allow speaks against the law."""

    def _tails(self, trials: NDArray[np.int64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(binom.sf(self.counts - 1, trials, chances))


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


def in_order(outcomes: NDArray[np.int64], choices: int, what: str) -> Iterable[Counts]:
    """How often each of equally likely numbers came, and how often one below each.

    The second shows the rest of a random byte, which is likelier for all small numbers and hardly so for any of them.
    `outcomes` (n,) are the numbers.
    """
    yield from partition(outcomes, np.full(choices, 1 / choices).tolist(), what, str)
    if choices > 2:
        below = np.cumsum(np.bincount(outcomes, minlength=choices))[:-1].astype(np.int64)
        chances = np.arange(1, choices) / choices
        yield Counts(len(outcomes), below, chances, lambda event: f"{what} was {event} or less,")


def types_looked_at(size: int, own: int, most: int) -> list[int]:
    """The device's own value first, then up to `most` − 1 others: all there are, or evenly spread ones."""
    others = range(1, size) if size <= most else (step * size // most for step in range(1, most))
    return [own, *((own + other) % size for other in others)]
