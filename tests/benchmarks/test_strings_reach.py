"""The share that is listed with 90 %: the fit finds it, and a campaign of counts lists what is common."""

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.strings.planted import PLANTED
from benchmarks.strings.reach import by_counts, share_at_power


def test_the_fit_finds_the_share_that_is_listed_with_90_percent():
    """2,000 campaigns with a slope of .6 at 10: nine in ten at 12.1; the fit errs by .05, so .3 is six errors."""
    units, rng = np.linspace(6, 13, PLANTED), np.random.default_rng(1)
    listed = rng.random((2000, PLANTED)) < norm.cdf(0.6 * (units - 10))
    assert share_at_power(listed, units) == pytest.approx(10 + norm.ppf(0.9) / 0.6, abs=0.3)


def test_a_campaign_of_counts_lists_common_strings_and_few_rare_ones():
    found = [by_counts("4", 50_000, 24, 20, seed) for seed in range(8)]
    listed = np.mean([each.listed for each in found], axis=0)
    # .6 to .8 of the planned share against 1.1 to 1.25.
    assert listed[:8].mean() < 0.5 < 0.8 < listed[-6:].mean()
    assert sum(each.wrong for each in found) < 3
