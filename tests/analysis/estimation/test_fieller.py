"""Fieller's sets against the tests they are made of, on a grid of ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino_analysis.estimation.fieller import JointErrors, RatioSet, fieller_set

GRID = np.linspace(-40, 40, 8001)


@pytest.mark.parametrize("bias", [0.0, 0.05])
def test_a_set_has_the_ratios_whose_difference_is_no_surprise(bias: float) -> None:
    rng, shapes = np.random.default_rng(2), set[str]()
    for _ in range(150):
        numerator, denominator = rng.normal(size=2)
        own, other = rng.uniform(0.01, 0.6, 2)
        errors = JointErrors(
            numerator=own,
            covariance=float(rng.uniform(-1, 1) * math.sqrt(own * other)),
            denominator=other,
            numerator_bias=bias,
            denominator_bias=bias,
        )
        found = fieller_set(numerator, denominator, errors, 1.5)
        shapes.add(found.shape)
        deviations = np.sqrt(own - 2 * GRID * errors.covariance + GRID**2 * other)
        kept = np.abs(numerator - GRID * denominator) <= 1.5 * deviations + bias * (1 + np.abs(GRID)) + 1e-12
        held = np.array([found.holds(ratio) for ratio in GRID])
        assert not (kept & ~held).any()
        if not bias or found.shape == "interval":
            # Ends that fall on a place of the grid may count to either side.
            assert (held & ~kept).sum() <= 1
    assert shapes == ({"interval", "anything"} if bias else {"interval", "rays", "anything"})


def test_without_errors_it_is_the_ratio_itself() -> None:
    found = fieller_set(0.1, 0.4, JointErrors(numerator=0.0, covariance=0.0, denominator=0.0), 1.96)
    assert (found.low, found.high) == (pytest.approx(0.25), pytest.approx(0.25))


def test_a_set_is_cut_to_what_ratios_can_be() -> None:
    assert RatioSet(shape="interval", low=-0.2, high=0.4).within((0, 1)) == RatioSet(shape="interval", low=0, high=0.4)
    both = RatioSet(shape="rays", low=0.1, high=0.6).within((0, 1))
    assert both == RatioSet(shape="rays", low=0.1, high=0.6)
    assert RatioSet(shape="rays", low=-2, high=3).within((0, 1)).shape == "anything"
