"""Derivatives of fits against central differences, and fits against what they minimise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from sordino_analysis.estimation.best.average import cell_fits
from sordino_analysis.estimation.best.cells import Cells
from sordino_analysis.estimation.best.fits import CellFits
from sordino_analysis.estimation.best.penalties import Penalty, Rough, Smooth, Steps
from sordino_analysis.evaluation.grids.families import RangeFamily
from tests.analysis.estimation.best.cases import measured, users_of

BINS, SIZE = 64, 65
CELLS = Cells(np.array([0, 1, 3, 8, 16, 20, 24, 32, 40, 48, 56, 62, 64, 65]), 12)
PENALTIES = [(Rough, 0.1), (Rough, 3e-4), (Smooth, 1e-3), (Smooth, 1e-6), (Steps, 2.5), (Steps, 0.3)]


def fits_of(kind: str, users: float, seed: int) -> CellFits:
    """The last type has no number and is in no order."""
    family = RangeFamily(BINS, SIZE)
    (found,) = measured(family, 1.0, users_of(kind, SIZE), users, 1, seed)
    return cell_fits(found, CELLS)


@pytest.mark.parametrize(("penalty", "strength"), PENALTIES)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 50))])
def test_penalised_fits_move_as_their_derivative_says(penalty: type[Penalty], strength: float, seed: int) -> None:
    fits, asked = fits_of(("two", "smooth", "zipf", "even")[seed % 4], 2e4, seed), penalty(strength, CELLS.middles)
    logs = fits.penalised(asked, fits.start(fits.likeliest().shares), tolerance=1e-12)
    found, step = fits.fit(asked, logs), 2e-6
    moved = []
    for place in range(len(fits.pulled)):
        ends = []
        for sign in (1, -1):
            other = replace(fits, pulled=fits.pulled + sign * step * np.eye(len(fits.pulled))[place])
            ends.append(other.shares(other.penalised(asked, logs, tolerance=1e-12)))
        moved.append((ends[0] - ends[1]) / (2 * step))
    expected = np.array(moved).T
    assert np.abs(found.derivative - expected).max() < 1e-3 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["point", "two", "smooth"])
def test_the_likeliest_fit_is_the_least_and_moves_as_its_derivative_says(kind: str) -> None:
    fits = fits_of(kind, 2e4, 4)
    found = fits.likeliest()
    slope = fits.information @ found.shares - fits.pulled
    assert found.shares.min() >= 0
    assert found.shares.sum() == pytest.approx(1.0, abs=1e-12)
    # By convexity nothing else is lower by more than this.
    assert found.shares @ slope - slope.min() < 1e-9 * np.abs(fits.pulled).max()
    place, step = 5, 1e-7
    ends = [
        replace(fits, pulled=fits.pulled + sign * step * np.eye(len(fits.pulled))[place]).likeliest().shares
        for sign in (1, -1)
    ]
    expected = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found.derivative[:, place], expected, atol=1e-5 * np.abs(expected).max() + 1e-9)


def test_a_penalised_fit_is_the_least_of_its_sum() -> None:
    fits, asked = fits_of("zipf", 2e4, 2), Smooth(1e-3, CELLS.middles)
    logs = fits.penalised(asked, fits.start(fits.likeliest().shares), tolerance=1e-12)

    def value(free: np.ndarray) -> float:
        shares = fits.shares(free)
        fitted = shares @ (fits.information @ shares - 2 * fits.pulled)
        held = np.append(free[12:] - free[:12].mean(), free[:12].mean())
        return float(fits.users / 2 * fitted + asked.value(free) + 0.5e-4 * held @ held)

    other = minimize(value, logs + 0.1 * np.random.default_rng(0).standard_normal(13), method="BFGS")
    assert value(logs) <= other.fun + 1e-7


def test_cells_of_the_largest_shares_are_halved() -> None:
    cells = Cells.even(64, 66, 8)
    assert cells.widths.tolist() == [8] * 8 + [1, 1]
    finer = cells.halved(np.array([0, 0, 0.5, 0.2, 0, 0.1, 0.2, 0, 0.9, 0.9]), 100)
    assert np.flatnonzero(finer.widths[:-2] == 4).tolist() == [2, 3, 4, 5, 7, 8, 9, 10]
    assert finer.ordered == 12
    np.testing.assert_allclose(finer.means(finer.spread(np.arange(14.0))), np.arange(14.0) / finer.widths)
