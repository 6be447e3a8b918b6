"""Covariances of decoded reports against enumeration, and the variance of a form against simulated users."""

import numpy as np
import pytest

from sordino_analysis.documents.decoders import ScaledHistogramDecoder
from sordino_analysis.evaluation.integer_kernels import histogram_decoder, integer_kernel
from sordino_analysis.pairwise.decoded_report_moments import DecodedReportMoments
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import SubsetSelection

HISTOGRAM = np.array([0.1, 0.4, 0.3, 0.2])
FORM = np.array([[0.0, 1, 2, 1], [1, 0.5, 1, 2], [2, 1, 0, 3], [1, 2, 3, 1]])


@pytest.fixture(scope="module")
def law():
    members = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    guarantee = PureEpsilon.of(1)
    low = np.full(6, 0.0)
    low[:4], low[4:] = 1.0, 0.5
    low /= low.sum() + np.expm1(1.0) * 1.5
    kernel = integer_kernel(low, members, guarantee)
    return DecodedReportMoments.of(kernel, histogram_decoder(kernel, np.full(4, 0.25)))


def test_the_covariance_is_that_of_enumerated_reports(law):
    expected = np.zeros((4, 4))
    for cell, share in enumerate(HISTOGRAM):
        mean = law.decoder @ law.kernel[:, cell]
        for output, chance in enumerate(law.kernel[:, cell]):
            off = law.decoder[:, output] - mean
            expected += share * chance * np.outer(off, off)
    assert law.covariance(HISTOGRAM) == pytest.approx(expected, abs=1e-9)
    assert law.misses(FORM) < 1e-12


def test_the_variance_of_a_form_is_that_of_simulated_users_and_not_15_percent_off(law):
    counts, runs = np.array([20, 80, 60, 40]), 40_000
    generator = np.random.default_rng(1)
    outputs = sum(generator.multinomial(n, law.kernel[:, x], size=runs) for x, n in enumerate(counts))
    values = np.array([DecodedReports(law, found.astype(float)).form(FORM) for found in outputs])
    truth = (counts @ FORM @ counts - np.diag(FORM) @ counts) / (200 * 199)
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(runs)
    predicted = sum(law.form_variance(FORM, counts / 200, 200))
    # The standard error of a variance from 40,000 runs is .7 %, and what the formula leaves out is O(1/n) of it.
    assert values.var() == pytest.approx(predicted, rel=0.04)
    assert values.var() != pytest.approx(1.15 * predicted, rel=0.04)
    assert values.var() != pytest.approx(predicted / 1.15, rel=0.04)


def test_reports_that_are_not_counted_are_refused():
    with pytest.raises(InvalidValue, match="finite kernel"):
        DecodedReportMoments.of(
            SubsetSelection.for_guarantee(4, 2, PureEpsilon.of(1)), ScaledHistogramDecoder(1.0, 0.0)
        )
