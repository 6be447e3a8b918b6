"""How long a search is: its phases, their evaluations, and how many rows it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sordino_analysis.optimisation.search.tuning import (
    FINER,
    NEW_OF_MANY,
    NEW_OF_MANY_QUERIES,
    NEW_ROWS,
    SCHEDULE,
    NewRows,
)
from sordino_analysis.request_terms import Effort

# Entries of the table of all rows and types: 16 MiB of doubles, which a step goes through several times.
_LARGEST_TABLE = 1 << 21


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """`phases` of `evaluations` each; sharpness and row-weight floor move geometrically from `first_sharpness` and
    `first_floor` to `last_sharpness` and `last_floor`.

    The first `averaged` phases move the kernel under product weights and leave the decoder to GLS; the
    joint ones have at most `joint_evaluations`. For the mean the finished rows get `column_rounds` of new ones at 128
    types, and more where a round costs less; for the worst query there are at most `worst_rounds`, which end after one
    that gains less than the share `least_gain`. Larger problems take `patience` times as long before phases are left
    out. Measured: `python -m benchmarks.tuning search.schedules`.
    """

    phases: int
    evaluations: int
    rows_per_type: int
    patience: float = 1.0
    averaged: int = 0
    column_rounds: int = 0
    worst_rounds: int = 0
    least_gain: float = 3e-3
    new_rows: NewRows = NEW_ROWS
    finer_rounds: int = 0
    joint_evaluations: int = 1 << 20
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

    def fitted(self, queries: int, types: int, epsilon: float, copies: int = 1) -> Schedule:
        """Fewer rows a type where the table would not fit, fewer joint phases and evaluations where they take minutes.

        Half of the rows, where others are their images, take half the time and tell less: a half more are taken.
        Four rows a type cost 2 to 11 % against sixteen; product weights and a minimax decoder afterwards 1 to 3 % at
        ε = 1, more at larger ε. Of fewer than three rows a type few weights, or none, balance the columns.
        """
        affordable = _LARGEST_TABLE * (1 + copies) // (4 * types * types)
        rows_per_type = max(SCHEDULE.fewest_rows_per_type, min(self.rows_per_type, affordable))
        entries = queries * types * max(SCHEDULE.fewest_rows, rows_per_type * types)
        patience = self.patience * (1.0 if epsilon < SCHEDULE.large_epsilon else SCHEDULE.patience_at_large)
        averaged = (
            sum(entries > patience * limit for limit in SCHEDULE.joint_limits)
            * self.phases
            // len(SCHEDULE.joint_limits)
        )
        evaluations = int(max(1.0, self.patience) * SCHEDULE.most_products * copies / (rows_per_type * types**3))
        return replace(
            self,
            rows_per_type=rows_per_type,
            averaged=averaged,
            evaluations=min(self.evaluations, max(SCHEDULE.fewest_evaluations, evaluations)),
            joint_evaluations=max(SCHEDULE.fewest_evaluations, int(patience * SCHEDULE.most_entries / entries)),
        )

    def before_new_rows(self, queries: int, types: int) -> Schedule:
        """Two thirds of the phases, where rounds of new rows follow that gain what the others would.

        At 12 to 32 types a search takes a quarter less time, and values change by less than .4 % to either side.
        """
        new_rows = NEW_ROWS if queries * types**2 < SCHEDULE.many_products else NEW_OF_MANY_QUERIES
        return replace(
            self, phases=2 * self.phases // 3, new_rows=NEW_OF_MANY if types >= SCHEDULE.many_types else new_rows
        )

    def with_finer_rounds(self) -> Schedule:
        """The same search, after which finer rounds of new rows follow."""
        return replace(self, finer_rounds=SCHEDULE.most_finer_rounds)

    def finer(self) -> Schedule:
        """Rounds for rows that are polished already, which settle under a sharper maximum, and a longer last polish.

        At 128 types and ε = 4 .625 becomes .611, in three times the time.
        """
        return replace(
            self,
            worst_rounds=self.finer_rounds,
            least_gain=SCHEDULE.finer_gain,
            new_rows=FINER,
            last_sharpness=SCHEDULE.finer_sharpness,
            evaluations=2 * self.evaluations,
            finer_rounds=0,
        )

    def evaluations_of(self, phase: int) -> int:
        """How often a phase may evaluate its objective."""
        return self.evaluations if phase < self.averaged else min(self.evaluations, self.joint_evaluations)


# By effort: quick ends in a second at 32 types, thorough takes the minutes that the last percent needs.
# Measured: `python -m benchmarks.tuning search.schedules`.
SCHEDULES = {
    Effort.QUICK: Schedule(phases=3, evaluations=40, rows_per_type=6, patience=0.3),
    Effort.STANDARD: Schedule(phases=6, evaluations=70, rows_per_type=8, column_rounds=14, worst_rounds=14),
    Effort.THOROUGH: Schedule(
        phases=8,
        evaluations=110,
        rows_per_type=12,
        patience=30.0,
        column_rounds=60,
        worst_rounds=60,
        least_gain=1e-3,
    ),
}
# A short run that compares starts. Measured: `python -m benchmarks.tuning search.trial`.
TRIAL = Schedule(phases=3, evaluations=25, rows_per_type=4)
