"""Which bound a plan publishes, and that what is published proves it again."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.certificate import LowerBound, OwnTypesBound, PairBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds import doubly_nonnegative_bound, trace_bound
from sordino_analysis.planning import pair_certificates
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import Progress
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue


def bound_of(kind, size, epsilon, objective, request_for="max", **options):
    request = PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, objective=request_for, **options))
    return lower_bound(SharedWork(request, None), objective, lambda *told: None)


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize(
    ("kind", "size", "epsilon", "least_gain"), [("prefix", 8, "1", 1.008), ("ranges", 8, "2", 1.05)]
)
def test_pairs_are_published_where_they_gain_and_prove_what_is_published(kind, size, epsilon, objective, least_gain):
    bound = bound_of(kind, size, epsilon, objective, request_for="mean")
    workload = builtin(kind, size)
    assert isinstance(bound, PairBound)
    assert recheck_bound(bound, workload, float(epsilon), objective) == bound.value
    assert bound.value > least_gain * trace_bound(workload.operator.dense(), float(epsilon), objective).value


@pytest.mark.parametrize(
    ("size", "epsilon", "options"),
    [
        (8, "0.5", {"request_for": "mean"}),
        (17, "1", {"request_for": "mean"}),
        (8, "12", {"request_for": "mean"}),
        (129, "2", {}),
        (8, "3", {"effort": Effort.QUICK, "request_for": "mean"}),
    ],
    ids=["small ε", "many types", "large ε", "too many types", "quick, for the other objective"],
)
def test_elsewhere_the_trace_bound_is_published(size, epsilon, options):
    assert isinstance(bound_of("prefix", size, epsilon, "max", **options), LowerBound)


def test_a_quick_plan_has_them_for_its_own_objective():
    assert isinstance(bound_of("prefix", 8, "3", "mean", "mean", effort=Effort.QUICK), PairBound)


@pytest.mark.parametrize(
    ("size", "largest", "least"), [(100, 32, 0.003), pytest.param(400, 128, 0.01, marks=pytest.mark.slow)]
)
def test_some_of_many_types_prove_a_mean_where_the_trace_bound_of_all_proves_little(monkeypatch, size, largest, least):
    """With as many types as the bound takes, and with fewer, which takes a fraction of the 14 s."""
    monkeypatch.setattr(pair_certificates, "LARGEST_TYPES", largest)
    workload, bound = builtin("prefix", size), bound_of("prefix", size, "8", "mean")
    assert isinstance(bound, PairBound)
    assert trace_bound(workload.operator.dense(), 8.0, "mean").value < 0.2 * bound.value
    assert bound.value > least
    assert recheck_bound(bound, workload, 8.0, "mean") == bound.value
    types, weights = ndarray(bound.types), ndarray(bound.query_weights)
    assert len(types) == largest
    # The first and the last query are constant on these types: they count in the mean, and nothing is proved of them.
    idle = np.flatnonzero(np.ptp(workload.operator.dense()[:, types], axis=1) == 0)
    assert {0, size - 2} <= set(idle.tolist())
    assert weights == pytest.approx(1 / (size - 1))
    more = np.where(np.isin(np.arange(size - 1), idle), 0, 1 / (size - 1 - len(idle)))
    assert recheck_bound(replace(bound, query_weights=array_of(more, "<f8")), workload, 8.0, "mean") is None


@pytest.mark.slow
def test_some_of_many_types_prove_a_maximum_where_the_trace_bound_of_all_proves_little():
    """127 thresholds of 399 with type weights of their own, in 24 s of a processor."""
    workload, bound = builtin("prefix", 400), bound_of("prefix", 400, "8", "max")
    assert isinstance(bound, OwnTypesBound)
    assert trace_bound(workload.operator.dense(), 8.0, "max").value == 0
    assert bound.value > 0.019
    assert recheck_bound(bound, workload, 8.0, "max") == bound.value


def test_queries_that_some_types_do_not_tell_apart_are_weighed_once(monkeypatch):
    """Of all 299 ranges of 24 types six of them tell 20 apart, and those have all of the weight."""
    monkeypatch.setattr(pair_certificates, "LARGEST_TYPES", 6)
    request = PlanRequest(builtin("ranges", 24), PlanningOptions.of(epsilon=4))
    bound = pair_certificates.pairs_certificate(SharedWork(request), "max", lambda told: None)
    assert ndarray(bound.types).tolist() == [2, 6, 10, 14, 18, 22]
    assert 0 < np.count_nonzero(ndarray(bound.query_weights)) <= 20
    few = doubly_nonnegative_bound(builtin("ranges", 6).operator.dense(), 4.0, "max").value
    assert bound.value == pytest.approx(few, rel=0.01)
    assert recheck_bound(bound, builtin("ranges", 24), 4.0, "max") == bound.value


def test_a_bound_of_some_types_is_one_of_the_queries_on_them():
    workload, types = builtin("prefix", 12), np.array([1, 4, 5, 9, 10])
    part = builtin("prefix", 5)
    matrix = workload.operator.dense()[:, types]
    found = doubly_nonnegative_bound(matrix, 2.0, "max")
    of_part = doubly_nonnegative_bound(part.operator.dense(), 2.0, "max").value
    assert found.value == pytest.approx(of_part, rel=1e-3)
    bound = PairBound(
        value=found.value,
        query_weights=array_of(found.query_weights, "<f8"),
        types=array_of(types, "<i4"),
        type_weights=array_of(found.type_weights, "<f8"),
        levels=array_of(found.levels, "<f8"),
        pairs=array_of(found.pairs[np.triu_indices(5, 1)], "<f8"),
    )
    assert recheck_bound(bound, workload, 2.0, "max") == found.value
    assert recheck_bound(bound, workload, 2.0, "mean") is None
    assert recheck_bound(bound, builtin("prefix", 13), 2.0, "max") is None
    moved = replace(bound, types=array_of(types - 1, "<i4"))
    assert recheck_bound(moved, workload, 2.0, "max") < 0.9 * found.value
    for wrong in ([1, 4, 5, 9, 12], [1, 4, 5, 9, 9], [-1, 4, 5, 9, 10]):
        with pytest.raises(InvalidValue, match="differ and are from 0 to 11"):
            recheck_bound(replace(bound, types=array_of(np.array(wrong), "<i4")), workload, 2.0, "max")


def test_the_maximum_has_at_least_the_bound_of_the_mean(plan_of):
    """A quick plan for the mean climbs for its own objective only, and that proves more of the maximum too."""
    certificate = plan_of("prefix", 16, "8", "mean", "hyperplane_codebook").analyst.certificate
    assert bound_of("prefix", 16, "8", "max", "mean", effort=Effort.QUICK).value < certificate.mean.value
    assert certificate.max.value == certificate.mean.value > 0
    assert recheck_bound(certificate.max, builtin("prefix", 16), 8.0, "max") == certificate.max.value


def test_the_mean_takes_no_weights_of_the_maximum():
    workload, bound = builtin("prefix", 8), bound_of("prefix", 8, "2", "max", request_for="mean")
    assert recheck_bound(bound, workload, 2.0, "max") == bound.value
    assert recheck_bound(bound, workload, 2.0, "mean") is None
    assert recheck_bound(bound, builtin("prefix", 9), 2.0, "max") is None
    assert recheck_bound(bound, builtin("prefix", 8), 1.9, "max") != bound.value


def test_multipliers_that_were_touched_prove_less_or_are_refused():
    workload, bound = builtin("prefix", 8), bound_of("prefix", 8, "2", "mean")
    levels, pairs = ndarray(bound.levels), ndarray(bound.pairs)
    uneven = np.where(np.arange(8) % 2, 1.1, 0.9)
    for changed in (
        replace(bound, levels=array_of(levels * uneven, "<f8")),
        replace(bound, pairs=array_of(pairs[::-1].copy(), "<f8")),
        replace(bound, pairs=array_of(3 * pairs, "<f8")),
    ):
        assert recheck_bound(changed, workload, 2.0, "mean") < bound.value
    with pytest.raises(InvalidValue, match="not negative"):
        recheck_bound(replace(bound, pairs=array_of(pairs - 1e-6, "<f8")), workload, 2.0, "mean")
    with pytest.raises(InvalidValue, match="multipliers"):
        replace(bound, pairs=array_of(pairs[1:], "<f8"))


def test_a_bound_tells_its_progress_at_every_step():
    told: list[Progress] = []
    work = SharedWork(PlanRequest(builtin("prefix", 12), PlanningOptions.of(epsilon=2)))
    lower_bound(work, "max", told.append)
    fractions = [step.fraction for step in told]
    assert fractions == sorted(fractions)
    # The factorization takes some dozen steps; those of the doubly non-negative bound are hundreds.
    assert len(fractions) > 200
    assert fractions[-1] <= 1
