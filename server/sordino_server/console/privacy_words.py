"""What an ε does, in words: how often a yes or no would be true, and by what factor odds change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sordino_analysis.figures import chosen, figure

# Above it a device hides little.
WEAK_FROM = 2.0
_FIRST = {0.25: "Very private.", 0.5: "Private.", 1.0: "The usual choice.", 2.0: "Less private."}
# e^700 is the largest power of e below the largest float.
_LARGEST = 700.0


def odds_of(epsilon: float) -> float:
    """By what factor one report changes odds at most: e^ε."""
    return math.exp(min(epsilon, _LARGEST))


def true_of_100(epsilon: float) -> int:
    """How many of 100 yes-or-no answers are true: 100·e^ε/(1 + e^ε), rounded down, and 99 at most."""
    return min(99, math.floor(100 / (1 + 1 / odds_of(epsilon))))


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A stop of the slider of ε."""

    epsilon: str
    words: str
    weak: bool


def stop(epsilon: str) -> Stop:
    """One stop, with what it does."""
    value = float(epsilon)
    weak = value > WEAK_FROM
    first = "Weak." if weak else _FIRST.get(value, "")
    return Stop(
        epsilon=chosen(value),
        words=f"{first} A yes-or-no answer would be true {true_of_100(value)} times in 100. One report changes the "
        f"odds of what its owner holds by a factor of {figure(odds_of(value), 2)} at most.",
        weak=weak,
    )
