"""How far planning is, for people who wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A stage in words, the fraction of all work done, and the objective's least variance so far beside its bound.

    `variance` is None until a mechanism was found, `bound` until it was proved.
    """

    stage: str
    fraction: float
    variance: float | None = None
    bound: float | None = None

    @property
    def ratio(self) -> float | None:
        """Variance over lower bound, at least 1; None where either is missing or nothing above 0 was proved."""
        return self.variance / self.bound if self.variance is not None and self.bound else None


ProgressCallback = Callable[[Progress], None]
