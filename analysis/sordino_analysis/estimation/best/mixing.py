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

_CANDIDATES = ("empirical Bayes", "projection")
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


@dataclass(frozen=True, eq=False, kw_only=True)
class MixedGuess:
    """Guesses `shares` (m,) at cells of m values, the `weights` of both candidates, and their estimated `risks`.

    `noise` is the squared error of all cells' values together.
    """

    shares: Floats
    weights: Floats
    risks: tuple[float, ...]
    noise: float

    @property
    def method(self) -> str:
        """The candidate that was taken."""
        return _CANDIDATES[int(self.weights.argmax())]


def mixed(values: Floats, variances: Floats) -> BestGuess:
    """Guesses of shares (k,) of sum 1 from unbiased `values` (k,) with these `variances` (k,)."""
    if float(variances.sum()) <= 0:
        return BestGuess(project_onto_simplex(values), "projection")
    found = mixed_of_alike(values, variances, np.ones(len(values)))
    candidates = candidates_of(_CANDIDATES, found.weights, found.risks)
    return BestGuess(rounded(found.shares), found.method, candidates, found.noise)


def mixed_of_alike(values: Floats, variances: Floats, counts: Floats) -> MixedGuess:
    """The same of m `values` with positive `variances` (m,), each of which so many cells have: `counts` (m,).

    Shares of all cells sum to 1. Posterior means need not: the nearest shares that do are never further from any shares
    that do, for these are a convex set.
    """
    noise = float(counts @ variances)
    posterior = posterior_means(values, np.sqrt(variances), counts)
    candidates = [(posterior.means, posterior.slopes), (values, np.ones(len(values)))]
    shares, risks = [], []
    for each, slopes in candidates:
        guess = np.maximum(each - _level(each, counts), 0.0)
        kept = guess > 0
        response = float((counts * slopes * variances)[kept].sum()) * (1 - 1 / counts[kept].sum())
        shares.append(guess)
        risks.append(float(counts @ (guess - values) ** 2) + 2 * response - noise)
    chosen = int(np.argmin(risks))
    return MixedGuess(shares=shares[chosen], weights=np.eye(2)[chosen], risks=tuple(risks), noise=noise)


def _level(values: Floats, counts: Floats) -> float:
    """θ with Σ counts·max(value − θ, 0) = 1: the nearest shares of sum 1 are what is above it."""
    order = np.argsort(-values, kind="stable")
    above, total = np.cumsum(counts[order]), np.cumsum((counts * values)[order])
    levels = (total - 1) / above
    return float(levels[np.flatnonzero(values[order] > levels)[-1]])


def posterior_means(values: Floats, errors: Floats, counts: Floats | None = None) -> Posterior:
    """Of `values` (m,) with standard `errors` (m,), under their most likely mixing law; `counts` (m,) have each."""
    counts = np.ones(len(values)) if counts is None else counts
    if len(values) <= _CLASSES:
        return _posterior(values, errors, counts)
    edges = np.linspace(values.min(), values.max(), _CLASSES + 1)
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, _CLASSES - 1)
    inside, sums, squares = (
        np.asarray(np.bincount(places, weights=each, minlength=_CLASSES), dtype=float)
        for each in (counts, counts * values, counts * errors**2)
    )
    held = np.flatnonzero(inside)
    classes = sums[held] / inside[held]
    found = _posterior(classes, np.sqrt(squares[held] / inside[held]), inside[held])
    return Posterior(np.interp(values, classes, found.means), found.slopes[np.searchsorted(held, places)])


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
