"""Joint optimisation of kernel and decoder by L-BFGS with continuation, then snapping to the extreme rows.

Every ε-LDP kernel is a mixture of rows in {1, e^ε}^k; the search moves soft rows between the two levels, sharpens them
phase by phase, and ends with rows that are exactly at a level, whose weights and decoder are optimised once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from sordino_server.design.arrays import Floats, Mask
from sordino_server.design.factorization import Objective
from sordino_server.design.search.balanced_rows import balance, balanced_weights
from sordino_server.design.search.descent import Objectives, Point, descend
from sordino_server.design.search.objectives import (
    AveragedVariance,
    SoftMaximum,
    gls_decoder,
    variances,
)
from sordino_server.design.search.starts import Start, begin, portfolio

Progress = Callable[[float, float], None]


class Effort(StrEnum):
    """How long the search may take before it is satisfied."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


@dataclass(frozen=True)
class Schedule:
    """Phases of `evaluations` each; sharpness and row-weight floor move geometrically from first to last."""

    phases: int
    evaluations: int
    rows_per_type: int
    first_sharpness: float = 8.0
    last_sharpness: float = 400.0
    first_floor: float = 0.95
    last_floor: float = 0.1

    def sharpness(self, phase: int) -> float:
        return self._between(self.first_sharpness, self.last_sharpness, phase)

    def floor(self, phase: int) -> float:
        return self._between(self.first_floor, self.last_floor, phase)

    def _between(self, first: float, last: float, phase: int) -> float:
        return float(first * (last / first) ** (phase / max(1, self.phases - 1)))


_SCHEDULES = {
    Effort.QUICK: Schedule(3, 40, 6),
    Effort.STANDARD: Schedule(6, 70, 8),
    Effort.THOROUGH: Schedule(8, 110, 12),
}
_TRIAL = Schedule(3, 25, 4)
# With weight on single types the codebook's weights must be free to fall from the start.
_SINGLES_FLOORS = (0.05, 0.01)
_SHARPEN = 1.3
_LARGEST_TABLE = 1 << 21
# At a handful of types rows cost nothing, and too few of them miss the optimum's support.
_FEWEST_ROWS = 256


@dataclass(frozen=True, eq=False)
class KernelDesign:
    """Rows low[y]·{1, e^ε}: `members` (m, k) are at the upper level; columns sum to one.

    `decoder` (Q, m) is unbiased for the W that was searched for; `type_weights` are the π it was found under.
    """

    members: Mask
    low: Floats
    decoder: Floats
    type_weights: Floats
    max_variance: float
    mean_variance: float


def search_kernel(
    matrix: Floats,
    epsilon: float,
    objective: Objective,
    right: Floats,
    type_weights: Floats,
    *,
    effort: Effort = Effort.STANDARD,
    seed: int = 0,
    deadline: float | None = None,
    progress: Progress = lambda fraction, variance: None,
) -> KernelDesign:
    """The best kernel found for W (Q, k), whose rows vary, with its decoder; deterministic for a seed.

    `right` (r, k) and `type_weights` (k,) come from the centred factorization for the objective. `deadline` is on
    `time.monotonic`; past it the phase at hand is the last one. `progress` gets the fraction done and the variance.
    """
    search = _Search(matrix, epsilon, objective, type_weights, deadline)
    schedule = _fitted(_SCHEDULES[effort], matrix.shape[1])
    start = search.best_start(right, seed, schedule)
    point = search.begin(start, right, seed, schedule)
    for phase in range(schedule.phases):
        point = search.phase(point, schedule, phase, start)
        progress((phase + 1) / (schedule.phases + 1), search.worst(point))
        if search.late:
            break
    design = search.snap(point, schedule)
    progress(1.0, design.max_variance if objective == "max" else design.mean_variance)
    return design


def _fitted(schedule: Schedule, types: int) -> Schedule:
    """Fewer rows a type where the table would not fit: four a type cost 2 to 11 % against sixteen."""
    affordable = max(2, _LARGEST_TABLE // (2 * types * types))
    return replace(schedule, rows_per_type=max(2, min(schedule.rows_per_type, affordable)))


class _Search:
    def __init__(
        self, matrix: Floats, epsilon: float, objective: Objective, type_weights: Floats, deadline: float | None
    ) -> None:
        self.matrix = matrix
        self.epsilon = epsilon
        self.objective = objective
        self.type_weights = type_weights / type_weights.sum()
        self.deadline = deadline
        self.queries, self.types = matrix.shape
        self.gram = matrix.T @ matrix / self.queries
        self.second_moments = (matrix * matrix).mean(axis=0)

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def best_start(self, right: Floats, seed: int, schedule: Schedule) -> Start:
        """The start whose short run ends lowest."""
        starts = portfolio(self.epsilon)
        trial = replace(_TRIAL, rows_per_type=min(_TRIAL.rows_per_type, schedule.rows_per_type))
        scores = [self._trial(start, right, seed, trial) for start in starts]
        return starts[int(np.argmin(scores))]

    def _trial(self, start: Start, right: Floats, seed: int, schedule: Schedule) -> float:
        if self.late:
            return np.inf
        try:
            point = self.begin(start, right, seed, schedule)
            for phase in range(schedule.phases):
                point = self.phase(point, schedule, phase, start)
        except (ValueError, np.linalg.LinAlgError):
            return np.inf
        return self.worst(point)

    def begin(self, start: Start, right: Floats, seed: int, schedule: Schedule) -> Point:
        generator = np.random.Generator(np.random.PCG64(seed))
        logits, weights = begin(
            start, right, self.epsilon, max(_FEWEST_ROWS, schedule.rows_per_type * self.types), generator
        )
        point = Point(logits / _SHARPEN, weights, None, self.type_weights)
        return replace(point, free=self._gls(self._kernel(point), point) if self.objective == "max" else None)

    def phase(self, point: Point, schedule: Schedule, phase: int, start: Start) -> Point:
        """Sharpen, then descend under this phase's sharpness and floor."""
        if start.singles > 0:
            schedule = replace(schedule, first_floor=_SINGLES_FLOORS[0], last_floor=_SINGLES_FLOORS[1])
        floor = schedule.floor(phase) * float(point.weights.mean())
        logits = point.logits * _SHARPEN
        levels = balance(logits, point.weights, self.epsilon).levels
        weights = balanced_weights(levels, np.maximum(point.weights, floor))
        point = self._unbiased(replace(point, logits=logits, weights=weights))
        point = self._descend(point, schedule.sharpness(phase), floor, schedule.evaluations, rows_move=True)
        return self._reweighted(point)

    def worst(self, point: Point) -> float:
        """The variance that the objective speaks of."""
        variance = variances(self._kernel(point), self._decoder(point), self.matrix)
        return float(variance.max() if self.objective == "max" else variance.mean(axis=0).max())

    def snap(self, point: Point, schedule: Schedule) -> KernelDesign:
        """Rows to their nearest levels, equal rows merged, weights and decoder optimised for the rows as they are."""
        members = point.logits > 0
        members, weights = _merged(members, point.weights)
        logits = np.where(members, np.inf, -np.inf)
        levels = balance(logits, weights, self.epsilon).levels
        weights = balanced_weights(levels, weights)
        point = replace(point, logits=logits, weights=weights, free=None)
        if self.objective == "max":
            point = replace(point, free=self._gls(self._kernel(point), point))
        for phase in range(2 if self.objective == "max" else 3):
            sharpness = schedule.last_sharpness * (0.25 if phase == 0 else 1.0)
            point = self._descend(point, sharpness, 0.0, 2 * schedule.evaluations, rows_move=False)
            point = self._reweighted(point)
        decoder = self._decoder(point)
        variance = variances(self._kernel(point), decoder, self.matrix)
        return KernelDesign(
            members,
            point.weights,
            decoder,
            point.type_weights,
            float(variance.max()),
            float(variance.mean(axis=0).max()),
        )

    def _kernel(self, point: Point) -> Floats:
        return np.asarray(point.weights[:, None] * balance(point.logits, point.weights, self.epsilon).levels)

    def _gls(self, kernel: Floats, point: Point) -> Floats:
        return gls_decoder(kernel, self.matrix, point.type_weights)

    def _decoder(self, point: Point) -> Floats:
        kernel = self._kernel(point)
        if point.free is None:
            return self._gls(kernel, point)
        correction = gls_decoder(kernel, self.matrix - point.free @ kernel, point.type_weights)
        return np.asarray(point.free + correction)

    def _unbiased(self, point: Point) -> Point:
        return point if point.free is None else replace(point, free=self._decoder(point))

    def _reweighted(self, point: Point) -> Point:
        """For the mean, more weight on the types whose averaged variance is above the others'."""
        if self.objective == "max":
            return self._unbiased(point)
        by_type = variances(self._kernel(point), self._decoder(point), self.matrix).mean(axis=0)
        weights = point.type_weights * np.maximum(by_type, 1e-300) / by_type.max()
        return replace(point, type_weights=weights / weights.sum())

    def _descend(self, point: Point, sharpness: float, floor: float, evaluations: int, *, rows_move: bool) -> Point:
        evaluate: Objectives
        if point.free is None:
            evaluate = AveragedVariance(self.gram, self.second_moments, point.type_weights)
        else:
            evaluate = SoftMaximum(self.matrix, point.type_weights, self.worst(point), sharpness)
        return descend(point, evaluate, self.epsilon, floor, evaluations, rows_move=rows_move)


def _merged(members: Mask, weights: Floats) -> tuple[Mask, Floats]:
    """Equal rows become one with the sum of their weights; rows that do not tell types apart join in one."""
    constant = members.all(axis=1)
    members = members & ~constant[:, None]
    unique, inverse = np.unique(np.packbits(members, axis=1), axis=0, return_inverse=True)
    merged = np.zeros(len(unique))
    np.add.at(merged, inverse.ravel(), weights)
    distinct: Mask = np.unpackbits(unique, axis=1)[:, : members.shape[1]] == 1
    return distinct, merged
