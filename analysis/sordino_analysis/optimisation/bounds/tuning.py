"""What the lower bounds trade, quality against time, memory or bytes.

`python -m benchmarks.tuning bounds` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Of the bounds over windows, mixed types and pairs: their programs grow with the cube, and take minutes beyond.
# Measured: `python -m benchmarks.tuning bounds.own_types`.
LARGEST_TYPES = 128
# Beyond it rounding at the scale of e^ε leaves nothing of a bound.
# Measured: `python -m benchmarks.tuning bounds.own_types`.
LARGEST_EPSILON = 16.0
# Up to these many types all rows take less time than paths along windows of four types.
# Measured: `python -m benchmarks.tuning bounds.own_types`.
MOST_ENUMERATED = 11


@dataclass(frozen=True, kw_only=True)
class PairBoundTuning:
    """The bound over pairs of types: `doubly_nonnegative.py`, `dual_ascent.py`. Measured: `python -m
    benchmarks.tuning bounds.pair_bound`."""

    start_gap: float = 0.05
    """The gap of the factorization whose duals start the ascent: a rough one is as good a start as a fine one."""
    factorization_share: float = 0.2
    """How much of the uniform weights is mixed into those of a factorization to start."""
    trace_share: float = 0.02
    """The same for the weights of the trace bound, which are nearer to the best ones."""
    past_steps: int = 20
    """Past steps that L-BFGS keeps."""
    evaluations: int = 300
    """Evaluations for one barrier at most: the next one goes on from wherever this one ended."""
    patience: int = 40
    """An ascent ends after so many steps that together gain no more than the tolerance."""
    small_share: float = 1e-2
    """Of the size of the problem: a smaller value counts as this one where gains are compared with it."""
    wall: float = 1e-2
    """What a point outside the domain loses, relative to the best value: the line search backs off."""
    barriers: tuple[float, ...] = tuple(float(barrier) for barrier in np.geomspace(1.0, 1e-8, 17))
    """Weights of the histogram's queries that are added for the ascent, relative to a query of the workload:
    without them it jams where R′ stops being positive in a direction that the workload hardly uses."""
    settling: float = 2e-3
    """Only below this barrier does a bound that no longer moves tell that nothing is left to gain."""
    least_weight: float = 1e-4
    """Of the weight that each would have if all had the same: one without weight would stay without."""
    ratios: tuple[float, ...] = (0.0, *np.geomspace(1e-2, 1e4, 19))
    """Ratios of the two parts of the dual that are compared for a start."""
    tolerance: float = 2e-4
    """Two looks at the bound that differ by no more than this share end the ascent, where no other is given."""
    most_evaluations: int = 5000
    """Evaluations of the dual at most, where no other number is given: one takes 6 ms at 128 types."""


@dataclass(frozen=True, kw_only=True)
class IntervalsTuning:
    """Weights of all intervals: `intervals.py`. Measured: `python -m benchmarks.tuning bounds.intervals`."""

    searched_at: int = 256
    """Weights are found at as many types, and carried over to more as densities."""


@dataclass(frozen=True, kw_only=True)
class MixedTypeBoundTuning:
    """The bound over mixed types: `mixed_types_ascent.py`, `mixed_types_program.py`. Measured: `python -m
    benchmarks.tuning bounds.mixed_types`."""

    first: float = 3.0
    """How far the first point of the path may be from the optimum, relative to the value."""
    last: float = 2e-3
    """The same for the last point: less takes more steps for a higher bound."""
    shrink: float = 0.2
    """The barrier's weight between two points of the path, relative to the last one."""
    centred: float = 0.5
    """A point is on the path once half of the squared decrement is no more than this share of the barrier's weight."""
    most_steps: int = 12
    """Newton steps to one point of the path at most."""
    to_boundary: float = 0.5
    """Steps go at most so far towards the boundary: those that go near it end at points from where they are short."""
    least_expected: float = 0.03
    """A value that the bound is expected to have at least: it scales the barrier."""
    sufficient: float = 0.1
    """Share of what the slope promises that a step must gain (Armijo)."""
    width: float = 0.12
    """Of a query in the middle, p falls from both to nothing over about this share of the types, at the start."""
    groups: int = 8
    """Groups of queries at the start: more fit the queries closer, and a step takes as much longer."""
    of_levels: float = 0.8
    """The multipliers of products of one type at the start, of the level."""
    of_spans: float = 0.02
    """Those of spans of types, of the level."""
    of_pairs: float = 1e-3
    """Those of pairs of types, of the level: small but for those of one type."""
    backtrack: float = 0.6
    """How much of a step stays where it does not gain enough: more tries more points, less ends at shorter steps."""


@dataclass(frozen=True, kw_only=True)
class OddTuning:
    """The bound of workloads with an odd symmetry: `odd.py`. Measured: `python -m benchmarks.tuning bounds.odd`."""

    most_iterations: int = 100
    """Steps of the ascent at most."""


@dataclass(frozen=True, kw_only=True)
class OwnTypeBoundTuning:
    """The bound over windows of types: `own_types_ascent.py`, `smooth_paths.py`. Measured: `python -m
    benchmarks.tuning bounds.own_types`."""

    temperatures: tuple[float, ...] = (0.05, 0.01, 0.002, 0.0004)
    """Relative to the value, one ascent at each: colder is closer to the bound, and from a warm start converges."""
    more_temperatures: tuple[float, ...] = (0.1, 0.03, 0.01, 0.003)
    """On the way to a large ε, where values fall fast; from the solution for a smaller ε, all but the first are
    enough."""
    first_expected: float = 0.03
    """A value that no ε up to the largest cold one is below."""
    expected_after: float = 0.35
    """By how much a value for ε + 1 may be smaller."""
    past_steps: int = 30
    """Past steps that L-BFGS keeps."""
    largest_cold: float = 4.5
    """Beyond it an ascent starts from the solution for ε − 1: from nothing one for ε = 8 ends at half of it."""
    length_at_large: int = 2
    """Length of windows at large ε: longer ones end lower there in as many steps, as the bound is a small
    difference, and their numbers are of ever more sizes."""
    large_after: tuple[tuple[int, int], ...] = ((MOST_ENUMERATED, 1), (24, 2), (64, 3))
    """By numbers of types, how many smaller ε precede a large one; of more types longer windows end higher at every
    ε."""
    most_high: float = 4.0
    """Rows with more high types than `fewest_high` and this times k/(e^ε + 1) hardly ever are the worst; the last
    check has all."""
    fewest_high: int = 16
    """High types that rows have in the ascent at least."""
    longest_first: int = 4
    """Longer windows than these wait until unlikely rows are left out."""
    least_root: float = 1e-3
    """Of the largest root of a weight: a window without weight would stay without."""
    unlikely: float = 1e-6
    """The largest numbers of high types are left out where they are less likely: fewer states, and a smaller value
    in the ascent alone."""
    spare: int = 2
    """So many numbers next to the others stay. Small ones cost little, and left out an ascent runs there."""
    length: int = 4
    """Types of a window at most, where no other number is given: longer ones prove more, and their states double."""
    steps: int = 60
    """Steps at each temperature, where no other number is given."""


@dataclass(frozen=True, kw_only=True)
class TraceTuning:
    """The trace bound: `trace.py`. Measured: `python -m benchmarks.tuning bounds.trace`."""

    start_gap: float = 0.05
    """The ascent starts at the duals of a factorization: a rough one is as good a start as a fine one."""
    largest_exponent: float = 1.5
    """A step multiplies weights by at most this power of their slopes: larger ones oscillate."""
    recovery: float = 1.25
    """A step that loses ground is taken back and halved; the exponent recovers by this factor."""
    smallest_exponent: float = 0.02
    """Below this exponent a step moves the bound by less than what anybody reads of it."""
    gain: float = 1e-5
    """A step that gains less than this share is idle."""
    patience: int = 4
    """The ascent ends after so many idle steps in a row."""
    ascents: int = 60
    """Steps of the ascent from uniform weights, where there is no factorization, at most."""
    steps: int = 100
    """Steps of the ascent from a factorization's duals at most."""
    least_share: float = 1e-4
    """Of some of very many types: queries with a smaller weight, of the largest, are left out of what is published."""


@dataclass(frozen=True, kw_only=True)
class ListedRowsTuning:
    """The bound over all extreme rows: `listed_rows.py`, `listed_rows_program.py`. Measured: `python -m
    benchmarks.tuning bounds.listed_rows`."""

    most_types: int = 16
    """Rechecking lists 2^m rows: of 16 types and a hundred queries a second."""
    at_a_time: int = 4096
    """Rows of a recheck that are in memory together."""
    first_rows: int = 120
    """Rows that a cone program starts with; those that it violates are added."""
    more_rows: int = 120
    """Rows that are added at once."""
    most_rounds: int = 12
    """Programs at most: each is solved in up to some seconds."""
    settled: float = 1e-6
    """The rounds end when raising ν to what the worst row needs costs less than this share of it."""
    tolerance: float = 1e-9
    """Of the cone programs: what a looser one leaves is lost when ν is raised."""


PAIR_BOUND = PairBoundTuning()
INTERVALS = IntervalsTuning()
LISTED_ROWS = ListedRowsTuning()
MIXED_TYPES = MixedTypeBoundTuning()
ODD = OddTuning()
OWN_TYPES = OwnTypeBoundTuning()
TRACE = TraceTuning()
