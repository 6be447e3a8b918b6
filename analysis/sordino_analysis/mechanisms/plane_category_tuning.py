"""What grids on categories and two ordered attributes trade; `tuning.py` has the other tables.

`python -m benchmarks.tuning mechanisms.plane_category_levels` plans with each value at half, once and twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.questions.linear.workload import MOST_PLANNED_BINS


@dataclass(frozen=True, kw_only=True)
class PlaneCategoryGridLevelsTuning:
    """Levels of grids on categories and two ordered attributes: `plane_category_grid_levels.py`. Measured: `python -m
    benchmarks.tuning mechanisms.plane_category_levels`."""

    designed_at: int = 16
    """Levels are chosen at up to so many types of an ordered attribute."""
    steps: tuple[int, ...] = (20, 10, 10, 12)
    """Steps of the chances, after each of which levels of a small chance go."""
    worst_spread: int = 6
    """Parts of each attribute in whose middles queries are compared for the largest variance."""
    worst_rounds: int = 6
    """Times that the weights of queries are changed for the largest variance; the best chances met are kept."""
    worst_steps: int = 8
    """Steps of the chances for each."""
    worst_power: float = 4.0
    """Weights go with this power of the variances: larger is faster, and overshoots."""
    least_chance: float = 0.01
    """Of the largest chance; a level of a smaller one is left out: it costs bytes of the device part."""


@dataclass(frozen=True, kw_only=True)
class PlaneCategoryGridsTuning:
    """Grids on categories and two ordered attributes as a mechanism: `plane_category_grids.py`. Measured: `python -m
    benchmarks.tuning mechanisms.plane_category_grids`."""

    fewest_types: int = 256
    """Below, dense designs are better and take seconds."""
    most_types: int = MOST_PLANNED_BINS
    """An exact variance is a system of all types of the plane for each part of the functions of the categories."""


PLANE_CATEGORY_LEVELS = PlaneCategoryGridLevelsTuning()
PLANE_CATEGORY_GRIDS = PlaneCategoryGridsTuning()
