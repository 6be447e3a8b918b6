"""A plan of one bit, and series of it whose reports are drawn through their exact law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.evaluation.accumulator_moments import response_moments


class Bits:
    """One bit at ε = 1 by randomised response; a report is 1 with chance `own` or `other`."""

    def __init__(self) -> None:
        self.plan = sa.plan(sa.histogram(2), epsilon=1, mechanism="randomized_response")
        law = response_moments(self.plan.device.randomizer)  # type: ignore[arg-type]
        self.own, self.other = float(law.own), float(law.other)

    def reported(self, reporters: int, holding: int, rng: np.random.Generator) -> sa.Aggregate:
        """The aggregate of so many reporters of whom `holding` hold type 0."""
        zeros = rng.binomial(holding, self.own) + rng.binomial(reporters - holding, self.other)
        return sa.Aggregate(reporters, np.array([zeros, reporters - zeros], dtype=np.int64))

    def series(self, periods: Mapping[int, sa.Aggregate], slots: int = 30) -> sa.SeriesEstimates:
        return sa.series(self.plan, periods, slots=slots)


@pytest.fixture(scope="session")
def bits() -> Bits:
    return Bits()
