"""What every optimiser is given, as it is given: a slope in its own variables that finite differences find again."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from sordino_analysis.optimisation.bounds import dual_ascent, trace
from sordino_analysis.optimisation.bounds.information import information_limits
from sordino_analysis.optimisation.search import descent
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.objectives import AveragedVariance, SoftMaximum, gls_decoder

EPSILON, STEP = 1.2, 1e-6
PREFIX = np.tril(np.ones((6, 6)))[:-1]


class Checked:
    """In place of `minimize`: compares the slope along some directions, from a point beside the start."""

    def __init__(self, seed):
        self.rng, self.errors = np.random.default_rng(seed), []

    def __call__(self, objective, start, **options):
        bounds = options.get("bounds")
        lower = np.full(len(start), -np.inf) if bounds is None else np.broadcast_to(bounds.lb, len(start))
        point = np.maximum(start * self.rng.uniform(0.98, 1.02, len(start)), lower + 10 * STEP)
        _, slope = objective(point)
        for _ in range(12):
            direction = self.rng.normal(size=len(point))
            ahead, behind = (objective(point + sign * STEP * direction)[0] for sign in (1, -1))
            expected, found = (ahead - behind) / (2 * STEP), float(slope @ direction)
            self.errors.append(abs(found - expected) / (abs(expected) + 1e-3 * np.linalg.norm(slope)))
        return OptimizeResult(x=start)

    @property
    def worst(self):
        return max(self.errors)


@pytest.fixture
def checked(monkeypatch):
    """Puts a check in the place of a module's optimiser."""

    def put(module, seed=0):
        check = Checked(seed)
        monkeypatch.setattr(module, "minimize", check)
        return check

    return put


@pytest.fixture
def rows():
    """Soft rows over six types and weights that balance them."""
    logits = np.random.default_rng(2).normal(size=(30, 6))
    levels = 1 + np.expm1(EPSILON) / (1 + np.exp(-logits))
    return logits, balanced_weights(levels, np.full(30, 1 / levels.sum(axis=0).mean()))


@pytest.mark.parametrize(("rows_move", "floor"), [(True, 0.0), (True, 0.9), (False, 0.0)])
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_descent_of_the_search(checked, rows, objective, rows_move, floor):
    check, (logits, weights), types = checked(descent), rows, np.full(6, 1 / 6)
    kernel = weights[:, None] * (1 + np.expm1(EPSILON) / (1 + np.exp(-logits)))
    decoder = gls_decoder(kernel, PREFIX, types) if objective == "max" else None
    evaluate = (
        SoftMaximum(PREFIX, types, 5.0, 30.0)
        if objective == "max"
        else AveragedVariance(PREFIX.T @ PREFIX / 5, (PREFIX**2).mean(axis=0), types)
    )
    point = descent.Point(
        logits=logits, weights=weights, free=decoder, type_weights=types, query_weights=np.full(5, 1 / 5)
    )
    floor *= weights.min()
    descent.descend(point, evaluate, EPSILON, floor, 10, lambda: False, rows_move=rows_move)
    assert check.worst < 1e-4


def test_weights_that_may_come_to_nothing_have_no_bounds_where_variables_are_many(rows, monkeypatch):
    """Over all 1,295 rectangles of 8×8 cells a third of a descent's time went into the bounds of 300 weights."""
    logits, weights, types, told = *rows, np.full(6, 1 / 6), []
    minimize = descent.minimize

    def noted(*arguments, **options):
        told.append(options["bounds"] is None)
        return minimize(*arguments, **options)

    monkeypatch.setattr(descent, "minimize", noted)
    members = np.where(logits > 0, np.inf, -np.inf)
    weights = balanced_weights(np.where(logits > 0, np.exp(EPSILON), 1.0), weights)
    decoder = gls_decoder(weights[:, None] * np.where(logits > 0, np.exp(EPSILON), 1.0), PREFIX, types)
    point = descent.Point(
        logits=members, weights=weights, free=decoder, type_weights=types, query_weights=np.full(5, 1 / 5)
    )
    evaluate, found = SoftMaximum(PREFIX, types, 5.0, 30.0), []
    for many in (1 << 18, 1):
        monkeypatch.setattr(descent, "_MANY", many)
        end = descent.descend(point, evaluate, EPSILON, 0.0, 400, lambda: False, rows_move=False)
        kernel = end.weights[:, None] * np.where(logits > 0, np.exp(EPSILON), 1.0)
        np.testing.assert_allclose(kernel.sum(axis=0), 1.0)
        assert end.weights.min() >= 0
        found.append(evaluate(kernel, end.free)[0])
    assert told == [False, True]
    assert found[1] == pytest.approx(found[0], rel=2e-3)


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_the_ascent_of_the_doubly_nonnegative_bound(checked, objective):
    check, types = checked(dual_ascent), np.random.default_rng(4).dirichlet(np.full(6, 8.0))
    ascent = dual_ascent.DualAscent(PREFIX - PREFIX.mean(axis=1, keepdims=True), 2.0, objective)
    ascent.run(np.full(5, 1 / 5), types, 1e-4, 100, lambda: False)
    assert check.worst < 1e-3


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_steps_of_the_trace_bound(epsilon):
    """Along directions that keep the weights on the simplex."""
    rng = np.random.default_rng(5)
    ascent = trace.Ascent(PREFIX, information_limits(epsilon), "max")
    rows, columns = rng.dirichlet(np.full(5, 4.0)), rng.dirichlet(np.full(6, 4.0))
    point = ascent._evaluate(rows, columns)
    for _ in range(8):
        by_rows, by_columns = rng.normal(size=5), rng.normal(size=6)
        by_rows, by_columns = STEP * (by_rows - by_rows.mean()), STEP * (by_columns - by_columns.mean())
        for rows_step, columns_step, slope in (
            (by_rows, 0, point.row_slopes @ by_rows),
            (0, by_columns, point.column_slopes @ by_columns),
        ):
            ahead = ascent._evaluate(rows + rows_step, columns + columns_step).value
            behind = ascent._evaluate(rows - rows_step, columns - columns_step).value
            assert (ahead - behind) / 2 == pytest.approx(slope, rel=1e-5, abs=1e-10)
