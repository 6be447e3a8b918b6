"""The average of some twenty guesses, each weighted by an unbiased estimate of its risk.

The risk of a guess ĥ is that of all queries: (ĥ − y)ᵀG(ĥ − y) + 2 tr(GJS)/n − tr(GS)/n with J = ∂ĝ/∂y (Stein 1981), on
all types: on cells alone it would not see what is inside of them. Weights are ∝ exp(−r/τ) (Leung and Barron 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.cells import Cells
from sordino_analysis.estimation.best.fits import CellFits, Fit
from sordino_analysis.estimation.best.measured import MeasuredHistogram
from sordino_analysis.estimation.best.monotone import MonotoneProjection
from sordino_analysis.estimation.best.penalties import PENALTIES, Penalty, Rough

# Cells at first, and at most; fewer bins have a cell each.
_FIRST_CELLS, MOST_CELLS = 32, 384
# The penalty whose fit is averaged with the likeliest one while cells are chosen.
_CHOOSING = 0.1
# The estimated risk leans to the least of twenty, .82 of the true loss on average; below the second share none is told.
_LEANING, _LEAST_TOLD = 1.5, 0.25
# Digits of shares that are kept, so that the order of sums does not matter.
_DIGITS = 12


@dataclass(frozen=True)
class WeighedGuess:
    """A guess by its `name`, with its `weight` in the average and the estimated `risk` over all queries."""

    name: str
    weight: float
    risk: float


@dataclass(frozen=True, eq=False)
class BestGuess:
    """A histogram (k,) that is nearer to the users than the unbiased answers are on average, and how it was made.

    `noise` is the squared error of all unbiased answers together; None where no risk was estimated, and there are no
    candidates then. `method` is in words.
    """

    histogram: Floats
    method: str
    candidates: tuple[WeighedGuess, ...] = ()
    noise: float | None = None

    @property
    def relative_risk(self) -> float | None:
        """Its estimated squared error as a share of that of the unbiased answers, at least .25; None where it is not.

        The estimate leans to the least of twenty noisy ones, so that it counts 1.5 times, and it may be negative for
        users of few values: below a quarter no number is told.
        """
        if not self.noise:
            return None
        risk = sum(each.weight * each.risk for each in self.candidates)
        return float(min(1.0, max(_LEAST_TOLD, _LEANING * risk / self.noise)))


def averaged(measured: MeasuredHistogram) -> BestGuess:
    """The average of all candidates, nearest to it among histograms by all queries at once."""
    family, unbiased = measured.family, measured.unbiased
    cells = chosen_cells(measured)
    fits = cell_fits(measured, cells)
    response = measured.response(cells)
    nearest = MonotoneProjection.of(family, unbiased)
    names = ["unbiased", "projection"]
    guesses = [unbiased, nearest.histogram]
    risks = [measured.noise, _risk(measured, nearest.histogram, nearest.response(measured))]
    for name, fit in _fitted(fits, cells):
        guess = cells.spread(fit.shares)
        names.append(name)
        guesses.append(guess)
        risks.append(_risk(measured, guess, float((response.T * fit.derivative).sum())))
    weights = weights_of(risks, measured.largest / 2 / measured.users)
    mean = weights @ np.array(guesses)
    return BestGuess(
        histogram=rounded(MonotoneProjection.of(family, mean).histogram),
        method="average",
        candidates=candidates_of(names, weights, risks),
        noise=measured.noise,
    )


def weights_of(risks: Sequence[float], temperature: float) -> Floats:
    """(m,) ∝ exp(−risk/temperature) of m `risks`, of sum 1."""
    found = np.array(risks)
    weights = np.exp(-(found - found.min()) / temperature)
    return np.asarray(weights / weights.sum())


def candidates_of(names: Sequence[str], weights: Floats, risks: Sequence[float]) -> tuple[WeighedGuess, ...]:
    """The candidates in order, with `weights` (m,)."""
    return tuple(map(WeighedGuess, names, weights.tolist(), map(float, risks)))


def rounded(shares: Floats) -> Floats:
    """(k,) shares to twelve digits."""
    return np.asarray(np.round(shares, _DIGITS))


def chosen_cells(measured: MeasuredHistogram) -> Cells:
    """Cells that are narrow where shares are large: those of the largest shares are halved until there are enough."""
    family = measured.family
    most = MOST_CELLS + family.size - family.bins
    if family.size <= most:
        return Cells.even(family.bins, family.size, family.bins)
    cells = Cells.even(family.bins, family.size, _FIRST_CELLS)
    while len(cells.widths) < most:
        fits = cell_fits(measured, cells)
        likeliest = fits.likeliest().shares
        penalty = Rough(_CHOOSING, cells.middles)
        bent = fits.shares(fits.penalised(penalty, fits.start(likeliest)))
        finer = cells.halved((likeliest + bent) / 2, most)
        if len(finer.widths) == len(cells.widths):
            break
        cells = finer
    return cells


def cell_fits(measured: MeasuredHistogram, cells: Cells) -> CellFits:
    """What fits on these cells are made from."""
    return CellFits(measured.information(cells), measured.pulled(cells), measured.users, cells.widths.astype(float))


def _fitted(fits: CellFits, cells: Cells) -> list[tuple[str, Fit]]:
    """The likeliest shares, and those of each penalty from the strongest on, each from where the last one ended."""
    likeliest = fits.likeliest()
    found = [("likelihood", likeliest)]
    for kind in PENALTIES if cells.ordered > 2 else ():
        logs = fits.start(likeliest.shares)
        for strength in kind.strengths:
            penalty: Penalty = kind(strength, cells.middles)
            logs = fits.penalised(penalty, logs)
            found.append((f"{kind.name} {strength:.2g}", fits.fit(penalty, logs)))
    return found


def _risk(measured: MeasuredHistogram, guess: Floats, response: float) -> float:
    return measured.distance(guess) + 2 * response / measured.users - measured.noise
