"""What the searches over orbits trade, quality against time, memory or bytes.

`python -m benchmarks.tuning symmetry` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class ManyOrbitsTuning:
    """Rows of many orbits by descent: `many_orbits.py`. Measured: `python -m benchmarks.tuning
    symmetry.many_orbits`."""

    steps: int = 400
    """Steps of the chances at most."""
    drawn: int = 256
    """Sets of a shape that are drawn, of which the best climb: more find better ones, and take as much longer."""
    most_of_a_shape: int = 4
    """Sets of one shape that are taken at most."""
    most_flips: int = 40
    """Cells that one climb turns at most."""


@dataclass(frozen=True, kw_only=True)
class OrbitDesignTuning:
    """Rounds of new orbits of rows: `orbit_design.py`. Measured: `python -m benchmarks.tuning
    symmetry.orbit_design`."""

    most_rounds: int = 40
    """Rounds at most; they end sooner, once no set is worth more."""
    rounds_of_search: int = 12
    """Rounds in which sets that are not listed are searched: the first find most of what they gain."""
    gain: float = 1e-4
    """A set is taken where it is worth more than those there are by this share."""
    taken_of_a_shape: int = 4
    """Sets of one shape that a round takes at most."""


@dataclass(frozen=True, kw_only=True)
class OrbitRowsTuning:
    """The search of sets of cells of one shape: `orbit_rows.py`. Measured: `python -m benchmarks.tuning
    symmetry.orbit_rows`."""

    listed_cells: int = 16
    """Up to so many cells all sets, 2^16 then, are listed and none is searched."""
    most_searched_cells: int = 256
    """Shapes of more cells than needed are searched up to this size."""
    most_shapes: int = 32
    """Of those, so many at most."""
    starts: int = 32
    """Sets that climb: more find better ones, and take as much longer."""
    linear_steps: int = 20
    """Steps by slopes before cells are turned one by one at most."""
    most_flips: int = 400
    """Cells that one climb turns at most."""


@dataclass(frozen=True, kw_only=True)
class PinnedBoundTuning:
    """The bound of a workload whose worst type is pinned: `pinned_bound.py`. Measured: `python -m
    benchmarks.tuning symmetry.pinned_bound`."""

    least_weight: float = 1e-3
    """Least share of a block's weight from which the search for the best weights starts."""


@dataclass(frozen=True, kw_only=True)
class ProgramsTuning:
    """Linear programs over upper levels: `programs.py`. Measured: `python -m benchmarks.tuning
    symmetry.programs`."""

    grid: int = 64
    """Levels on a line, and as many on a geometric one: more come closer to the best, and take longer."""


@dataclass(frozen=True, kw_only=True)
class WorstCaseTuning:
    """Rows for the worst query and type: `worst_case.py`. Measured: `python -m benchmarks.tuning
    symmetry.worst_case`."""

    shares_of_epsilon: tuple[float, ...] = tuple(np.linspace(1.0, 0.1, 10).tolist())
    """Against the worst type larger sets are better than against the mean one: those that are best at a smaller ε,
    of which these are tried."""
    rows_per_size: int = 4
    """Rows of one size of set that are kept for a shape."""
    rows_per_shape: int = 60
    """Rows of a shape that are kept."""
    cells_per_pair: int = 2
    """Where single cells tell most on average, some pairs help the worst type, and not those that tell most on
    average: so many cells for each pair."""
    steps: int = 1200
    """Steps of multiplicative weights: more come closer to the worst query and type."""
    first_step: float = 8.0
    """The first step's power: larger oscillates."""
    steps_to_half: int = 60
    """Steps after which the power is half."""
    prune_every: int = 100
    """Steps between two looks for rows of no chance, which are left out."""


MANY_ORBITS = ManyOrbitsTuning()
ORBIT_DESIGN = OrbitDesignTuning()
ORBIT_ROWS = OrbitRowsTuning()
PINNED_BOUND = PinnedBoundTuning()
PROGRAMS = ProgramsTuning()
WORST_CASE = WorstCaseTuning()
