"""What a series says of some periods: of one, of a window of several, of the change between two windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats

# The errors of fewer reports are not normal enough for an interval.
LEAST_REPORTS = 30

# What weighs the periods of a window: their reports, or all periods the same.
By = Literal["reports", "periods"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PeriodAnswers:
    """Answers (Q,) about the periods `first` … `last`, of which those in `periods` have reports.

    `standard_error` (Q,) is about the devices that reported, `population_standard_error` (Q,) about what `target`
    names, of which they are a sample. `interval` and `population_interval` (Q, 2) are None where the reports are too
    few. The `band` (Q, 2) of a point of a chart holds, for one query, all points at once; answers alone have none.
    """

    first: int
    last: int
    periods: tuple[int, ...]
    reports: int
    target: str
    value: Floats
    standard_error: Floats
    population_standard_error: Floats
    interval: Floats | None
    population_interval: Floats | None
    band: Floats | None

    @property
    def missing(self) -> int:
        """How many of the periods have no reports."""
        return self.last - self.first + 1 - len(self.periods)


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """Answers (Q,) of the window `later` less those of the window `earlier`, each (first, last).

    `interval` (Q, 2) is None where the reports are too few. `marked` (Q,) says which changes differ from 0 though
    `comparisons` of them were made.
    """

    earlier: tuple[int, int]
    later: tuple[int, int]
    value: Floats
    standard_error: Floats
    population_standard_error: Floats
    interval: Floats | None
    comparisons: int
    marked: NDArray[np.bool_]


def target_of(first: int, last: int, by: By) -> str:
    """Whom an estimate is about, in words."""
    if first == last:
        return f"devices active in period {first}"
    if by == "reports":
        return f"active device-periods of periods {first} to {last}"
    return f"mean over periods {first} to {last} of the devices active in each"
