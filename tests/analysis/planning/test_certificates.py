"""Which bound a plan publishes, and that what is published proves it again."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.certificate import LowerBound, PairBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds import trace_bound
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import Progress
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue


def bound_of(kind, size, epsilon, objective, request_for="max", deadline=None, **options):
    request = PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, objective=request_for, **options))
    return lower_bound(SharedWork(request, deadline), objective, lambda *told: None)


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
        (129, "3", {}),
        (8, "3", {"effort": Effort.QUICK, "request_for": "mean"}),
        (8, "3", {"deadline": Deadline(1e-9)}),
    ],
    ids=["small ε", "many types", "large ε", "too many types", "quick, for the other objective", "no time"],
)
def test_elsewhere_the_trace_bound_is_published(size, epsilon, options):
    assert isinstance(bound_of("prefix", size, epsilon, "max", **options), LowerBound)


def test_a_quick_plan_has_them_for_its_own_objective():
    assert isinstance(bound_of("prefix", 8, "3", "mean", "mean", effort=Effort.QUICK), PairBound)


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
    levels, pairs = bound.levels.numpy(), bound.pairs.numpy()
    uneven = np.where(np.arange(8) % 2, 1.1, 0.9)
    for changed in (
        replace(bound, levels=Array.of(levels * uneven, "<f8")),
        replace(bound, pairs=Array.of(pairs[::-1].copy(), "<f8")),
        replace(bound, pairs=Array.of(3 * pairs, "<f8")),
    ):
        assert recheck_bound(changed, workload, 2.0, "mean") < bound.value
    with pytest.raises(InvalidValue, match="not negative"):
        recheck_bound(replace(bound, pairs=Array.of(pairs - 1e-6, "<f8")), workload, 2.0, "mean")
    with pytest.raises(InvalidValue, match="multipliers"):
        replace(bound, pairs=Array.of(pairs[1:], "<f8"))


def test_a_bound_tells_its_progress_at_every_step():
    told: list[Progress] = []
    work = SharedWork(PlanRequest(builtin("prefix", 12), PlanningOptions.of(epsilon=2)))
    lower_bound(work, "max", told.append)
    fractions = [step.fraction for step in told]
    assert fractions == sorted(fractions)
    # The factorization takes some dozen steps; those of the doubly non-negative bound are hundreds.
    assert len(fractions) > 200
    assert fractions[-1] <= 1
