"""How many types grids take, and what to ask in place of a question about more."""

from __future__ import annotations

import math

from sordino_analysis.evaluation.grids.category_families import CategoryFamily, category_family_of
from sordino_analysis.evaluation.grids.plane_families import PlaneCategoryFamily, plane_category_family_of
from sordino_analysis.evaluation.grids.plane_prefixes import PlanePrefixes, plane_of
from sordino_analysis.evaluation.grids.stacked import family_of
from sordino_analysis.mechanisms.tuning import CATEGORY_GRIDS, PLANE_CATEGORY_GRIDS, PLANE_GRIDS, SHIFTED_GRIDS
from sordino_analysis.questions.linear import Workload
from sordino_shared.domains import Ordered


def too_many_types(workload: Workload) -> str | None:
    """Why grids do not take the size of a workload, and a size that they take; None where they take it."""
    if family_of(workload) is not None:
        return _on_a_line(workload)
    plane = plane_of(workload.operator)
    if plane is not None:
        return _on_a_plane(plane, workload.size)
    family = category_family_of(workload)
    if family is not None:
        return _beside_categories(family, workload)
    beside = plane_category_family_of(workload)
    return None if beside is None else _plane_beside_categories(beside, workload)


def _on_a_line(workload: Workload) -> str | None:
    most = SHIFTED_GRIDS.most_types
    if workload.size <= most:
        return None
    return f"{workload.size} types; at most {most} are planned: use at most {most - _unordered(workload, 0)} wider bins"


def _on_a_plane(plane: PlanePrefixes, size: int) -> str | None:
    most = PLANE_GRIDS.most_types
    if size <= most:
        return None
    first, second = plane.shape
    return f"{first} × {second} types are {size}; at most {most} are planned: {_wider_bins((first, second), most)}"


def _beside_categories(family: CategoryFamily, workload: Workload) -> str | None:
    most, categories = CATEGORY_GRIDS.most_types, math.prod(family.sizes)
    if workload.size <= most:
        return None
    told = f"{categories} categories × {family.bins} bins are {workload.size} types, and at most {most} are planned: "
    bins = most // categories - _unordered(workload, family.axis)
    if bins < 2:
        return told + "merge categories, or ask about fewer attributes"
    return told + f"with these categories use at most {bins} bins"


def _plane_beside_categories(family: PlaneCategoryFamily, workload: Workload) -> str | None:
    most, categories = PLANE_CATEGORY_GRIDS.most_types, math.prod(family.sizes)
    if workload.size <= most:
        return None
    first, second = family.plane
    told = f"{categories} categories × {first} × {second} types are {workload.size}, and at most {most} are planned: "
    if math.isqrt(most // categories) < 2:
        return told + "merge categories, or ask about fewer attributes"
    return told + _wider_bins((first, second), most // categories)


def _wider_bins(shape: tuple[int, int], most: int) -> str:
    """Bins for the first and the second attribute of a plane of which `most` types are planned."""
    narrower = min(math.isqrt(most), *shape)
    wider = min(max(shape), most // narrower)
    first, second = (narrower, wider) if shape[0] <= shape[1] else (wider, narrower)
    return f"use wider bins, for example {first} and {second} of them"


def _unordered(workload: Workload, place: int) -> int:
    """Members of an ordered attribute that are no bins."""
    attribute = workload.domain.attributes[place]
    return attribute.size - attribute.bins if isinstance(attribute, Ordered) else 0
