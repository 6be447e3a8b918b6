"""Plans with thresholds publish the bound with each query's own type weights, and audits make it again."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.certificate import OwnTypesBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.own_type_certificates import own_types_certificate
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue


def work(kind, size, epsilon, **options):
    return SharedWork(PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, **options)))


def certificate(kind, size, epsilon, **options):
    return own_types_certificate(work(kind, size, epsilon, **options), lambda told: None)


@pytest.fixture(scope="module")
def bound():
    return lower_bound(work("prefix", 10, 3, effort=Effort.QUICK), "max", lambda told: None)


def test_it_is_published_where_it_proves_more_and_proves_what_is_published(bound):
    assert isinstance(bound, OwnTypesBound)
    assert recheck_bound(bound, builtin("prefix", 10), 3.0, "max") == bound.value
    # All ranges have every prefix, or what is left of it, among them: the same numbers prove the same.
    ranges = builtin("ranges", 10)
    rows = [int(np.flatnonzero((ranges.operator.dense() == row).all(axis=1))[0]) for row in np.tri(10)[:-1]]
    moved = replace(bound, queries=array_of(np.array(rows)[ndarray(bound.queries)], "<i4"))
    assert recheck_bound(moved, ranges, 3.0, "max") == pytest.approx(bound.value, rel=1e-12)


def test_it_proves_nothing_of_a_mean_or_of_queries_without_a_threshold(bound):
    prefix = builtin("prefix", 10)
    assert recheck_bound(bound, prefix, 3.0, "mean") is None
    assert recheck_bound(bound, builtin("histogram", 10), 3.0, "max") is None
    swapped = ndarray(bound.order).copy()
    swapped[[2, 7]] = swapped[[7, 2]]
    assert recheck_bound(replace(bound, order=array_of(swapped, "<i4")), prefix, 3.0, "max") is None
    with pytest.raises(InvalidValue, match="at most once"):
        recheck_bound(replace(bound, order=array_of(np.zeros(10), "<i4")), prefix, 3.0, "max")
    with pytest.raises(InvalidValue, match="from 0 to 8"):
        recheck_bound(replace(bound, queries=array_of(ndarray(bound.queries) + 1, "<i4")), prefix, 3.0, "max")


def test_it_is_left_out_for_a_single_threshold():
    rows = {"matrix": [[1.0] * 3 + [0.0] * 3]}
    line = {"name": "value", "kind": "ordinal", "edges": [1.0, 2.0, 3.0, 4.0, 5.0]}
    workload = parse_specification({"name": "one", "domain": [line], "queries": rows}).build()
    single = SharedWork(PlanRequest(workload, PlanningOptions.of(epsilon=2)))
    assert own_types_certificate(single, lambda told: None) is None


def test_it_is_left_out_where_it_takes_more_than_the_effort():
    assert certificate("prefix", 64, 1.5) is None
    assert certificate("prefix", 128, 2) is None
    assert certificate("prefix", 20, 2, objective="mean") is None
    assert certificate("prefix", 32, 4, effort=Effort.QUICK) is None
    assert certificate("prefix", 6, 0.25) is None


@pytest.mark.slow
def test_a_certificate_of_128_types_is_small_and_above_what_was_asked():
    """Standard effort on 127 prefix sums at ε = 4: 8 s of a processor, of which the last check takes one."""
    found = certificate("prefix", 128, 4)
    arrays = (found.order, found.queries, found.weights, found.numerators, found.multipliers)
    assert sum(len(array.data) for array in arrays) < 15_000
    assert found.value >= 0.405
    assert recheck_bound(found, builtin("prefix", 128), 4.0, "max") == found.value
