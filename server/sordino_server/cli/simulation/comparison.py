"""Estimates compared with the truth, which only a simulation has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.figures import only_unit
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, kw_only=True)
class TruthComparison:
    """Q answers: truth, unbiased estimate, the value shown and its unit, ends of the intervals and of the band."""

    labels: tuple[str, ...]
    truth: NDArray[np.float64]
    estimate: NDArray[np.float64]
    value: NDArray[np.float64]
    units: tuple[str, ...]
    interval: NDArray[np.float64]
    band: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.truth) != len(self.estimate):
            raise InvalidValue(f"{len(self.estimate)} answers came for {len(self.truth)} queries", len(self.estimate))

    @classmethod
    def of(cls, truth: NDArray[np.float64], queries: Sequence[Mapping[str, Any]]) -> TruthComparison:
        """From the `queries` of an estimates document, in the workload's order."""
        return cls(
            labels=tuple(str(query["label"]) for query in queries),
            truth=truth,
            estimate=np.array([query["uncut"] for query in queries], dtype=float),
            value=np.array([query["value"] for query in queries], dtype=float),
            units=tuple(str(query["unit"]) for query in queries),
            interval=np.array([query["interval"] for query in queries], dtype=float),
            band=np.array([query["band"] for query in queries], dtype=float),
        )

    @property
    def inside(self) -> NDArray[np.bool_]:
        """(Q,) whether the truth lies in the interval of its own query."""
        return (self.interval[:, 0] <= self.truth) & (self.truth <= self.interval[:, 1])

    @property
    def interval_coverage(self) -> float:
        """Share of the queries whose interval holds the truth."""
        return float(self.inside.mean())

    @property
    def band_holds(self) -> bool:
        """Whether every answer's truth lies inside the simultaneous band."""
        return bool(((self.band[:, 0] <= self.truth) & (self.truth <= self.band[:, 1])).all())

    @property
    def max_abs_error(self) -> float:
        """Largest distance of an estimate from the truth."""
        return float(np.abs(self.estimate - self.truth).max())

    @property
    def rms_error(self) -> float:
        """Root of the mean squared error over the queries of this one campaign."""
        return float(np.sqrt(np.mean((self.estimate - self.truth) ** 2)))

    def answers(self) -> list[dict[str, Any]]:
        """Every answer with its truth, under the names of an estimates document."""
        columns = (self.truth, self.value, self.estimate, self.interval, self.band)
        rows = zip(self.labels, *(column.tolist() for column in columns), strict=True)
        return [dict(zip(("label", "truth", "value", "uncut", "interval", "band"), row, strict=True)) for row in rows]

    @property
    def unit(self) -> str:
        """The one unit of all answers, "" where they have several."""
        return only_unit(self.units)

    def only(self, queries: Sequence[int]) -> TruthComparison:
        """The same for some of the queries."""
        chosen = list(queries)
        labels = tuple(self.labels[query] for query in chosen)
        return TruthComparison(
            labels=labels,
            truth=self.truth[chosen],
            estimate=self.estimate[chosen],
            value=self.value[chosen],
            units=tuple(self.units[query] for query in chosen),
            interval=self.interval[chosen],
            band=self.band[chosen],
        )

    def shown(self, most: int) -> list[int]:
        """At most `most` queries to print: evenly spread, the first and the last among them."""
        count = len(self.truth)
        return sorted(set(np.linspace(0, count - 1, min(most, count)).round().astype(int).tolist()))
