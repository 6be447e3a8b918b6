"""The bound that plans of prefix sums of two attributes publish, made again from what is published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.documents.certificate import IntervalBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of


def plane(*, missing: bool = False) -> Workload:
    domain = [{"name": name, "kind": "integers", "low": 0, "high": 63, "missing": missing} for name in "ab"]
    return parse_specification({"name": "plane", "domain": domain, "queries": "prefix"}).build()


@pytest.mark.parametrize("objective", ["mean", "max"])
@pytest.mark.parametrize(("missing", "value"), [(False, 53.6373), (True, 53.6242)])
def test_prefix_sums_of_two_attributes_have_a_bound_that_is_rechecked(
    objective: Objective, missing: bool, value: float
) -> None:
    workload = plane(missing=missing)
    options = PlanningOptions.of(epsilon=1.0, objective=objective)
    bound = lower_bound(SharedWork(PlanRequest(workload, options)), objective, ignore_progress)
    assert isinstance(bound, IntervalBound)
    assert bound.value == pytest.approx(value, abs=1e-4)
    assert recheck_bound(bound, workload, 1.0, objective) == pytest.approx(bound.value, rel=1e-12)
    uneven = replace(bound, query_density=array_of(np.ones(2), "<f8"))
    assert recheck_bound(uneven, workload, 1.0, objective) is None
