"""Positions of numbers on paper, and round numbers for their labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """The affine map that takes `low` to `start` and `high` to `end`, in pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten in [low, high], as many as `most` allows."""
    least_step = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least_step))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least_step * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def room_for(ticks: Iterable[tuple[float, str]], scale: Scale, character: float = 7.0) -> list[tuple[float, str]]:
    """The ticks whose labels do not run into the label before; `character` is the width of one in pixels."""
    kept: list[tuple[float, str]] = []
    free_from = -math.inf
    for value, text in ticks:
        half = len(text) * character / 2
        if scale(value) - half >= free_from:
            kept.append((value, text))
            free_from = scale(value) + half + character
    return kept
