"""Joint optimisation of kernel and decoder by L-BFGS with continuation, then rounding to staircase rows.

Every ε-LDP kernel is a mixture of staircase rows; the search moves soft rows between the two levels, sharpens them
phase by phase, and ends with rows that are exactly at a level, whose weights and decoder are optimised once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.bounds.thresholds import find_thresholds
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.optimisation.factorization import Factorization
from sordino_analysis.optimisation.search.balanced_rows import balance, balanced_weights
from sordino_analysis.optimisation.search.column_generation import MOST_TYPES, WeightedRows, generate_columns
from sordino_analysis.optimisation.search.descent import Point
from sordino_analysis.optimisation.search.images import NO_IMAGES, reflected
from sordino_analysis.optimisation.search.pace import Pace
from sordino_analysis.optimisation.search.point_descents import Descents
from sordino_analysis.optimisation.search.schedule import (
    SCHEDULES,
    TRIAL,
    Schedule,
)
from sordino_analysis.optimisation.search.starts import begin, near_sets, portfolio, short_intervals, small_sets
from sordino_analysis.optimisation.search.tuning import JOINT, SCHEDULE, STARTS, Start
from sordino_analysis.optimisation.search.worst_columns import grown
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_analysis.request_terms import Effort

# The part of the reported progress that the first search has; new rows have the rest.
_SHARE_OF_PHASES, _SHARE_OF_SNAPPING = 0.7, 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelDesign:
    """Staircase rows low[y]·{1, e^ε}: `members` (m, k) are at the upper level; columns sum to one.

    `decoder` (Q, m) is unbiased for the W that was searched for; None where rows were searched for under the product
    weights alone, of which `type_weights` are one: then least squares is to follow.
    `soft_variance` is what the objective was before the rows were at a level.
    """

    members: Mask
    low: Floats
    decoder: Floats | None
    type_weights: Floats
    soft_variance: float


def search_kernel(
    matrix: Floats,
    epsilon: float,
    factorization: Factorization,
    *,
    effort: Effort = Effort.STANDARD,
    seed: int = 0,
    deadline: Deadline | None = None,
    progress: ProgressCallback = ignore_progress,
) -> KernelDesign:
    """The best kernel found for W (Q, k), whose rows all vary, with its decoder; deterministic for a seed.

    `factorization` is centred, of the same W, for the objective wanted. At the `deadline` what was found so far is
    made a kernel of. `progress` gets the fraction done and the objective's variance.
    """
    deadline = deadline or Deadline()
    pace = Pace(progress)
    search = _Search(matrix, epsilon, factorization, pace, deadline.sooner(JOINT.share_for_rows))
    schedule = search.schedule(effort)
    start = search.best_start(seed, schedule)
    try:
        point = search.descended(start, seed, schedule)
    except (ValueError, np.linalg.LinAlgError):
        # Rows of types whose columns are nearly alike may have no weights that balance them; rows of single types
        # have, with any others.
        point = search.descended(replace(start, singles=STARTS.telling_share), seed, schedule)
    search.descents.should_stop = deadline.passed
    return search.with_new_rows(search.snap(point, schedule), schedule)


class _Search:
    def __init__(
        self,
        matrix: Floats,
        epsilon: float,
        factorization: Factorization,
        pace: Pace,
        should_stop: Callable[[], bool],
    ) -> None:
        self.pace = pace
        self.types = matrix.shape[1]
        # The sum of a row, that no variance notices, is told by the number of the reports.
        constants = matrix.mean(axis=1, keepdims=True)
        self.worst_of_many = factorization.objective == "max" and matrix.size * self.types >= SCHEDULE.many_products
        many = self.types >= JOINT.fewest_reflected or (self.worst_of_many and epsilon >= JOINT.least_for_reflected)
        self.images = reflected(matrix - constants) if many else NO_IMAGES
        self.constants = constants if self.images.image is not None else np.zeros_like(constants)
        self.matrix = matrix - self.constants
        self.epsilon = epsilon
        self.objective = factorization.objective
        self.ordered = find_thresholds(matrix) if self.objective == "max" else None
        self.right = factorization.right
        uniform = np.full(len(matrix), 1.0 / len(matrix))
        by_row = factorization.row_weights / factorization.row_weights.sum()
        self.query_weights = self.images.even_queries(by_row if self.objective == "max" else uniform)
        self.type_weights = self.images.even(factorization.column_weights / factorization.column_weights.sum())
        self.descents = Descents(
            matrix=self.matrix,
            epsilon=epsilon,
            objective=self.objective,
            images=self.images,
            pace=pace,
            should_stop=should_stop,
        )

    def schedule(self, effort: Effort) -> Schedule:
        """The effort's, fitted; over many types a thorough search goes on where a standard one ends.

        With more rows and evaluations from the start it ended at .622 over 128 types at ε = 4, a standard one at .620.
        """
        schedule = SCHEDULES[effort].fitted(len(self.matrix), self.types, self.epsilon, self.images.copies)
        if not self.adds_rows_for_worst(schedule) or (self.types >= SCHEDULE.many_types and self.ordered is None):
            return schedule
        if effort is Effort.THOROUGH and self.types >= SCHEDULE.many_types:
            standard = self.schedule(Effort.STANDARD)
            if self.adds_rows_for_worst(standard):
                return standard.with_finer_rounds()
        return schedule.before_new_rows(len(self.matrix), self.types)

    def adds_rows_for_worst(self, schedule: Schedule) -> bool:
        """Whether rounds of new rows for the worst query follow, which make up for rows that were not found."""
        return self.objective == "max" and schedule.averaged == 0 and schedule.worst_rounds > 0

    def best_start(self, seed: int, schedule: Schedule) -> Start:
        """The start whose short run, under product weights, ends lowest."""
        ordered = self.ordered is not None and self.types >= JOINT.fewest_of_one_start and schedule.worst_rounds > 0
        starts = portfolio(self.epsilon, self.right, ordered=ordered)
        if len(starts) == 1:
            return starts[0]
        rows = min(TRIAL.rows_per_type, schedule.rows_per_type)
        trial = replace(TRIAL, rows_per_type=rows, averaged=min(schedule.averaged, TRIAL.phases))
        return starts[int(np.argmin([self._trial(start, seed, trial) for start in starts]))]

    def _trial(self, start: Start, seed: int, schedule: Schedule) -> float:
        try:
            point = self.begin(start, seed, schedule)
            for phase in range(schedule.phases):
                point = self.phase(point, schedule, phase, start)
                if self.descents.should_stop():
                    break
        except (ValueError, np.linalg.LinAlgError):
            return np.inf
        return self.descents.worst(point)

    def begin(self, start: Start, seed: int, schedule: Schedule) -> Point:
        generator = np.random.Generator(np.random.PCG64(seed))
        outputs = max(SCHEDULE.fewest_rows, schedule.rows_per_type * self.types)
        logits, weights = begin(start, self.right, self.epsilon, outputs, generator, self.images)
        return Point(
            logits=logits / JOINT.sharpen,
            weights=weights,
            free=None,
            type_weights=self.type_weights,
            query_weights=self.query_weights,
        )

    def descended(self, start: Start, seed: int, schedule: Schedule) -> Point:
        """All phases from a start, or those until the time is over; raises ValueError for rows without balance."""
        point = self.begin(start, seed, schedule)
        share = _SHARE_OF_PHASES / schedule.phases
        for phase in range(schedule.phases):
            self.pace.begin(share * phase, share, schedule.evaluations)
            point = self.phase(point, schedule, phase, start)
            self.pace.variance = self.descents.worst(point)
            if self.descents.should_stop():
                break
        return point

    def phase(self, point: Point, schedule: Schedule, phase: int, start: Start) -> Point:
        """Sharpen, then descend under this phase's sharpness and floor."""
        if start.singles > 0:
            schedule = replace(schedule, first_floor=JOINT.singles_floors[0], last_floor=JOINT.singles_floors[1])
        floor = schedule.floor(phase) * float(point.weights.mean())
        logits = point.logits * JOINT.sharpen
        levels = balance(logits, point.weights, self.epsilon, self.images).levels
        weights = balanced_weights(levels, np.maximum(point.weights, floor), self.images)
        point = replace(point, logits=logits, weights=weights)
        if self.objective == "mean" or phase < schedule.averaged:
            return self.descents.descend_averaged(point, floor, schedule.evaluations, rows_move=True)
        point = replace(point, free=self.descents.decoder(point))
        evaluations = schedule.evaluations_of(phase)
        return self.descents.descend(point, schedule.sharpness(phase), floor, evaluations, rows_move=True)

    def snap(self, point: Point, schedule: Schedule) -> KernelDesign:
        """Rows to their nearest levels, equal rows merged, weights and decoder optimised for the rows as they are."""
        self.pace.begin(_SHARE_OF_PHASES, _SHARE_OF_SNAPPING, 2 * schedule.evaluations)
        soft = self.descents.worst(point)
        members, weights = _merged(*self._with_lost_sets(point, schedule))
        logits = np.where(members, np.inf, -np.inf)
        levels = balance(logits, weights, self.epsilon, self.images).levels
        point = replace(point, logits=logits, weights=balanced_weights(levels, weights, self.images), free=None)
        if self.objective == "max" and schedule.averaged == 0:
            return self._polished(point, schedule, soft)
        for _ in range(2):
            point = self.descents.descend_averaged(point, 0.0, schedule.evaluations, rows_move=False)
        return self._design(point, members, None, soft)

    def with_new_rows(self, design: KernelDesign, schedule: Schedule) -> KernelDesign:
        """For the mean of not too many types, rows that lower it further are added and weighed."""
        if self.objective == "max" or self.types > MOST_TYPES or schedule.column_rounds == 0:
            return design
        start = WeightedRows(design.members, design.low, design.type_weights)
        rounds = schedule.column_rounds * (MOST_TYPES // self.types)
        done = _SHARE_OF_PHASES + _SHARE_OF_SNAPPING
        self.pace.begin(done, 1.0 - done, rounds)
        generated = generate_columns(self.matrix, self.epsilon, start, rounds, self._stops_before_new_rows, self.images)
        return replace(design, members=generated.members, low=generated.weights, type_weights=generated.type_weights)

    def _with_lost_sets(self, point: Point, schedule: Schedule) -> tuple[Mask, Floats]:
        """Besides, rows that soft ones rarely end at or lose: images of the others, and at large ε small sets."""
        members, weights = point.logits > 0, point.weights
        if self.images.image is None:
            image = reflected(self.matrix - self.matrix.mean(axis=1, keepdims=True))
            members, weights = image.all_rows(members), np.tile(weights / image.copies, image.copies)
        sets = self._small_sets(schedule)
        if not len(sets):
            return members, weights
        added = np.full(len(sets), JOINT.small_sets_share * weights.sum() / len(sets))
        return np.vstack([members, sets]), np.concatenate([weights, added])

    def _small_sets(self, schedule: Schedule) -> Mask:
        """Where a likely row has a type or two: all such sets of a few types, near ones for many queries; or runs."""
        likely = self.types / (np.exp(self.epsilon) + 1.0)
        if likely <= 2.0 and self.types <= JOINT.few_types:
            return small_sets(self.types)
        if self.ordered is not None and self.epsilon >= JOINT.least_for_intervals:
            return self.images.distinct(short_intervals(self.ordered.order))
        many = self.worst_of_many and self.adds_rows_for_worst(schedule)
        if many and self.ordered is None and JOINT.least_for_near <= likely <= 2.0:
            return self.images.distinct(near_sets(self.matrix))
        return np.zeros((0, self.types), dtype=bool)

    def _polished(self, point: Point, schedule: Schedule, soft: float) -> KernelDesign:
        """Weights and decoder together, for the rows as they are and for those that are worth adding."""
        longer = 1 if self.types >= SCHEDULE.many_types or self.worst_of_many else JOINT.longer_polish
        finer = schedule.finer()
        last, last_of_finer = longer * schedule.evaluations, longer * finer.evaluations
        first = schedule.evaluations if schedule.worst_rounds else last
        self.pace.begin(_SHARE_OF_PHASES, _SHARE_OF_SNAPPING, 2 * first)
        point = self.descents.settled(point, schedule.last_sharpness, (first, first))
        done = _SHARE_OF_PHASES + _SHARE_OF_SNAPPING
        self.pace.begin(done, 1.0 - done, _steps(schedule, last) + _steps(finer, last_of_finer))
        point = self._grown_and_polished(point, schedule, last)
        if finer.worst_rounds:
            point = self._grown_and_polished(point, finer, last_of_finer)
        decoder = self.images.all_outputs(self.descents.decoder(point))
        return self._design(point, point.logits > 0, decoder, soft)

    def _grown_and_polished(self, point: Point, schedule: Schedule, evaluations: int) -> Point:
        """The best of rounds of new rows, and of it after a last polish."""
        point = self._with_worst_rows(point, schedule)
        return min(
            point, self.descents.settled(point, JOINT.sharpest, (evaluations, evaluations)), key=self.descents.worst
        )

    def _with_worst_rows(self, point: Point, schedule: Schedule) -> Point:
        """The best after rounds of new rows, each settled; rounds end when two in a row gain next to nothing.

        After one that does, the next prices rows by more of the variances, or over many types by fewer.
        """
        new_rows, sharpness = schedule.new_rows, schedule.last_sharpness * schedule.new_rows.softness
        least, best, idle = self.descents.worst(point), point, 0
        for _ in range(schedule.worst_rounds):
            self.pace.variance = least
            if self.descents.should_stop() or idle == JOINT.most_idle_rounds:
                break
            try:
                settled = self._grown_and_settled(point, schedule, sharpness)
                value = self.descents.worst(settled)
            except (ValueError, np.linalg.LinAlgError):
                break
            before = least
            if value < least:
                least, best = value, settled
            point = settled if value < (1.0 + new_rows.allowed_loss) * least else best
            idle = idle + 1 if least > before * (1.0 - schedule.least_gain) else 0
            sharpness *= new_rows.after_idle if idle else 1.0
        return best

    def _grown_and_settled(self, point: Point, schedule: Schedule, sharpness: float) -> Point:
        """After one round of new rows, priced at the sharpness; raises ValueError where they cannot be balanced."""
        decoder, new_rows = self.descents.decoder(point), schedule.new_rows
        more = grown(point, decoder, self.matrix, self.epsilon, sharpness, new_rows, self.images)
        return self.descents.settled(more, schedule.last_sharpness, new_rows.evaluations)

    def _design(self, point: Point, members: Mask, decoder: Floats | None, soft: float) -> KernelDesign:
        """All rows; `decoder` (Q, all outputs)."""
        return KernelDesign(
            members=self.images.all_rows(members),
            low=np.tile(point.weights, self.images.copies),
            decoder=None if decoder is None else decoder + self.constants,
            type_weights=point.type_weights,
            soft_variance=soft,
        )

    def _stops_before_new_rows(self) -> bool:
        """Whether to stop before the next round of new rows; reports the progress."""
        self.pace.step()
        return self.descents.should_stop()


def _steps(schedule: Schedule, evaluations: int) -> int:
    """The most evaluations that rounds of new rows and the last polish take."""
    return schedule.worst_rounds * sum(schedule.new_rows.evaluations) + 2 * evaluations


def _merged(members: Mask, weights: Floats) -> tuple[Mask, Floats]:
    """Equal rows become one with the sum of their weights; rows that do not tell types apart join in one."""
    constant: Mask = np.asarray(members.all(axis=1))
    members = members & ~constant[:, None]
    unique, inverse = np.unique(np.packbits(members, axis=1), axis=0, return_inverse=True)
    merged = np.zeros(len(unique))
    np.add.at(merged, inverse.ravel(), weights)
    distinct: Mask = np.asarray(np.unpackbits(unique, axis=1)[:, : members.shape[1]] == 1)
    return distinct, merged
