"""How long a search is: its phases, their evaluations, and how many rows it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sordino_analysis.request_terms import Effort

_LARGEST_TABLE = 1 << 21
_FEWEST_ROWS_PER_TYPE = 3
# At a handful of types rows cost nothing, and too few of them miss the optimum's support.
FEWEST_ROWS = 256
# Sizes Q·m·k past which a third, two thirds, all of the phases run under product weights.
_JOINT_LIMITS = (2e7, 3e7, 9e8)
# Q·m·k times the evaluations of a joint phase: 29 for prefix sums over 512 types, a second each. And m·k² times those
# of an averaged phase: 18 at 1,024 types, a third of a second each.
_MOST_ENTRIES, _MOST_PRODUCTS, _FEWEST_EVALUATIONS = 2.4e10, 2.9e10, 12


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """A round of new rows: `per_type` of those that climb from `starts` rows, priced at `softness` of the sharpness.

    Then weights and decoder descend for so many `evaluations` at a quarter of the sharpness, and at all of it. After a
    round that gains next to nothing the prices' sharpness is `after_idle` times what it was. After one that ends above
    the best by less than the share `allowed_loss`, the next goes on from there. Rows of less than `least_share` of the
    mean weight are left out.
    """

    per_type: int
    starts: int
    softness: float
    evaluations: tuple[int, int]
    after_idle: float
    allowed_loss: float = 0.0
    least_share: float = 1e-4


# The largest variances alone may price few rows: 128 types at ε = 4 got 18 new ones, and lost by them.
_NEW_ROWS = NewRows(per_type=2, starts=200, softness=1.0, evaluations=(60, 60), after_idle=0.25)
# A descent of many queries takes seconds, and two rows of three weigh next to nothing. Without those, by more new rows
# and shorter descents, all 1,295 rectangles of 8×8 cells end 1 % lower at ε = 2, in three fifths of the time.
_NEW_OF_MANY_QUERIES = NewRows(
    per_type=4, starts=400, softness=1.0, evaluations=(30, 50), after_idle=0.25, least_share=1e-2
)
# Of many types a descent takes seconds, and pricing more rows next to nothing. Soft prices gain most at first, and keep
# few rows; then sharper ones gain for longer: at ε = 4 .632 becomes .625.
_NEW_OF_MANY = NewRows(per_type=4, starts=600, softness=0.5, evaluations=(0, 50), after_idle=2.0)
# Rows that are polished may lose by the first rounds, whose descents are shorter, and gain by those that follow: with
# no loss allowed one seed of 128 types ended at .624 at ε = 4, with it at .611.
_FINER = NewRows(per_type=4, starts=600, softness=1.0, evaluations=(0, 70), after_idle=1.0, allowed_loss=0.01)
_FINER_SHARPNESS, _FINER_GAIN, _MOST_FINER_ROUNDS = 800.0, 5e-4, 12
# From so many types on.
MANY_TYPES = 96
# Many queries, as all 1,295 rectangles of 8×8 cells, are so many entries of W times types, or more.
MANY_PRODUCTS = 1e6


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Phases of `evaluations` each; sharpness and row-weight floor move geometrically from first to last.

    The first `averaged` phases move the kernel under product weights and leave the decoder to GLS; the
    joint ones have at most `joint_evaluations`. For the mean the finished rows get `column_rounds` of new ones at 128
    types, and more where a round costs less; for the worst query there are at most `worst_rounds`, which end after one
    that gains less than the share `least_gain`.
    """

    phases: int
    evaluations: int
    rows_per_type: int
    patience: float = 1.0
    averaged: int = 0
    column_rounds: int = 0
    worst_rounds: int = 0
    least_gain: float = 3e-3
    new_rows: NewRows = _NEW_ROWS
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
        rows_per_type = max(_FEWEST_ROWS_PER_TYPE, min(self.rows_per_type, affordable))
        entries = queries * types * max(FEWEST_ROWS, rows_per_type * types)
        patience = self.patience * (1.0 if epsilon < 1.5 else 8.0)
        averaged = sum(entries > patience * limit for limit in _JOINT_LIMITS) * self.phases // len(_JOINT_LIMITS)
        evaluations = int(max(1.0, self.patience) * _MOST_PRODUCTS * copies / (rows_per_type * types**3))
        return replace(
            self,
            rows_per_type=rows_per_type,
            averaged=averaged,
            evaluations=min(self.evaluations, max(_FEWEST_EVALUATIONS, evaluations)),
            joint_evaluations=max(_FEWEST_EVALUATIONS, int(patience * _MOST_ENTRIES / entries)),
        )

    def before_new_rows(self, queries: int, types: int) -> Schedule:
        """Two thirds of the phases, where rounds of new rows follow that gain what the others would.

        At 12 to 32 types a search takes a quarter less time, and values change by less than .4 % to either side.
        """
        new_rows = _NEW_ROWS if queries * types**2 < MANY_PRODUCTS else _NEW_OF_MANY_QUERIES
        return replace(self, phases=2 * self.phases // 3, new_rows=_NEW_OF_MANY if types >= MANY_TYPES else new_rows)

    def with_finer_rounds(self) -> Schedule:
        """The same search, after which finer rounds of new rows follow."""
        return replace(self, finer_rounds=_MOST_FINER_ROUNDS)

    def finer(self) -> Schedule:
        """Rounds for rows that are polished already, which settle under a sharper maximum, and a longer last polish.

        At 128 types and ε = 4 .625 becomes .611, in three times the time.
        """
        return replace(
            self,
            worst_rounds=self.finer_rounds,
            least_gain=_FINER_GAIN,
            new_rows=_FINER,
            last_sharpness=_FINER_SHARPNESS,
            evaluations=2 * self.evaluations,
            finer_rounds=0,
        )

    def evaluations_of(self, phase: int) -> int:
        """How often a phase may evaluate its objective."""
        return self.evaluations if phase < self.averaged else min(self.evaluations, self.joint_evaluations)


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
TRIAL = Schedule(phases=3, evaluations=25, rows_per_type=4)
