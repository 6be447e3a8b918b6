"""The bound for intervals within members of other attributes, against the trace bound of the dense matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.category_families import category_family_of
from sordino_analysis.evaluation.grids.plane_families import plane_category_family_of
from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.planning.interval_certificates import (
    categories_bound,
    plane_categories_bound,
    recheck_categories,
    recheck_plane_categories,
)
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.vectorized.arrays import array_of


def asked(sizes: tuple[int, ...], bins: int, queries: Any) -> Workload:
    domain: list[dict[str, Any]] = [
        {"name": f"c{place}", "kind": "categorical", "labels": [f"v{member}" for member in range(size)]}
        for place, size in enumerate(sizes)
    ]
    domain.insert(1, {"name": "x", "kind": "integers", "low": 0, "high": bins - 1})
    return parse_specification({"name": "beside", "domain": domain, "queries": queries}).build()


def both(workload: Workload, epsilon: float) -> tuple[float, float]:
    """The bound in closed form, and that of the dense matrix with the same weights."""
    family = category_family_of(workload)
    assert family is not None
    weights = workload.shares_of_mean
    even = np.full(workload.size, 1 / workload.size)
    exact = recheck(workload.weighted_matrix(), epsilon, weights, even)
    return categories_bound(family, epsilon).value, exact


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_it_is_the_trace_bound_of_even_weights(kind: str, epsilon: float) -> None:
    bins = 64 if kind == "prefix" else 16
    found, exact = both(asked((3,), bins, {"c0": "histogram", "x": kind}), epsilon)
    assert found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "parts",
    [
        [{"queries": {"c0": "histogram", "x": "prefix"}}, {"queries": {"c0": "total", "x": "prefix"}, "weight": 3}],
        [{"queries": {"c0": "histogram", "x": "total"}}, {"queries": {"c0": "total", "x": "prefix"}}],
    ],
)
def test_a_stack_of_one_kind_of_intervals_is_bounded_as_tightly(parts: list[dict[str, Any]]) -> None:
    found, exact = both(asked((3,), 64, {"stack": parts}), 1.0)
    assert found == pytest.approx(exact, rel=1e-9)


def test_two_attributes_without_order_are_bounded_as_tightly() -> None:
    parts = [
        {"queries": {"c0": a, "c1": b, "x": "prefix"}} for a, b in (("histogram", "total"), ("total", "histogram"))
    ]
    found, exact = both(asked((3, 2), 16, {"stack": parts}), 1.0)
    assert found == pytest.approx(exact, rel=1e-9)


def test_a_stack_of_several_kinds_is_bounded_from_below() -> None:
    parts = [{"queries": {"c0": "histogram", "x": kind}} for kind in ("prefix", "histogram")]
    found, exact = both(asked((3,), 64, {"stack": parts}), 1.0)
    assert 0.6 * exact < found <= exact * (1 + 1e-9)


def test_a_recheck_refuses_densities_that_are_not_even() -> None:
    family = category_family_of(asked((3,), 64, {"c0": "histogram", "x": "prefix"}))
    assert family is not None
    bound = categories_bound(family, 1.0)
    assert recheck_categories(bound, family, 1.0) == bound.value
    uneven = replace(bound, type_density=array_of(np.array([1.0, 2.0]), "<f8"))
    assert recheck_categories(uneven, family, 1.0) is None


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("kinds", [("prefix", "prefix"), ("ranges", "prefix")])
def test_of_two_ordered_attributes_it_is_below_the_trace_bound_and_near(kinds: tuple[str, str], epsilon: float) -> None:
    domain = [
        {"name": "c", "kind": "categorical", "labels": ["u", "v", "w"]},
        *({"name": name, "kind": "integers", "low": 0, "high": 4} for name in "xy"),
    ]
    for category in ("histogram", "total"):
        queries = {"c": category, **dict(zip("xy", kinds, strict=True))}
        workload = parse_specification({"name": "plane", "domain": domain, "queries": queries}).build()
        family = plane_category_family_of(workload)
        assert family is not None
        even = np.full(workload.size, 1 / workload.size)
        exact = recheck(workload.weighted_matrix(), epsilon, workload.shares_of_mean, even)
        bound = plane_categories_bound(family, epsilon)
        assert (0.55 if category == "histogram" else 0.0) * exact < bound.value <= exact * (1 + 1e-9)
        assert recheck_plane_categories(bound, family, epsilon) == bound.value
        uneven = replace(bound, type_density=array_of(np.array([1.0, 2.0]), "<f8"))
        assert recheck_plane_categories(uneven, family, epsilon) is None
