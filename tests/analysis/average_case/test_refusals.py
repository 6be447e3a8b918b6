"""Bounds on what any ε-LDP scheme can do on average over rules, against random and best kernels."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sordino_analysis.average_case import figures
from sordino_shared.errors import InvalidValue

CELLS = np.array(list(product((0, 1), repeat=3)), dtype=bool)
PARITIES = np.array([np.logical_xor.reduce(CELLS & mask, axis=1) for mask in CELLS[1:]])
CONJUNCTIONS = np.array(
    [
        (CELLS[:, [i, j]] == wanted).all(axis=1)
        for i, j in ((0, 1), (0, 2), (1, 2))
        for wanted in product((False, True), repeat=2)
    ]
)


def hellinger(kernel, predicted):
    """Mean over rules of H² of one report under all yes and all no; `kernel` (outputs, types) has columns of sum 1."""
    yes = kernel @ (predicted / predicted.sum(1)[:, None]).T
    no = kernel @ (~predicted / (~predicted).sum(1)[:, None]).T
    return float(((np.sqrt(yes) - np.sqrt(no)) ** 2).sum(0).mean())


def kernels(epsilon):
    """Random two-level rows, each completed by its opposite; the parities' own; and all subsets at once."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        sets = rng.integers(2, size=(rng.integers(1, 6), 8))
        yield two_levels(sets, epsilon)
    yield two_levels(PARITIES.astype(int), epsilon)
    yield two_levels(np.eye(8, dtype=int), epsilon)
    yield two_levels(np.array(list(product((0, 1), repeat=8)))[1:-1], epsilon)


def two_levels(sets, epsilon):
    rows = np.vstack([np.exp(epsilon * sets), np.exp(epsilon * (1 - sets))])
    return rows / rows.sum(0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("predicted", "balanced"), [(PARITIES, True), (CONJUNCTIONS, False)])
def test_no_kernel_tells_more_than_the_bound(epsilon, predicted, balanced):
    bound = figures.squared_hellinger(figures.forster_bound(predicted), epsilon, balanced=balanced)
    found = [hellinger(kernel, predicted) for kernel in kernels(epsilon)]
    assert max(found) <= bound
    # A bound that is far from everything would prove nothing: at small ε the parities' own kernel comes near.
    assert max(found) >= (0.3 if epsilon <= 1 and balanced else 0.05) * min(bound, 1)


def test_forsters_bound_by_its_closed_forms():
    assert figures.forster_bound(PARITIES) == pytest.approx(figures.forster_bound_of_parities(7))
    assert figures.forster_bound(CONJUNCTIONS) == pytest.approx(figures.forster_bound_of_literals(3, 2))
    # Clauses say no where a conjunction says yes.
    assert figures.forster_bound(~CONJUNCTIONS) == pytest.approx(figures.forster_bound_of_literals(3, 2))


def test_parities_need_users_that_the_papers_bound_does_not_see():
    count = sum(math.comb(16, size) for size in (1, 2, 3))
    forster = figures.forster_bound_of_parities(count)
    hellinger_of_one = figures.squared_hellinger(forster, 1.0, balanced=True)
    assert figures.least_users(hellinger_of_one, 0.05) == 4016
    assert figures.least_users_of_paper(forster, 1.0, 0.05) == 2
    all_of_62 = figures.squared_hellinger(2.0**31, 1.0, balanced=True)
    assert 64 < math.log2(figures.least_users(all_of_62, 0.05)) < 65


def test_a_rule_with_one_class_has_no_bound():
    with pytest.raises(InvalidValue, match="leave it out"):
        figures.forster_bound(np.array([[True, True], [True, False]]))
    with pytest.raises(InvalidValue, match="between 0 and 1/2"):
        figures.least_users(0.1, 0.5)
