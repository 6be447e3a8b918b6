"""What levels for the largest variance trade; `tuning.py` has the other tables.

`python -m benchmarks.tuning mechanisms.grid_maximum` plans with each value at half, once and twice.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GridMaximumTuning:
    """Levels of shifted grids for the largest variance: `grid_maximum_levels.py`. Measured: `python -m
    benchmarks.tuning mechanisms.grid_maximum`."""

    chosen_at: int = 1024
    """Levels are chosen at up to so many types: those of 256 carried over to 1,016 have .2 to .5 more of 2.4."""
    comb_start: float = 0.5
    """What combs count at first, as a part of the root of what even and own labels vary by."""
    least_factor: float = 1e-3
    """What a report may count; 1 is about where the mean is best."""
    most_factor: float = 4.0
    """The most that it may count, so that no level of hardly any chance makes up for it."""
    descended_to: int = 8192
    """Up to so many types they are descended again at each doubling; beyond, they are carried over. At 2,050 types the
    last descent takes 2.86 from 3.05, at 4,064 3.37 from 3.62, at 8,000 4.01 from 4.10, all at ε = 4."""
    queries: int = 9
    """Queries of a descent at first; as many of the worst ones are added after it."""
    compared: int = 65
    """Queries that the worst ones are sought among."""
    powers: tuple[int, ...] = (30, 100)
    """The power mean of the descents after each other: larger is closer to the largest, and harder to descend."""
    steps: int = 80
    """Steps of one descent at most."""
    label_bits: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    """Bits of the labels of hashed cells, one of which is a member; at an ε those of densities about between the best
    for the mean and for the maximum."""
    comb_labels: tuple[int, ...] = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024)
    """The same of combs: with a period above the domain they are randomised response on wide bins."""
    comb_periods: tuple[float, ...] = (0.25, 0.35, 0.5, 0.65, 0.85, 1.1, 1.5, 2.0, 2.8)
    """Periods of combs over the size of the domain."""
    margin: float = 1.6
    """Densities beyond the best ones by this factor are tried, too."""
    widest_part: int = 8
    """Hashed cells of up to this part of the domain are tried again at each doubling."""
    tried_chance: float = 0.02
    """The chance that they begin with."""
    least_chance: float = 3e-4
    """A level of a smaller chance is left out: it costs bytes of the device part."""


GRID_MAXIMUM = GridMaximumTuning()
