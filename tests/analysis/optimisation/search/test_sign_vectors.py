"""Sign vectors for thresholds, intervals and boxes with a label: next to the certificate, which they attain."""

import math

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds.odd import odd_bound
from sordino_analysis.optimisation.factorization import factorize
from sordino_analysis.optimisation.search.sign_vectors import sign_design

T2 = math.tanh(0.5) ** 2


def thresholds(bins):
    return 2.0 * (np.arange(bins) >= np.arange(bins)[:, None]) - 1


def intervals(bins):
    ends = [(first, last) for first in range(bins) for last in range(first, bins)]
    return np.array([[1.0 if first <= x <= last else -1.0 for x in range(bins)] for first, last in ends])


@pytest.mark.parametrize(
    ("concepts", "most"),
    [(thresholds(16), 34.2), pytest.param(intervals(16), 49.0, marks=pytest.mark.slow)],
    ids=["thresholds", "intervals"],
)
def test_ordinal_classes_reach_the_targets_of_the_design(concepts, most):
    """At ε = 1: 33.84 and 48.5 are the certificates; half-spaces alone are 1.08 and 1.06 times the second moment."""
    design = sign_design(concepts, "max", 0)
    variance = design.value / T2 - 1
    assert variance <= most
    moment = (design.signs.T * design.chances) @ design.signs
    exact = np.einsum("ij,jk,ik->i", concepts, np.linalg.inv(moment), concepts).max()
    assert exact == pytest.approx(design.value, rel=1e-6)
    assert design.chances.sum() == pytest.approx(1)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_bound_is_attained_and_not_passed(objective):
    concepts = thresholds(6)
    labelled = np.hstack([concepts, -concepts])
    bound = odd_bound(labelled, 1.0, objective, factorize(labelled, objective, 0.01)).value
    variance = sign_design(concepts, objective, 1).value / T2 - 1
    assert bound * (1 - 1e-6) <= variance <= 1.002 * bound
