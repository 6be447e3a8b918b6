"""The bound of prefix sums and ranges that a plan publishes, of one attribute or of two, and what it proves."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sordino_analysis.documents.certificate import IntervalBound
from sordino_analysis.evaluation.grids.category_families import CategoryFamily, WholeFamily
from sordino_analysis.evaluation.grids.families import CellFamily, IntervalFamily, PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily
from sordino_analysis.evaluation.grids.plane_prefixes import PlanePrefixes
from sordino_analysis.optimisation.bounds.categories import (
    CategoryTerms,
    PlaneSpectrum,
    Spectrum,
    category_bound,
    cell_spectrum,
    prefix_spectrum,
    range_spectrum,
    whole_spectrum,
)
from sordino_analysis.optimisation.bounds.intervals import (
    best_prefix_densities,
    even_plane_bound,
    even_range_bound,
    prefix_bound,
)
from sordino_analysis.questions.linear.operators import Prefix, Ranges
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue

_SPECTRA: Mapping[type[IntervalFamily], Spectrum] = {
    PrefixFamily: prefix_spectrum,
    RangeFamily: range_spectrum,
    CellFamily: cell_spectrum,
    WholeFamily: whole_spectrum,
}
_EVEN = array_of(np.ones(1), "<f8")
# Rechecking takes the square of the number of types, and these are a minute.
_MOST_RECHECKED = 1 << 16


def interval_bound(intervals: Prefix | Ranges, epsilon: float, objective: Objective) -> IntervalBound:
    """The best bound whose recheck is quick: densities from a search up to some thousand types, else even ones."""
    if isinstance(intervals, Ranges):
        return IntervalBound(_of_ranges(intervals, epsilon), _EVEN, _EVEN)
    value, queries, types = best_prefix_densities(_counted(intervals), epsilon, objective)
    return IntervalBound(value, array_of(queries, "<f8"), array_of(types, "<f8"))


def recheck_intervals(
    bound: IntervalBound, intervals: Prefix | Ranges | None, epsilon: float, objective: Objective
) -> float | None:
    """The value that the densities prove for the objective; None where they prove nothing about the workload.

    Raises InvalidValue for densities that are not positive, or over too many types to be rechecked.
    """
    queries, types = ndarray(bound.query_density), ndarray(bound.type_density)
    if intervals is None or (objective == "mean" and len(queries) > 1):
        return None
    if isinstance(intervals, Ranges):
        return _of_ranges(intervals, epsilon) if len(queries) == len(types) == 1 else None
    if max(len(queries), len(types)) > 1 and intervals.size > _MOST_RECHECKED:
        raise InvalidValue(f"densities are rechecked for at most {_MOST_RECHECKED} types", intervals.size)
    return prefix_bound(_counted(intervals), epsilon, queries, types)


def plane_bound(plane: PlanePrefixes, epsilon: float) -> IntervalBound:
    """The bound of prefix sums of two attributes at once; only the bins have weight, even ones."""
    return IntervalBound(_of_plane(plane, epsilon), _EVEN, _EVEN)


def recheck_plane(bound: IntervalBound, plane: PlanePrefixes, epsilon: float) -> float | None:
    """The value that even densities prove, for either objective; None for others."""
    even = len(ndarray(bound.query_density)) == len(ndarray(bound.type_density)) == 1
    return _of_plane(plane, epsilon) if even else None


def categories_bound(family: CategoryFamily, epsilon: float) -> IntervalBound:
    """The bound of intervals within members of other attributes; only the bins have weight, even ones."""
    return IntervalBound(_of_categories(family, epsilon), _EVEN, _EVEN)


def recheck_categories(bound: IntervalBound, family: CategoryFamily, epsilon: float) -> float | None:
    """The value that even densities prove, for either objective; None for others."""
    even = len(ndarray(bound.query_density)) == len(ndarray(bound.type_density)) == 1
    return _of_categories(family, epsilon) if even else None


def plane_categories_bound(family: PlaneCategoryFamily, epsilon: float) -> IntervalBound:
    """The bound of rectangles within members of other attributes; only the bins have weight, even ones."""
    return IntervalBound(_of_plane_categories(family, epsilon), _EVEN, _EVEN)


def recheck_plane_categories(bound: IntervalBound, family: PlaneCategoryFamily, epsilon: float) -> float | None:
    """The value that even densities prove, for either objective; None for others."""
    even = len(ndarray(bound.query_density)) == len(ndarray(bound.type_density)) == 1
    return _of_plane_categories(family, epsilon) if even else None


def _of_plane_categories(asked: PlaneCategoryFamily, epsilon: float) -> float:
    family = asked.grouped(asked.groups())
    parts = [
        CategoryTerms(
            part.apart, PlaneSpectrum(family.bins, *(_SPECTRA[type(side.family)] for side in part.sides)), part.weight
        )
        for part in family.parts
    ]
    return category_bound(family.sizes, math.prod(family.bins), parts, family.count, epsilon)


def _of_categories(asked: CategoryFamily, epsilon: float) -> float:
    family = asked.grouped(asked.groups())
    parts = [CategoryTerms(part.apart, _SPECTRA[type(part.family)], part.weight) for part in family.parts]
    bins = min(part.family.bins for part in family.parts)
    return category_bound(family.sizes, bins, parts, family.count, epsilon)


def _of_plane(plane: PlanePrefixes, epsilon: float) -> float:
    return even_plane_bound(*plane.bins, epsilon, plane.count)


def _counted(prefix: Prefix) -> int:
    """The types that have weight: the bins, and one further member where there are any."""
    return min(prefix.size, prefix.bins + 1)


def _of_ranges(ranges: Ranges, epsilon: float) -> float:
    """Of types only the bins have weight; a range of all bins is among the queries where there are further members."""
    return even_range_bound(ranges.bins, ranges.shape[0] - (ranges.size == ranges.bins), epsilon)
