"""What the searches of kernels trade, quality against time, memory or bytes.

`python -m benchmarks.tuning search` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class DescentTuning:
    """One descent: `descent.py`, `point_descents.py`. Measured: `python -m benchmarks.tuning search.descent`."""

    logit_scale: float = 6.0
    """Logits are divided by it, so that a unit step moves them as much, relative to their gradients, as it moves a
    weight."""
    past_steps: int = 10
    """Past steps that L-BFGS keeps: more of them take fewer evaluations and more memory; half of them for large
    problems."""
    bend: float = 0.1
    """How softly row weights come to their floor, relative to their mean: softer converges sooner and stays further
    above."""
    least_above: float = 0.1
    """How far above its floor a weight starts at least, relative to `bend`: one that starts at the floor has no
    slope."""
    unfloored_bend: float = 0.02
    """`bend` for rows that may come to nothing: sharper, so that they do."""
    reweightings: int = 3
    """Updates of the weights of types and queries after a phase: more of them follow the worst query closer, and
    take a decoder each."""
    balancing_steps: int = 40
    """Newton steps that balance weights at most; they stop at rounding, and rows that need more cannot be balanced."""


@dataclass(frozen=True, kw_only=True)
class JointTuning:
    """The joint search of kernel and decoder: `joint.py`. Measured: `python -m benchmarks.tuning search.joint`."""

    singles_floors: tuple[float, float] = (0.05, 0.01)
    """First and last floor of row weights where single types have a share: their weights must be free to fall from
    the start."""
    sharpen: float = 1.3
    """Between phases logits grow by it: larger steps settle on two levels sooner, before the search has found the
    better rows."""
    fewest_reflected: int = 96
    """From so many types on half of the rows stand for their mirror images, too: half the time, and a little more
    variance."""
    least_for_reflected: float = 1.5
    """The same for the worst of many queries from this ε on, where new rows follow; below, without them, the
    variance rises by 2 %."""
    few_types: int = 22
    """Up to here the rows of one and two types, which are no more than the others, join: a histogram of ten types
    at ε = 4 then ends 0.3 % above its optimum, and 22 % without."""
    small_sets_share: float = 0.2
    """The probability that rows of small sets start with, of all: the other rows lose it."""
    longer_polish: int = 3
    """Times the evaluations of a phase for the polish of rows that were added, whose weights start far from their
    best."""
    sharpest: float = 6400.0
    """Sharpness of the last descent over many queries: sharper comes closer to the maximum, and its steps are
    shorter."""
    most_idle_rounds: int = 2
    """Rounds of new rows in a row that gain next to nothing, before they end."""
    least_for_intervals: float = 1.5
    """From this ε on short intervals join: below, a likely row has more types than they."""
    least_for_near: float = 0.5
    """Types in a likely row from which on sets of near types join: 1,295 rectangles of 8 × 8 cells at ε = 4, with
    1.2 of 64, end 5 % lower with them; where rows have fewer types, those of one type are enough."""
    share_for_rows: float = 0.7
    """Of a limited time; the rest is for the weights and the decoder of the rows that were found. Plans without a
    time limit do not depend on it."""
    fewest_of_one_start: int = 64
    """Ordered types from which on one start needs no short runs. Over 64 at ε = 4 searches from it end up to .4 %
    lower than from the one that short runs choose, in three quarters of the time; over 32 types .2 % higher. Where
    no new rows follow it is worth more: all ranges of 128 types end at 1.44 and not at 1.82, 511 prefix sums at
    2.02 and not at 2.26."""


@dataclass(frozen=True)
class Start:
    """`fill` times 1/(e^ε+1) is the share of types at the upper level, `steepness` the slope of the soft step,
    `singles` the share of the probability that starts on rows of a single type."""

    fill: float
    steepness: float
    singles: float


@dataclass(frozen=True, kw_only=True)
class StartsTuning:
    """Where a search starts: `starts.py`. Measured: `python -m benchmarks.tuning search.starts`."""

    fewest_types: float = 1.0
    """Types at the upper level of a row of half-spaces at least: e^ε + 1 types share it on average."""
    telling_share: float = 0.2
    """The probability of single types at least, where half-spaces do not tell all types apart."""
    near: int = 8
    """How many of the nearest types join one in pairs: more sets to weigh, of which fewer are good."""
    nearest: int = 4
    """How many of the nearest types join one in threes."""
    largest_of_one: float = 1.5
    """Up to this ε half-spaces alone are the best start, and no short runs compare others."""
    at_small: tuple[Start, ...] = (Start(1.0, 4.0, 0.0),)
    """The start up to that ε: as many types at the upper level as a likely row has."""
    largest_of_half_spaces: float = 3.0
    """Up to this ε half-spaces are among the best starts; beyond, a likely row has few types, and single types do
    more."""
    at_medium: tuple[Start, ...] = (Start(1.0, 4.0, 0.0), Start(2.0, 4.0, 0.0), Start(1.0, 4.0, 0.3))
    """The starts up to that ε, which short runs compare: more of them find a better one, for a run each."""
    at_large: tuple[Start, ...] = (
        Start(1.0, 4.0, 0.3),
        Start(2.0, 4.0, 0.3),
        Start(1.0, 4.0, 0.8),
        Start(1.0, 6.0, 0.95),
    )
    """The starts beyond it, with more and more of the single types."""
    ordered: Start = Start(2.0, 4.0, 0.0)
    """The one start of many ordered types: rows of twice as many types at the upper level, as intervals are. At ε =
    2 and 128 types it ends at 3.34, and at 3.47 from the start that short runs choose."""
    ordered_at_large: Start = Start(3.0, 4.0, 0.0)
    """The same beyond `largest_of_half_spaces`, where likely rows are shorter: at ε = 4 it ends at .66, and not at
    .74."""
    singles_height: float = 1.5
    """How far above a half-space's logits, in steepness, those of a single type's own row start."""
    longest_interval: int = 3
    """Short intervals have one to so many types."""


@dataclass(frozen=True, kw_only=True)
class ColumnsTuning:
    """New rows for the mean variance: `column_generation.py`. Measured: `python -m benchmarks.tuning
    search.columns`."""

    first_barrier: float = 1e-3
    """The barrier's share of the value in the first round: larger starts nearer to the centre, and takes more
    rounds."""
    last_barrier: float = 1e-5
    """The same in the last round: what it leaves of the value to gain is less than anybody measures."""
    barrier_step: float = 0.5
    """The barrier of a round, relative to that of the last one."""
    most_newton_steps: int = 12
    """Steps of Newton's method in a round: the next round goes on where one ended."""
    small_decrement: float = 0.05
    """Newton's method stops once a step promises less than this share of what the barrier costs."""
    to_boundary: float = 0.9
    """Steps go at most so far towards the boundary."""
    worth: float = 1e-5
    """A row is taken once a unit of it lowers the value by this share: less takes more rounds for smaller gains."""
    most_rows_per_type: int = 8
    """Rows for each type that are kept, unless the start has more."""
    new_rows_per_type: int = 1
    """Rows for each type that one round may add."""
    fewest_rows: int = 256
    """A handful of types keeps at least so many rows, which may be all its sets."""
    first_exponent: float = 1.0
    """Type weights move by this power of the variances at first."""
    exponents: tuple[float, float] = (0.05, 16.0)
    """Between these the power stays."""
    faster: float = 1.3
    """The power grows by it while the worst type's variance falls: larger powers swing."""
    slower: float = 0.5
    """The power shrinks by it after a round in which the worst type's variance rose."""
    settled: float = 1e-3
    """Rounds end once no more than this share lies between the average and the worst type, and the least possible
    and the value."""
    first_share: float = 0.2
    """The first weight of a new row, relative to the mean weight."""


@dataclass(frozen=True, kw_only=True)
class ConeColumnsTuning:
    """Rounds of cone programs for the worst type: `column_generation.py`, `cone_program.py`. Measured: `python -m
    benchmarks.tuning search.cone_columns`."""

    rounds: int = 6
    """Programs at most; each takes up to a second, and the first ones gain most."""
    worth: float = 1e-4
    """A row is taken where a unit of it lowers the value by this share."""
    new_rows_per_type: int = 4
    """Rows for each type that one round may add."""
    tolerances: Mapping[str, float] = field(
        default_factory=lambda: {"tol_gap_abs": 1e-7, "tol_gap_rel": 1e-6, "tol_feas": 1e-8}
    )
    """Of the solver. The optimum has many supports, and beyond these it stalls on that."""


@dataclass(frozen=True, kw_only=True)
class MinimaxWeightsTuning:
    """Type weights in place of a decoder for each query: `minimax_weights.py`. Measured: `python -m
    benchmarks.tuning search.minimax_weights`."""

    gap: float = 2e-3
    """What the worst variance may be above the least possible, relative to it: less takes more steps."""
    steps: int = 80
    """Steps for one query at most."""
    first_power: float = 4.0
    """A step multiplies weights by (variance relative to the largest) to this power at first."""
    largest_power: float = 64.0
    """The power grows up to this one."""
    growth: float = 1.5
    """How much it grows after a step that gains: more is faster, and overshoots."""
    retreat: float = 0.25
    """How much of it stays after a step that does not."""
    share_of_common: float = 0.1
    """Of the weights for all queries, mixed into another query's start: weights that became nothing there could not
    grow again."""
    tried: int = 256
    """Queries that new weights are tried on, the worst ones first."""


@dataclass(frozen=True, kw_only=True)
class SignVectorsTuning:
    """The search of rows of two signs: `sign_vectors.py`. Measured: `python -m benchmarks.tuning
    search.sign_vectors`."""

    starts: int = 96
    """Vectors that climb to new rows in a round: more find better ones, and take as much longer."""
    rounds: int = 60
    """Rounds of new rows at most."""
    steps: int = 120
    """Steps of the chances between two rounds at most."""
    gain: float = 1e-4
    """A row is taken where it is worth more than the average by this share."""
    most_flips: int = 400
    """Signs that one climb turns at most."""
    cost_of_fewer: float = 5e-4
    """What fewer rows may cost of the value: device parts get smaller."""
    share_of_new: float = 0.1
    """The chance that new vectors have together before it moves: the others lose it."""
    sizes_tried: int = 12
    """Numbers of vectors that are tried for a smaller design, from as few as there are pairs up to all."""


@dataclass(frozen=True, kw_only=True)
class WorstColumnsTuning:
    """New rows for the worst query: `worst_columns.py`. Measured: `python -m benchmarks.tuning
    search.worst_columns`."""

    spread: float = 1e-3
    """The share of the prices that is spread over all queries and types alike: nothing is priced at no weight."""
    fewest_new: int = 60
    """Of the sets found so many are taken at least: more is more to descend, fewer miss the good ones."""
    worth: float = 1e-4
    """A row is taken where a unit of it lowers the value by this share."""
    first_share: float = 0.02
    """The first weight of a new row, relative to the mean weight."""


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """A round of new rows: `per_type` of those that climb from `starts` rows, priced at `softness` of the sharpness.

    Then weights and decoder descend for so many `evaluations` at a quarter of the sharpness, and at all of it. After a
    round that gains next to nothing the prices' sharpness is `after_idle` times what it was. After one that ends above
    the best by less than the share `allowed_loss`, the next goes on from there. Rows of less than `least_share` of the
    mean weight are left out. Measured: `python -m benchmarks.tuning search.new_rows`.
    """

    per_type: int
    starts: int
    softness: float
    evaluations: tuple[int, int]
    after_idle: float
    allowed_loss: float = 0.0
    least_share: float = 1e-4


@dataclass(frozen=True, kw_only=True)
class ScheduleTuning:
    """How long a search is: `schedule.py`. Measured: `python -m benchmarks.tuning search.schedule`."""

    fewest_rows_per_type: int = 3
    """Rows for each type at least: of fewer than three few weights, or none, balance the columns."""
    joint_limits: tuple[float, ...] = (2e7, 3e7, 9e8)
    """Sizes Q·m·k past which a third, two thirds, all of the phases run under product weights: those take less
    time, and end 1 to 3 % higher at ε = 1, more at larger ε."""
    most_entries: float = 2.4e10
    """Q·m·k times the evaluations of a joint phase: 29 for prefix sums over 512 types, a second each."""
    most_products: float = 2.9e10
    """m·k² times the evaluations of an averaged phase: 18 at 1,024 types, a third of a second each."""
    fewest_evaluations: int = 12
    """Evaluations of a phase at least, however long one takes."""
    finer_sharpness: float = 800.0
    """Sharpness of the last finer rounds."""
    finer_gain: float = 5e-4
    """Finer rounds end once two in a row gain less than this share."""
    most_finer_rounds: int = 12
    """Finer rounds at most: at 128 types and ε = 4 .625 becomes .611, in three times the time."""
    fewest_rows: int = 256
    """Rows at least: at a handful of types they cost nothing, and too few of them miss the optimum's support."""
    large_epsilon: float = 1.5
    """From this ε on product weights cost more than a few per cent, and phases wait longer before they run under
    them."""
    patience_at_large: float = 8.0
    """So many times as long."""
    many_types: int = 96
    """From so many types on a descent takes seconds, and new rows are those of `NEW_OF_MANY`."""
    many_products: float = 1e6
    """Many queries, as all 1,295 rectangles of 8×8 cells, are so many entries of W times types, or more."""


DESCENT = DescentTuning()
JOINT = JointTuning()
STARTS = StartsTuning()
COLUMNS = ColumnsTuning()
CONE_COLUMNS = ConeColumnsTuning()
MINIMAX_WEIGHTS = MinimaxWeightsTuning()
SIGN_VECTORS = SignVectorsTuning()
WORST_COLUMNS = WorstColumnsTuning()
SCHEDULE = ScheduleTuning()
# The largest variances alone may price few rows: 128 types at ε = 4 got 18 new ones, and lost by them.
# Measured: `python -m benchmarks.tuning search.new_rows`.
NEW_ROWS = NewRows(per_type=2, starts=200, softness=1.0, evaluations=(60, 60), after_idle=0.25)
# A descent of many queries takes seconds, and two rows of three weigh next to nothing. Without those, by more new rows
# and shorter descents, all 1,295 rectangles of 8×8 cells end 1 % lower at ε = 2, in three fifths of the time.
# Measured: `python -m benchmarks.tuning search.new_of_many_queries`.
NEW_OF_MANY_QUERIES = NewRows(
    per_type=4, starts=400, softness=1.0, evaluations=(30, 50), after_idle=0.25, least_share=1e-2
)
# Of many types a descent takes seconds, and pricing more rows next to nothing. Soft prices gain most at first, and keep
# few rows; then sharper ones gain for longer: at ε = 4 .632 becomes .625.
# Measured: `python -m benchmarks.tuning search.new_of_many`.
NEW_OF_MANY = NewRows(per_type=4, starts=600, softness=0.5, evaluations=(0, 50), after_idle=2.0)
# Rows that are polished may lose by the first rounds, whose descents are shorter, and gain by those that follow: with
# no loss allowed one seed of 128 types ended at .624 at ε = 4, with it at .611.
# Measured: `python -m benchmarks.tuning search.finer`.
FINER = NewRows(per_type=4, starts=600, softness=1.0, evaluations=(0, 70), after_idle=1.0, allowed_loss=0.01)
