"""Penalties of log densities θ of neighbouring cells: rough, not smooth, and full of steps.

They do not depend on the number of users or on ε, for what they say is about the users' values alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sordino_analysis.arrays import Floats

# A step below its root hardly counts as one.
_SOFT = 1e-4


@dataclass(frozen=True, eq=False)
class Penalty(ABC):
    """λ times a sum over neighbours among the first cells, whose `middles` (c,) are shares of the domain."""

    name: ClassVar[str]
    strengths: ClassVar[tuple[float, ...]]
    strength: float
    middles: Floats

    @abstractmethod
    def value(self, logs: Floats) -> float:
        """Of θ (m,), of which the first c are in order."""

    @abstractmethod
    def gradient(self, logs: Floats) -> Floats:
        """(m,)."""

    @abstractmethod
    def curvature(self, logs: Floats) -> Floats:
        """Second derivatives (m, m)."""

    def majorant(self, logs: Floats) -> Floats:
        """A curvature (m, m) whose steps never overshoot: its own, where the penalty is a square."""
        return self.curvature(logs)

    def _padded(self, matrix: Floats, size: int) -> Floats:
        whole = np.zeros((size, size))
        whole[: len(matrix), : len(matrix)] = matrix
        return whole


class _Square(Penalty):
    @property
    @abstractmethod
    def _form(self) -> Floats:
        """(c, c)."""

    def value(self, logs: Floats) -> float:
        inner = logs[: len(self.middles)]
        return float(inner @ self._form @ inner) / 2

    def gradient(self, logs: Floats) -> Floats:
        found = np.zeros_like(logs)
        found[: len(self.middles)] = self._form @ logs[: len(self.middles)]
        return found

    def curvature(self, logs: Floats) -> Floats:
        return self._padded(self._form, len(logs))


class Rough(_Square):
    """λ/2 Σ (θ_{c+1} − θ_c)²/gap: a density that wanders."""

    name = "rough"
    strengths = tuple(10.0 ** (-power / 2) for power in range(8))

    @cached_property
    def _form(self) -> Floats:
        steps = np.diff(np.eye(len(self.middles)), axis=0)
        return self.strength * steps.T @ (steps / np.diff(self.middles)[:, None])


class Smooth(_Square):
    """λ/2 Σ (slope_{c+1} − slope_c)²/mid: a density without bends."""

    name = "smooth"
    strengths = tuple(10.0**-power for power in range(2, 7))

    @cached_property
    def _form(self) -> Floats:
        gaps = np.diff(self.middles)
        slopes = np.diff(np.eye(len(self.middles)), axis=0) / gaps[:, None]
        bends = np.diff(slopes, axis=0)
        return self.strength * bends.T @ (bends / ((gaps[1:] + gaps[:-1]) / 2)[:, None])


class Steps(Penalty):
    """λ Σ √((θ_{c+1} − θ_c)² + 10⁻⁴): a density of spikes and jumps."""

    name = "steps"
    # From one step at most to a dozen, by factors of two: a penalty of 2.5 is half of χ²'s .975 quantile.
    strengths = tuple(10.0**power for power in (0.4, 0.1, -0.2, -0.5))

    def _lengths(self, logs: Floats) -> tuple[Floats, Floats]:
        steps = np.diff(logs[: len(self.middles)])
        return steps, np.sqrt(steps**2 + _SOFT)

    def value(self, logs: Floats) -> float:
        return self.strength * float(self._lengths(logs)[1].sum())

    def gradient(self, logs: Floats) -> Floats:
        steps, lengths = self._lengths(logs)
        found = np.zeros_like(logs)
        pulls = self.strength * steps / lengths
        found[1 : len(steps) + 1] += pulls
        found[: len(steps)] -= pulls
        return found

    def curvature(self, logs: Floats) -> Floats:
        return self._banded(_SOFT / self._lengths(logs)[1] ** 3, len(logs))

    def majorant(self, logs: Floats) -> Floats:
        return self._banded(1 / self._lengths(logs)[1], len(logs))

    def _banded(self, weights: Floats, size: int) -> Floats:
        whole, places = np.zeros((size, size)), np.arange(len(weights))
        whole[places, places] += self.strength * weights
        whole[places + 1, places + 1] += self.strength * weights
        whole[places, places + 1] = whole[places + 1, places] = -self.strength * weights
        return whole


PENALTIES: tuple[type[Penalty], ...] = (Rough, Smooth, Steps)
