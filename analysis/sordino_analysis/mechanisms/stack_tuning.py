"""What levels of stacks trade, quality against time and bytes; the rest is in `tuning.py`.

`python -m benchmarks.tuning mechanisms` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.mechanisms.tuning import GridLevelsTuning


@dataclass(frozen=True, kw_only=True)
class StackLevelsTuning(GridLevelsTuning):
    """The same of a stack up to `exact_from`. Measured: `python -m benchmarks.tuning mechanisms.stack_levels`."""

    combs: int = 20
    """With this and the next 4,096 types have 1 % less variance on average, in 10 levels more."""
    ratio: float = 1.2
    """Of one period to the next."""
    narrow_gain: float = 1.07
    """The narrowest cells are drawn so many times as often: the mean loses .1 %, and the worst cell gains 4 %."""
    balancing_steps: int = 3
    """Designs after the first for the worst query, each with other weights of the parts: one takes a second."""
    balancing_power: float = 1.5
    """Of the ratio of a part's worst variance to that of all: larger ones overshoot."""


STACK_LEVELS = StackLevelsTuning()
