"""Conic programs whose optima are known: a projection, a linear program, and one without a solution."""

import doctest

import numpy as np
import pytest

from sordino_analysis.optimisation import conic_program
from sordino_analysis.optimisation.conic_program import Affine, ConicProgram


def distance(points, side):
    """The distances of two points from the half-planes a·x ≥ side, and what both cost."""
    program = ConicProgram({"moved": 4, "distances": 2}, {"distances": np.ones(2)})
    normal = np.array([[0.6, 0.8]])
    beyond = program.not_negative(Affine({"moved": np.kron(np.eye(2), normal)}, -np.full(2, side)))
    axes = [Affine({"moved": np.kron(np.eye(2), axis[None])}, -points[:, i]) for i, axis in enumerate(np.eye(2))]
    program.second_order([Affine({"distances": np.eye(2)}), *axes])
    return program.solve(tol_gap_rel=1e-10), beyond


def test_each_entry_of_a_cone_is_a_cone_of_its_own():
    points = np.array([[0.0, 0.0], [3.0, -4.0]])
    found, beyond = distance(points, 2.0)
    # 2 − 0 and 2 − (1.8 − 3.2)
    np.testing.assert_allclose(found.values["distances"], [2.0, 3.4], atol=1e-6)
    np.testing.assert_allclose(found.values["moved"], [1.2, 1.6, 3 + 0.6 * 3.4, -4 + 0.8 * 3.4], atol=1e-5)
    # One more for each unit by which a half-plane is farther.
    np.testing.assert_allclose(found.prices[beyond], 1.0, atol=1e-6)
    farther, _ = distance(points, 2.5)
    assert farther.values["distances"].sum() == pytest.approx(5.4 + 0.5 * found.prices[beyond].sum(), abs=1e-5)


def test_prices_say_how_the_optimum_moves_with_an_equation():
    costs = np.array([2.0, 3.0])
    program = ConicProgram({"amounts": 2}, {"amounts": costs})
    total = program.zero(Affine({"amounts": np.ones((1, 2))}, -5.0))
    program.not_negative(Affine({"amounts": np.eye(2)}))
    found = program.solve()
    np.testing.assert_allclose(found.values["amounts"], [5.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(found.prices[total], 2.0, atol=1e-6)


def test_without_a_solution_there_are_no_values():
    program = ConicProgram({"amount": 1}, {"amount": np.ones(1)})
    program.not_negative(Affine({"amount": np.ones((1, 1))}, -2.0))
    program.not_negative(Affine({"amount": -np.ones((1, 1))}, 1.0))
    found = program.solve()
    assert (found.status, found.values, found.prices) == ("PrimalInfeasible", {}, ())


def test_the_example_runs():
    assert doctest.testmod(conic_program).failed == 0 < doctest.testmod(conic_program).attempted
