"""Aldà and Simon's scheme as they write it: unbiased on evenly spread databases, with the stated noise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks.references.laplace_scheme import LaplaceScheme
from sordino_analysis.average_case.rule_classes import Literals
from sordino_analysis.optimisation.arrangements.separators import box, box_bits, decision_list
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

ONE = PureEpsilon.of(1)


def free_bits(count):
    return np.array([[0] * count, [1] * count])


def answered(scheme, bits, half_space, truth, users, seed):
    """(error, its bound) of the answer for users drawn with a share `truth` of yes, evenly from both classes."""
    rng = np.random.default_rng(seed)
    predicted = half_space.predicts(bits)
    positive, negative = bits[predicted], bits[~predicted]
    yes = int(users * truth)
    held = np.vstack(
        [positive[rng.integers(len(positive), size=yes)], negative[rng.integers(len(negative), size=users - yes)]]
    )
    sums = scheme.reports(held, SeededRandomness(seed)).sum(axis=0)
    for direction in (np.array(half_space.weights, dtype=float), positive.mean(0) - negative.mean(0)):
        variance = scheme.noise_variance(direction, negative.mean(0), positive.mean(0))
        found = scheme.answer(sums, users, direction, negative.mean(0), positive.mean(0))
        # What drawing the users adds is below the noise.
        yield found - truth, 6 * np.sqrt(2 * variance / users)


def test_a_decision_list_is_answered_with_either_direction():
    """Six standard errors: one false alarm in 5·10^8."""
    bits = np.array(list(product((False, True), repeat=4)))
    rule = decision_list(4, [(0, 1, 1), (1, 1, 0), (2, 0, 1)], 0)
    scheme = LaplaceScheme.of(free_bits(4), ONE, 60)
    assert scheme.law.steps == 4
    assert scheme.law.holds(ONE)
    for error, reach in answered(scheme, bits, rule, 0.3, 60_000, 1):
        assert abs(error) < reach < 0.4


def test_a_box_is_answered_from_threshold_bits():
    values = np.array(list(product(range(4), repeat=2)))
    bits = box_bits(values, 4)
    scheme = LaplaceScheme.of(box_bits(np.array([[0, 0], [3, 3]]), 4).astype(np.int64), ONE, 200)
    # Neighbouring values differ in two bits an attribute at most: 2·2·3 in all, not the 2·16 of all bits.
    assert scheme.law.steps == 12 == max(int((a ^ b).sum()) for a in bits for b in bits)
    for error, reach in answered(scheme, bits, box([(1, 2), (0, 2)], 4), 0.6, 60_000, 2):
        assert abs(error) < reach < 1.5


def test_reports_have_the_law_of_the_integers():
    """Mean and variance of 40,000 outputs within 6 standard errors; a law with ε = 1.1 is 20 away."""
    scheme = LaplaceScheme.of(free_bits(2), ONE, 30)
    drawn = scheme.reports(np.ones((20_000, 2), dtype=bool), SeededRandomness(3)).ravel()
    means, variances = scheme.law.moments
    assert abs(drawn.mean() - means[1]) < 6 * np.sqrt(variances[1] / len(drawn))
    assert drawn.var() == pytest.approx(variances[1], rel=6 * np.sqrt(5 / len(drawn)))
    assert scheme.report_bytes == 2
    assert LaplaceScheme.of(free_bits(16), ONE, 300).report_bytes == 20


def test_a_direction_that_tells_nothing_is_refused():
    scheme = LaplaceScheme.of(free_bits(2), ONE, 30)
    means = Literals(2, ((0, True),)).means()
    with pytest.raises(InvalidValue, match="take another one"):
        scheme.answer(np.zeros(2, dtype=np.int64), 10, np.array([0.0, 1.0]), means.negative, means.positive)
    with pytest.raises(InvalidValue, match="are bits"):
        LaplaceScheme.of(np.array([[0, 2], [1, 0]]), ONE, 30)
