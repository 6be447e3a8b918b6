"""Shares of many cells that are in no order: the set of all of them tells how many are empty and how large others are.

The most likely mixing law of y_c = h_c + N(0, s_c²) is found on a grid of shares, and a cell's guess is its posterior
mean (Robbins 1956; Kiefer, Wolfowitz 1956). Where the estimate of risk says that the projection is better, it is that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.average import BestGuess, candidates_of, rounded
from sordino_analysis.estimation.consistency import project_onto_simplex

# Points of the grid: 0, shares that grow by a factor from a fiftieth of the noise, and the large values themselves.
_POINTS, _FINEST, _LARGE = 300, 50.0, 3.0
# Values above the noise that are points, at most.
_MOST_VALUES = 200
# Steps to the most likely mixing law; cells beyond the second number are gathered in as many classes.
_STEPS, _CLASSES = 150, 4096


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior `means` (k,) and their `slopes` (k,) in the values."""

    means: Floats
    slopes: Floats


def mixed(values: Floats, variances: Floats) -> BestGuess:
    """Guesses of shares (k,) from unbiased `values` (k,) with these `variances` (k,): of sum 1, or less.

    What is left to 1 is not assigned to any cell.
    """
    noise = float(variances.sum())
    nearest = project_onto_simplex(values)
    if noise <= 0:
        return BestGuess(nearest, "projection")
    posterior = posterior_means(values, np.sqrt(variances))
    guess, held = posterior.means, np.ones(len(values), dtype=bool)
    response = float((posterior.slopes * variances).sum())
    if guess.sum() > 1:
        guess = project_onto_simplex(guess)
        held = guess > 0
        response = float((posterior.slopes * variances)[held].sum()) * (1 - 1 / held.sum())
    kept = nearest > 0
    of_nearest = float(variances[kept].sum()) * (1 - 1 / kept.sum())
    risks = [
        float(((one - values) ** 2).sum()) + 2 * other - noise
        for one, other in ((guess, response), (nearest, of_nearest))
    ]
    weights = np.array([1.0, 0.0] if risks[0] <= risks[1] else [0.0, 1.0])
    chosen = guess if weights[0] else nearest
    method = "empirical Bayes" if weights[0] else "projection"
    return BestGuess(rounded(chosen), method, candidates_of(["empirical Bayes", "projection"], weights, risks), noise)


def posterior_means(values: Floats, errors: Floats) -> Posterior:
    """Of values (k,) with standard `errors` (k,), under their most likely mixing law."""
    if len(values) <= _CLASSES:
        return _posterior(values, errors, np.ones(len(values)))
    classes, places, counts = _gathered(values)
    found = _posterior(classes, np.full(len(classes), np.sqrt((errors**2).mean())), counts)
    return Posterior(np.interp(values, classes, found.means), found.slopes[places])


def _gathered(values: Floats) -> tuple[Floats, np.ndarray, Floats]:
    """Middles of classes that hold any of the values, the class of each value, and how many each holds."""
    edges = np.linspace(values.min(), values.max(), _CLASSES + 1)
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, _CLASSES - 1)
    counts = np.bincount(places, minlength=_CLASSES)
    sums = np.bincount(places, weights=values, minlength=_CLASSES)
    held = np.flatnonzero(counts)
    return sums[held] / counts[held], np.searchsorted(held, places), counts[held].astype(float)


def _posterior(values: Floats, errors: Floats, counts: Floats) -> Posterior:
    known = errors > 0
    points = _grid(values, float(np.median(errors[known])))
    safe = np.where(known, errors, 1.0)
    logs = -((values[:, None] - points) ** 2) / (2 * safe[:, None] ** 2)
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    law = np.full(len(points), 1 / len(points))
    for _ in range(_STEPS):
        law = law * (likelihoods.T @ (counts / (likelihoods @ law))) / counts.sum()
    chances = likelihoods * law
    chances /= chances.sum(axis=1, keepdims=True)
    means = chances @ points
    spread = np.maximum(chances @ points**2 - means**2, 0.0)
    return Posterior(np.where(known, means, values), np.where(known, spread / safe**2, 0.0))


def _grid(values: Floats, error: float) -> Floats:
    """Shares that a cell may have, rising from 0."""
    large = np.unique(values[values > _LARGE * error])
    if len(large) > _MOST_VALUES:
        large = large[np.linspace(0, len(large) - 1, _MOST_VALUES).round().astype(np.intp)]
    fine = np.geomspace(error / _FINEST, 2 * _LARGE * error, _POINTS - 1 - len(large))
    return np.unique(np.concatenate([[0.0], fine, np.minimum(large, 1.0)]))
