"""Every derivative of the dual function against finite differences, and that it climbs."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds.dual_ascent import DualAscent, DualPoint, DualProblem

STEP = 1e-5


def somewhere(queries, types, seed):
    """A point inside the domain: near the trace bound's multipliers, with uneven weights."""
    rng = np.random.default_rng(seed)
    columns, rows = rng.dirichlet(np.full(types, 5.0)), rng.dirichlet(np.full(queries, 3.0))
    pairs = np.triu(rng.uniform(0, 0.3, size=(types, types)) * np.outer(columns, columns), 1)
    return DualPoint(columns * rng.uniform(0.9, 1.1, types), pairs, rows, columns)


@pytest.mark.parametrize(("queries", "types", "epsilon"), [(6, 5, 0.5), (3, 5, 2.0), (1, 4, 1.0)])
def test_gradients_match_finite_differences(queries, types, epsilon):
    matrix = np.random.default_rng(queries).normal(size=(queries, types))
    problem, point = DualProblem(matrix, epsilon, 0.03), somewhere(queries, types, types)
    slopes = problem(point)
    assert slopes is not None
    rng = np.random.default_rng(9)
    for name in ("levels", "pairs", "rows", "columns"):
        array = getattr(point, name)
        direction = rng.normal(size=array.shape)
        if name == "pairs":
            direction = np.triu(direction, 1)
        if name in ("rows", "columns"):
            direction -= direction.mean()
        if not direction.any():
            continue
        direction *= STEP / np.abs(direction).max()
        ahead = problem(replace(point, **{name: array + direction}))
        behind = problem(replace(point, **{name: array - direction}))
        expected = float((getattr(slopes, name) * direction).sum())
        assert (ahead.value - behind.value) / 2 == pytest.approx(expected, rel=1e-4, abs=1e-10), name


def test_the_function_is_below_the_bound_and_reaches_it_where_scaled():
    problem, point = DualProblem(np.eye(5), 1.0, 1e-12), somewhere(5, 5, 0)
    slopes = problem(point)
    assert slopes.value < problem.bound(point)
    scale = (slopes.fidelity / slopes.spread) ** 2
    scaled = replace(point, levels=scale * point.levels, pairs=scale * point.pairs)
    assert problem(scaled).value == pytest.approx(problem.bound(point), rel=1e-9)


def test_outside_the_domain_there_is_no_value():
    point = somewhere(5, 5, 1)
    problem = DualProblem(np.eye(5), 1.0, 1e-6)
    assert problem(replace(point, pairs=100 * np.triu(np.ones((5, 5)), 1))) is None
    assert problem.bound(replace(point, levels=np.zeros(5))) == -np.inf


def test_time_that_is_over_still_gives_a_point():
    matrix, uniform = np.tril(np.ones((9, 9)))[:-1], np.full(9, 1 / 9)
    ascent, plain = DualAscent(matrix, 2.0, "max"), DualProblem(matrix, 2.0, 1e-12)
    begun = np.full(8, 1 / 8), uniform, 1e-4
    late, patient = (plain.bound(ascent.run(*begun, 10_000, lambda told=told: told)) for told in (True, False))
    assert 0 < late < patient


def test_no_more_points_are_visited_than_allowed(monkeypatch):
    visited, evaluate = [], DualProblem.__call__
    monkeypatch.setattr(DualProblem, "__call__", lambda self, point: visited.append(1) or evaluate(self, point))
    matrix = np.tril(np.ones((9, 9)))[:-1]
    found = {}
    for allowed in (50, 400):
        visited.clear()
        found[allowed] = DualAscent(matrix, 2.0, "mean").run(
            np.full(8, 1 / 8), np.full(9, 1 / 9), 0.0, allowed, lambda: False
        )
        # The start, and what every point is worth without a barrier, come on top; a line search may end late.
        assert allowed <= len(visited) <= allowed + 100
    assert DualProblem(matrix, 2.0, 1e-12).bound(found[400]) >= DualProblem(matrix, 2.0, 1e-12).bound(found[50])
