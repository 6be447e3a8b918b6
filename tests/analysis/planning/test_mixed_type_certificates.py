"""Plans with many thresholds publish the bound with two type weights mixed where it proves most; audits remake it."""

from dataclasses import fields, replace

import numpy as np
import pytest

from sordino_analysis.documents.certificate import MixedTypesBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.mixed_type_certificates import mixed_types_certificate
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue


def work(kind, size, epsilon, **options):
    return SharedWork(PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, **options)))


def certificate(kind, size, epsilon, **options):
    return mixed_types_certificate(work(kind, size, epsilon, **options), lambda told: None)


@pytest.fixture(scope="module")
def bound():
    return lower_bound(work("prefix", 24, 1), "max", lambda told: None)


def test_it_is_published_where_it_proves_more_and_proves_what_is_published(bound):
    assert isinstance(bound, MixedTypesBound)
    assert recheck_bound(bound, builtin("prefix", 24), 1.0, "max") == bound.value
    ranges = builtin("ranges", 24)
    rows = [int(np.flatnonzero((ranges.operator.dense() == row).all(axis=1))[0]) for row in np.tri(24)[:-1]]
    moved = replace(bound, queries=array_of(np.array(rows)[ndarray(bound.queries)], "<i4"))
    assert recheck_bound(moved, ranges, 1.0, "max") == pytest.approx(bound.value, rel=1e-12)


def test_it_proves_nothing_of_a_mean_or_of_queries_without_a_threshold(bound):
    assert recheck_bound(bound, builtin("prefix", 24), 1.0, "mean") is None
    assert recheck_bound(bound, builtin("histogram", 24), 1.0, "max") is None
    with pytest.raises(InvalidValue, match="at most once"):
        recheck_bound(replace(bound, order=array_of(np.zeros(24), "<i4")), builtin("prefix", 24), 1.0, "max")


def test_every_number_of_it_counts_or_proves_as_much(bound):
    """A changed number is refused, or proves no more than it did by itself before."""
    prefix, rng = builtin("prefix", 24), np.random.default_rng(2)
    for field in fields(bound):
        numbers = getattr(bound, field.name)
        if isinstance(numbers, Array) and numbers.element == "<f8":
            changed = ndarray(numbers).copy()
            changed.flat[rng.integers(changed.size)] += 0.1 * np.abs(changed).max()
            try:
                proved = recheck_bound(replace(bound, **{field.name: array_of(changed, "<f8")}), prefix, 1.0, "max")
            except InvalidValue:
                continue
            assert proved is not None
            assert proved <= bound.value * 1.01, field.name


def test_it_is_left_out_where_others_prove_more():
    assert certificate("prefix", 16, 1) is None
    assert certificate("prefix", 24, 2) is None
    assert certificate("prefix", 24, 0.5) is None
    assert certificate("prefix", 24, 1, objective="mean") is None
    assert certificate("prefix", 24, 1, effort=Effort.QUICK) is None
    assert certificate("histogram", 24, 1) is None
