"""The band of a histogram from few reports, against campaigns drawn through the counts of outputs."""

import numpy as np
import pytest

from benchmarks.coverage.campaigns import aggregates, shares
from sordino_analysis.estimation.linear import LinearEstimator

USERS, TYPES = 200, 16


@pytest.mark.parametrize("law", ["uniform", "one type"])
def test_the_band_is_as_wide_as_campaigns_need(plan_of, monkeypatch, law):
    """The band's quantile is the .95 quantile over 1,200 campaigns of the largest error in its own standard errors.

    That of normal draws over fixed variances is .25 above it, since the variance taken for a type grows with its error.
    The quantile of campaigns has a standard error of .03: four of them.
    """
    plan = plan_of("histogram", TYPES, "1", mechanism="randomized_response")
    estimator, histogram = LinearEstimator.of(plan.device, plan.analyst), shares(law, TYPES)
    drawn = list(aggregates(plan.device.randomizer, histogram, USERS, 1200, seed=3))
    made = [estimator.estimate(aggregate) for _, aggregate in drawn[:8]]
    quantile = np.mean([(each.band_upper - each.unbiased) / each.standard_error for each in made])
    # What follows asks for answers and standard errors only.
    monkeypatch.setattr(LinearEstimator, "_band", lambda *_: 1.0)
    monkeypatch.setattr(LinearEstimator, "_normality", lambda *_: ())
    found = ((estimator.estimate(aggregate), held / USERS) for held, aggregate in drawn)
    largest = [np.abs((each.unbiased - truth) / each.standard_error).max() for each, truth in found]
    assert quantile == pytest.approx(np.quantile(largest, 0.95), abs=0.12)
