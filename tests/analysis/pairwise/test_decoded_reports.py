"""Forms from counts against loops over pairs of reports; projections against their definition."""

import numpy as np
import pytest

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_shared.errors import InvalidValue

GENERATOR = np.random.default_rng(7)
KERNEL = GENERATOR.dirichlet(np.ones(5), size=3).T
LAW = DecodedReportMoments(KERNEL, np.linalg.pinv(KERNEL))
FORM = np.array([[1.0, 2, 3], [2, 0, 1], [3, 1, 5]])


def test_a_form_is_the_mean_over_pairs_of_different_reports():
    outputs = GENERATOR.integers(5, size=12)
    reports = LAW.decoder[:, outputs].T
    expected = np.mean([a @ FORM @ b for i, a in enumerate(reports) for j, b in enumerate(reports) if i != j])
    found = DecodedReports.of(LAW, Aggregate(12, np.bincount(outputs, minlength=5)))
    assert found.form(FORM) == pytest.approx(expected, rel=1e-9)
    assert found.histogram == pytest.approx(reports.mean(axis=0))


def test_one_report_has_no_pairs():
    with pytest.raises(InvalidValue, match="two reports"):
        DecodedReports(LAW, np.array([1.0, 0, 0, 0, 0])).form(FORM)


@pytest.mark.parametrize("aggregate", [Aggregate(4, np.array([1, 3])), Aggregate(5, np.array([1, 1, 1, 1, 0]))])
def test_an_aggregate_of_another_plan_is_refused(aggregate):
    with pytest.raises(InvalidValue, match="another"):
        DecodedReports.of(LAW, aggregate)


def test_the_plausible_histogram_is_one_and_leaves_no_type_out():
    found = DecodedReports(LAW, np.array([0.0, 90, 0, 0, 10])).plausible
    assert found.sum() == pytest.approx(1)
    assert found.min() > 0


def test_the_plausible_histogram_is_that_of_the_users_if_they_are_many():
    held = np.array([0.1, 0.0, 0.9])
    found = DecodedReports(LAW, GENERATOR.multinomial(400_000, KERNEL @ held).astype(float)).plausible
    # Standard errors are about .003, so five of them are passed once in a million times.
    assert found == pytest.approx(held, abs=0.015)


def test_the_plausible_histogram_is_that_of_the_outputs_where_the_decoder_is_unbiased_for_the_form_only():
    """A form that does not tell (1, −2, 1) from nothing leaves the decoder free to add it: ĥ is then no histogram."""
    counts = GENERATOR.multinomial(5000, KERNEL @ np.array([0.1, 0.0, 0.9])).astype(float)
    free = DecodedReportMoments(KERNEL, LAW.decoder + np.outer([1.0, -2.0, 1.0], [0.3, -0.4, 0.2, 0.5, 0.9]))
    assert DecodedReports(free, counts).plausible == pytest.approx(DecodedReports(LAW, counts).plausible)
