"""Intervals at a large ε, where few reports are noise: either they hold as often as they say, or a warning says not."""

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.coverage.measure import measured
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness

TYPES = 16
# A right law is refused once in 10^4 runs of a test; seeds are fixed, so it is not refused at all.
FALSE_ALARM = 1e-4
LAWS = {"concentrated": np.where(np.arange(TYPES) == 5, 0.97, 0.03 / (TYPES - 1)), "even": np.full(TYPES, 1 / TYPES)}


def warnings(estimator, histogram, users, number):
    """The warnings of every campaign."""
    randomizer, found = estimator.device.randomizer, []
    for seed in range(number):
        cells = np.random.default_rng(seed).choice(TYPES, size=users, p=histogram).astype(np.int64)
        sums = accumulate(randomizer, randomize_many(randomizer, cells, SeededRandomness(seed)))
        found.append(estimator.estimate(Aggregate(users, sums)).warnings)
    return found


def least(number):
    """The share that a level of 95 % falls below with the chance of a false alarm; queries count as one trial."""
    return float(binom.ppf(FALSE_ALARM, number, 0.95)) / number - 0.0031


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("epsilon", "users"), [("4", 500), ("4", 5000), ("8", 500), ("8", 5000), ("12", 500), ("12", 5000)]
)
@pytest.mark.parametrize("mechanism", ["randomized_response", "subset_selection"])
def test_the_level_holds_or_the_warning_is_there(plan_of, mechanism, epsilon, users, law):
    number, plan = 400, plan_of("histogram", TYPES, epsilon, mechanism=mechanism)
    found = measured(LinearEstimator.of(plan.device, plan.analyst), LAWS[law], users, number)
    assert min(found["interval"], found["population"]) >= least(number) or found["warned"] > 0
    assert found["band"] >= least(number) or found["band_warned"] == 1
    assert found["misses"] == 0


def test_a_level_that_is_lost_is_warned_of(plan_of):
    """At ε = 8 two or three of 500 reports are noise: the reporters' intervals hold too seldom, always with a warning.

    Those for the population hold, since a type that nobody reports is given room for the few who may hold it.
    """
    plan = plan_of("histogram", TYPES, "8", mechanism="randomized_response")
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    found = measured(estimator, LAWS["concentrated"], 500, 400)
    assert found["interval"] < least(400)
    assert found["population"] >= least(400)
    for texts in warnings(estimator, LAWS["concentrated"], 500, 20):
        assert any("expected to hold" in text for text in texts)
