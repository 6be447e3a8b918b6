"""Weighted Holm and Clopper–Pearson, from their definitions; levels and chances of a plan."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from sordino_analysis.strings.certification import certify, weights_of
from sordino_analysis.strings.chances import StringChances, best_label_bits, label_variance
from sordino_analysis.strings.held_out import HeldOutCounts, clopper_pearson
from sordino_analysis.strings.levels import LevelPlan, piece_ends
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened, FieldLabel
from tests.drawn_strings import DrawnStrings

CHANCES = StringChances(Fraction(3, 4), Fraction(1, 4))


def test_the_list_is_that_of_the_closed_test() -> None:
    """Holm lists i where every set of hypotheses with i is refused by a weighted Bonferroni test."""
    rng = np.random.default_rng(1)
    sizes = set()
    for _ in range(200):
        counts, weights = rng.integers(8, 40, size=4), weights_of(rng.random(4))
        found = certify(HeldOutCounts(counts, 60), CHANCES, weights, 0.2).certified
        values = binom.sf(counts - 1, 60, 0.25)
        for item in range(4):
            others = [each for each in range(4) if each != item]
            sets = [[item, *some] for count in range(4) for some in itertools.combinations(others, count)]
            refused = all(any(values[i] <= 0.1 * weights[i] / weights[each].sum() for i in each) for each in sets)
            assert found[item] == refused
        sizes.add(int(found.sum()))
    assert sizes == {0, 1, 2, 3, 4}


def test_intervals_hold_their_chance() -> None:
    counts = np.array([0, 1, 17, 59, 60])
    errors = np.array([0.02, 0.01, 0.05, 0.03, 0.02])
    ends = clopper_pearson(counts, 60, errors)
    assert (ends[0, 0], ends[-1, 1]) == (0.0, 1.0)
    for count, error, (low, high) in zip(counts, errors, ends, strict=True):
        if count:
            assert binom.sf(count - 1, 60, low) == pytest.approx(error / 2)
        if count < 60:
            assert binom.cdf(count, 60, high) == pytest.approx(error / 2)


def test_intervals_for_all_texts_at_once_have_both_ends() -> None:
    """At an error of 2^-64, of which 1 − error is 1 in binary64."""
    ((low, high),) = clopper_pearson(np.array([400]), 1000, np.array([2.0**-64]))
    assert binom.sf(399, 1000, low) == pytest.approx(2.0**-65)
    assert binom.cdf(400, 1000, high) == pytest.approx(2.0**-65)
    # Some nine standard errors on either side.
    assert 0.26 < low < high < 0.55


def test_list_and_intervals_have_half_of_the_error_each() -> None:
    found = certify(HeldOutCounts(np.array([30]), 60), CHANCES, np.ones(1), 0.1)
    low, high = clopper_pearson(np.array([30]), 60, np.array([0.05]))[0]
    assert found.interval[0].tolist() == pytest.approx([(low - 0.25) / 0.5, (high - 0.25) / 0.5])
    # The least count whose p-value is below half of the error.
    least = int(binom.isf(0.05, 60, 0.25)) + 1
    assert certify(HeldOutCounts(np.array([least]), 60), CHANCES, np.ones(1), 0.1).certified[0]
    assert not certify(HeldOutCounts(np.array([least - 1]), 60), CHANCES, np.ones(1), 0.1).certified[0]
    assert found.value[0] == pytest.approx((30 / 60 - 0.25) / 0.5)


def test_each_interval_has_the_share_of_its_weight_of_the_error() -> None:
    counts, weights = np.array([30, 20, 15]), np.array([0.7, 0.2, 0.1])
    found = certify(HeldOutCounts(counts, 60), CHANCES, weights, 0.1)
    for count, weight, (low, high) in zip(counts, weights, found.interval * 0.5 + 0.25, strict=True):
        if count > 20:
            assert binom.sf(count - 1, 60, low) == pytest.approx(0.05 * weight / 2)
        assert binom.cdf(count, 60, high) == pytest.approx(0.05 * weight / 2)


def test_weights_sum_to_one_and_none_is_below_a_thousandth_of_the_largest() -> None:
    weights = weights_of(np.array([1.0, 0.5, 1e-12]))
    assert weights.sum() == pytest.approx(1)
    assert weights[0] == 2 * weights[1] == pytest.approx(1000 * weights[2])


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "6"])
def test_chances_and_the_label_are_those_of_the_shipped_integers(epsilon: str) -> None:
    """p and q by adding up the weights of all labels; the label by trying all."""
    campaign = DrawnStrings(epsilon=epsilon, depth=16)
    randomizer = campaign.strings.randomizer
    bits = best_label_bits(float(epsilon))
    weights = [randomizer.high if z == 0 else randomizer.low for z in range(1 << bits)]
    found = StringChances.of(randomizer)
    assert found.own == Fraction(weights[0], sum(weights))
    assert found.other == sum(Fraction(1, 1 << bits) * Fraction(each, sum(weights)) for each in weights)
    assert found.variance == pytest.approx(label_variance(float(epsilon), bits), rel=1e-6)
    variances = {each: label_variance(float(epsilon), each) for each in range(1, 10)}
    assert variances[bits] <= 1.05 * min(variances.values())
    assert all(variances[each] > 1.05 * min(variances.values()) for each in range(1, bits))


def test_other_levels_have_no_chances() -> None:
    levels = DrawnStrings(depth=16).strings.randomizer.levels
    mixed = Coarsened.for_guarantee(
        (1 << 64, 1 << 64),
        [levels[0], type(levels[1])(levels[1].chance, levels[1].partition, FieldLabel(3), b"\x01")],
        DrawnStrings().device.guarantee,
    )
    with pytest.raises(InvalidValue, match="one field label"):
        StringChances.of(mixed)


def test_published_levels() -> None:
    """The page's figures: 20 + 14 + 14 bits, p_W .24, 10.5 units of √(V/n) at 48 bits and a beam of 1,000."""
    plan = LevelPlan(48, 1000, 0.05)
    assert (plan.widths, round(plan.held_out, 2), round(plan.found, 1)) == ((20, 14, 14), 0.25, 10.5)
    assert [round(plan.found * math.sqrt(label_variance(e, best_label_bits(e)) / 1e6), 4) for e in (1, 2, 4)] == [
        0.0202,
        0.0089,
        0.0029,
    ]
    assert LevelPlan(96, 1000, 0.05).widths[0] == 20
    for depth in (8, 16, 20, 21, 22, 24, 34, 48, 90, 96, 512):
        plan = LevelPlan(depth, 1000, 0.05)
        assert plan.ends == piece_ends(depth)
        assert sum(plan.widths) == depth
        assert max(plan.widths[1:], default=0) <= 14
        assert (sum(plan.chances), min(plan.chances) > 0) == (1 << 32, True)
        assert plan.chances[0] / 2**32 == pytest.approx(plan.held_out, abs=1e-6)
