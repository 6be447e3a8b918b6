"""Estimates compared with the truth, which only a simulation has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.figures import only_unit
from sordino_shared.errors import InvalidValue

Ends = NDArray[np.float64]


@dataclass(frozen=True)
class JudgedEstimate:
    """What a kind of question says of an estimate beside the truth: fields for programs, lines for people.

    It `holds` unless a statement of the estimate is false.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[str] = ()
    holds: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class TruthComparison:
    """Q answers: truth, unbiased estimate, value, best guess, unit, (Q, 2) ends of the intervals and of the band.

    `estimate`, `value` and `best` are NaN where none was published; `interval` and `band` are None where the kind of
    question has none.
    """

    labels: tuple[str, ...]
    truth: NDArray[np.float64]
    estimate: NDArray[np.float64]
    value: NDArray[np.float64]
    best: NDArray[np.float64]
    units: tuple[str, ...]
    interval: Ends | None
    band: Ends | None

    @classmethod
    def of(cls, truth: Sequence[float], estimate: EstimateDocument) -> TruthComparison:
        """Of the true answers of all rows of the estimate's table.

        Raises InvalidValue where there are more or fewer of them.
        """
        if len(truth) != len(estimate.table):
            raise InvalidValue(f"{len(estimate.table)} answers came for {len(truth)} queries", len(truth))
        cells = estimate.table.cells
        value, uncut = (np.array(estimate.table.numbers(name)) for name in ("value", "uncut"))
        return cls(
            labels=tuple(map(str, cells("label"))),
            truth=np.array(truth, dtype=float),
            estimate=np.where(np.isnan(uncut), value, uncut),
            value=value,
            best=np.array(estimate.table.numbers("best"))
            if "best" in estimate.columns
            else np.full_like(value, np.nan),
            units=tuple(str(unit or "") for unit in cells("unit")),
            interval=_ends(estimate, ""),
            band=_ends(estimate, "band_"),
        )

    @property
    def inside(self) -> NDArray[np.bool_]:
        """(Q,) whether the truth lies in the interval of its own answer, or in the band where there is no interval."""
        ends = self.band if self.interval is None else self.interval
        assert ends is not None, "every kind states an interval or a band"
        return _holds(ends, self.truth)

    @property
    def interval_coverage(self) -> float | None:
        """Share of the answers whose interval holds the truth; None where they have none."""
        return None if self.interval is None else float(_holds(self.interval, self.truth).mean())

    @property
    def band_holds(self) -> bool | None:
        """Whether every answer's truth lies inside the simultaneous band; None where there is none."""
        return None if self.band is None else bool(_holds(self.band, self.truth).all())

    @property
    def max_abs_error(self) -> float | None:
        """Largest distance of an estimate from the truth; None where no value was published."""
        errors = self._errors
        return float(np.abs(errors).max()) if len(errors) else None

    @property
    def rms_error(self) -> float | None:
        """Root of the mean squared error over the answers of this one campaign."""
        errors = self._errors
        return float(np.sqrt(np.mean(errors**2))) if len(errors) else None

    @property
    def best_rms_error(self) -> float | None:
        """The same of the best guesses; None where there are none."""
        errors = self.best - self.truth
        known = errors[~np.isnan(errors)]
        return float(np.sqrt(np.mean(known**2))) if len(known) else None

    @property
    def _errors(self) -> NDArray[np.float64]:
        errors = self.estimate - self.truth
        return errors[~np.isnan(errors)]

    def document(self) -> dict[str, Any]:
        """The figures over all answers, and every answer with its truth, under the names of columns of answers."""
        return {
            "interval_coverage": self.interval_coverage,
            "band_holds": self.band_holds,
            "max_abs_error": self.max_abs_error,
            "rms_error": self.rms_error,
            "best_rms_error": self.best_rms_error,
            "answers": self._answers(),
        }

    def _answers(self) -> list[dict[str, Any]]:
        columns: dict[str, Sequence[Any]] = {
            "label": self.labels,
            "truth": self.truth.tolist(),
            "value": _plain(self.value),
            "uncut": _plain(self.estimate),
            "best": _plain(self.best),
        }
        for prefix, ends in (("", self.interval), ("band_", self.band)):
            if ends is not None:
                columns |= {f"{prefix}lower": ends[:, 0].tolist(), f"{prefix}upper": ends[:, 1].tolist()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def unit(self) -> str:
        """The one unit of all answers, "" where they have several."""
        return only_unit(self.units)

    def only(self, rows: Sequence[int]) -> TruthComparison:
        """The same for some of the answers."""
        chosen = list(rows)
        return TruthComparison(
            labels=tuple(self.labels[row] for row in chosen),
            truth=self.truth[chosen],
            estimate=self.estimate[chosen],
            value=self.value[chosen],
            best=self.best[chosen],
            units=tuple(self.units[row] for row in chosen),
            interval=None if self.interval is None else self.interval[chosen],
            band=None if self.band is None else self.band[chosen],
        )

    def spread(self, most: int) -> list[int]:
        """At most `most` rows: evenly spread, the first and the last among them."""
        count = len(self.truth)
        return sorted(set(np.linspace(0, count - 1, min(most, count)).round().astype(int).tolist()))


def _plain(numbers: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(number) else number for number in numbers.tolist()]


def _ends(estimate: EstimateDocument, prefix: str) -> Ends | None:
    names = [f"{prefix}{end}" for end in ("lower", "upper")]
    if names[0] not in estimate.columns:
        return None
    return np.column_stack([estimate.table.numbers(name) for name in names])


def _holds(ends: Ends, truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (ends[:, 0] <= truth) & (truth <= ends[:, 1])
