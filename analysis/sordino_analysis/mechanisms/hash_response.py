"""What a hashed level or a comb answers with: some labels e^ε times as often as the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.mechanisms.tuning import GRID_LEVELS, GridLevelsTuning


@dataclass(frozen=True)
class HashResponse:
    """`hits` of `labels` are answered with e^ε times the chance of the others."""

    hits: int
    labels: int
    epsilon: float

    @property
    def information(self) -> float:
        """s₀ = b²q(1 − q)/(1 + bq)² for q = hits/labels and b = e^ε − 1: at most sinh²(ε/2), at q = 1/(e^ε + 1)."""
        gain, density = math.expm1(self.epsilon), self.hits / self.labels
        return gain**2 * density * (1 - density) / (1 + gain * density) ** 2

    @property
    def low(self) -> float:
        """The chance of a label outside the set, relative to an even draw of all labels."""
        return 1 / (1 + math.expm1(self.epsilon) * self.hits / self.labels)

    @property
    def high(self) -> float:
        """The same of a label in the set."""
        return self.low * math.exp(self.epsilon)

    def level(self, width: int, *, hashed: bool) -> GridLevel:
        """The level of this response and width, of no chance yet."""
        return GridLevel(
            chance=0.0,
            width=width,
            labels=self.labels,
            hits=self.hits,
            high=self.high,
            low=self.low,
            hashed=hashed,
        )


def hash_response(epsilon: float, surplus: float = 1.0, tuning: GridLevelsTuning = GRID_LEVELS) -> HashResponse:
    """With as few bits a label as tell almost all that any density tells; `surplus` makes sets denser than that."""
    best = 1 / (1 + math.exp(epsilon) / surplus)
    for bits in range(1, GRID_LEVELS.largest_label_bits + 1):
        labels = 1 << bits
        response = HashResponse(min(labels - 1, max(1, round(best * labels))), labels, epsilon)
        if response.information >= tuning.hash_information * math.sinh(epsilon / 2) ** 2:
            break
    return response
