"""What the strategies of a trusted curator, in integers trade, quality against time, memory or bytes.

`python -m benchmarks.tuning curator` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CharacterStrategyTuning:
    """Strategies of characters: `orbit_design.py`. Measured: `python -m benchmarks.tuning curator.characters`."""

    rounds: int = 40
    """Rounds of weights for the worst query at most."""
    worst_gap: float = 0.01
    """The standard error may be so much above the proved bound."""
    least_weight: float = 1e-4
    """No weight falls below it, relative to the mean, so that it can grow again."""
    least_share: float = 0.01
    """Distances of less weight than this share of an equal one are left out of the proof, unless that costs too
    much of it."""
    largest_loss: float = 1e-3
    """That is this much of it."""


@dataclass(frozen=True, kw_only=True)
class StrategyTuning:
    """Integers of a strategy: `strategy.py`. Measured: `python -m benchmarks.tuning curator.strategy`."""

    more_bits: tuple[int, ...] = (12, 16, 20, 24)
    """Bits of the integers beyond the exponent of the largest, tried in order: more lose less to rounding, and are
    more to send."""
    rounding_loss: float = 0.002
    """The standard error may be so much above that of the strategy before rounding."""
    most_pivots: int = 30
    """Nonnegative least squares takes about a pivot a column; it gives up at so many."""


@dataclass(frozen=True, kw_only=True)
class PureTuning:
    """Integers of strategies of pure ε: `pure_candidates.py`. Measured: `python -m benchmarks.curator guarantees`."""

    bits: int = 12
    """Bits of the integers: 10 lose .3 % of the standard error to rounding."""
    scale_bits: int = 44
    """Bits of the numerator of a scale: it is rounded up to so many."""


CHARACTERS = CharacterStrategyTuning()
STRATEGY = StrategyTuning()
PURE = PureTuning()
