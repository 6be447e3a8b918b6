"""Fits of shares of cells to reports: the likeliest ones, and those that a penalty of the log density bends.

A fit is of Q = AᵀMA and b = AᵀMy: the log-likelihood of shares g is −n/2·(gᵀQg − 2bᵀg) up to a constant. Each has the
exact derivative of its shares with respect to b, which an estimate of its risk takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import nnls

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.best.penalties import Penalty

# Newton's steps end where none is longer, or after so many; no θ moves by more than `_LONGEST` at once.
TOLERANCE, _MOST_STEPS, _LONGEST = 1e-6, 60, 6.0
# Halvings of a step that does not lower the sum.
_HALVINGS = 30
# θ is known up to a constant, and that of a type without a number may go far down: both are held with this strength.
_HOLD = 1e-4
# Eigenvalues below this share of the largest are none, and slopes below it are what rounding leaves.
_RANK = 1e-12
# Supports settle within a few dozen guesses, or never.
_MOST_SUPPORTS = 40
# Weight of the sum of all shares beside a fit that is scaled to 1.
_SUM_WEIGHT = 1e3


@dataclass(frozen=True, eq=False)
class Fit:
    """The `shares` (m,) of cells, and `derivative` (m, m), how they move with b."""

    shares: Floats
    derivative: Floats


@dataclass(frozen=True, eq=False)
class CellFits:
    """What fits are made from: Q (m, m), b (m,), the `users`, and the `widths` (m,) of the cells."""

    information: Floats
    pulled: Floats
    users: float
    widths: Floats

    def likeliest(self) -> Fit:
        """argmin gᵀQg − 2bᵀg over g ≥ 0 of sum 1: on its support it is linear in b."""
        shares = _on_simplex(self.information, self.pulled)
        held = np.flatnonzero(shares > 0)
        inverse = np.linalg.pinv(self.information[np.ix_(held, held)], rcond=_RANK, hermitian=True)
        flat = inverse.sum(axis=1)
        derivative = np.zeros_like(self.information)
        derivative[np.ix_(held, held)] = inverse - np.outer(flat, flat) / flat.sum()
        return Fit(shares, derivative)

    def start(self, shares: Floats) -> Floats:
        """θ (m,) half way between shares (m,) and even ones."""
        even = self.widths / self.widths.sum()
        return np.asarray(np.log((shares + even) / 2 / self.widths))

    def penalised(self, penalty: Penalty, logs: Floats, tolerance: float = TOLERANCE) -> Floats:
        """θ (m,) of the least n/2·(gᵀQg − 2bᵀg) + penalty, g ∝ width·exp θ, by Newton's steps from `logs` (m,)."""
        value = self._value(penalty, logs)
        for _ in range(_MOST_STEPS):
            slope = self._slope(penalty, logs)
            step = -self._solved(penalty, logs, slope)
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), np.finfo(float).tiny))
            for _ in range(_HALVINGS):
                lower = self._value(penalty, logs + step)
                if lower <= value or float(np.abs(step).max()) <= tolerance:
                    break
                step /= 2
            logs, value = logs + step, lower
            if float(np.abs(step).max()) <= tolerance:
                break
        return logs

    def fit(self, penalty: Penalty, logs: Floats) -> Fit:
        """The shares of θ, `logs` (m,), and n·D H⁻¹ D, D = diag g − ggᵀ, with the whole Hessian H of the sum."""
        shares = self.shares(logs)
        hessian = self._curvature(penalty, logs)
        spread = np.diag(shares) - np.outer(shares, shares)
        try:
            solved = cho_solve(cho_factor(hessian), spread)
        except LinAlgError:
            solved = np.linalg.lstsq(hessian, spread, rcond=_RANK)[0]
        return Fit(shares, self.users * spread @ solved)

    def shares(self, logs: Floats) -> Floats:
        """g (m,) of θ (m,)."""
        weights = self.widths * np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def _solved(self, penalty: Penalty, logs: Floats, slope: Floats) -> Floats:
        """H⁻¹ slope where H is positive, else that of its convex part."""
        for convex in (False, True):
            try:
                factor = cho_factor(self._curvature(penalty, logs, convex=convex), check_finite=False)
            except LinAlgError:
                continue
            return np.asarray(cho_solve(factor, slope, check_finite=False))
        return np.asarray(np.linalg.lstsq(self._curvature(penalty, logs, convex=True), slope, rcond=_RANK)[0])

    def _value(self, penalty: Penalty, logs: Floats) -> float:
        shares, held = self.shares(logs), self._held(penalty, logs)
        fitted = float(shares @ (self.information @ shares - 2 * self.pulled))
        return self.users / 2 * fitted + penalty.value(logs) + _HOLD / 2 * float(held @ held)

    def _held(self, penalty: Penalty, logs: Floats) -> Floats:
        """What is held near 0: the mean of θ in order, and how far other types are from it."""
        count = len(penalty.middles)
        mean = logs[:count].mean()
        return np.append(logs[count:] - mean, mean)

    def _slope(self, penalty: Penalty, logs: Floats) -> Floats:
        shares = self.shares(logs)
        residual = self.users * (self.information @ shares - self.pulled)
        return np.asarray(
            shares * (residual - shares @ residual)
            + penalty.gradient(logs)
            + _HOLD * self._holding(penalty, len(logs)).T @ self._held(penalty, logs)
        )

    def _holding(self, penalty: Penalty, size: int) -> Floats:
        """The derivative of `_held`, (types without a number + 1, m)."""
        count = len(penalty.middles)
        rows = np.zeros((size - count + 1, size))
        rows[:, :count] = -1 / count
        rows[-1, :count] = 1 / count
        rows[:-1, count:] = np.eye(size - count)
        return rows

    def _curvature(self, penalty: Penalty, logs: Floats, *, convex: bool = False) -> Floats:
        """The Hessian (m, m), or without what the curve of g in θ adds, which may be negative."""
        shares = self.shares(logs)
        moved = self.information * shares - np.outer(self.information @ shares, shares)
        found = self.users * (shares[:, None] * moved - np.outer(shares, shares @ moved))
        holding = self._holding(penalty, len(logs))
        found += _HOLD * holding.T @ holding
        if convex:
            return np.asarray(found + penalty.majorant(logs))
        residual = self.users * (self.information @ shares - self.pulled)
        bent = shares * (residual - shares @ residual)
        crossed = np.outer(shares, bent)
        return np.asarray(found + penalty.curvature(logs) + np.diag(bent) - crossed - crossed.T)


def _on_simplex(matrix: Floats, pulled: Floats) -> Floats:
    """argmin gᵀQg − 2bᵀg over g ≥ 0 of sum 1, by guesses of its support, or by nonnegative least squares."""
    size = len(pulled)
    support = np.ones(size, dtype=bool)
    seen: set[bytes] = set()
    for _ in range(_MOST_SUPPORTS):
        held = np.flatnonzero(support)
        seen.add(support.tobytes())
        try:
            factor = cho_factor(matrix[np.ix_(held, held)])
        except LinAlgError:
            break
        solved = cho_solve(factor, np.column_stack([pulled[held], np.ones(len(held))]))
        price = (solved[:, 0].sum() - 1) / solved[:, 1].sum()
        shares = np.zeros(size)
        shares[held] = solved[:, 0] - price * solved[:, 1]
        slope = matrix @ shares - pulled + price
        after = np.where(support, shares > 0, slope < -_RANK * np.abs(pulled).max())
        if (after == support).all():
            return shares
        if after.tobytes() in seen or not after.any():
            break
        support = after
    return _by_least_squares(matrix, pulled)


def _by_least_squares(matrix: Floats, pulled: Floats) -> Floats:
    """The same by nonnegative least squares, with a row for the sum."""
    values, basis = np.linalg.eigh(matrix)
    kept = values > _RANK * values[-1]
    root = basis[:, kept] * np.sqrt(values[kept])
    wanted = (basis[:, kept] / np.sqrt(values[kept])).T @ pulled
    weight = _SUM_WEIGHT * np.sqrt(values[-1])
    rows = np.vstack([root.T, weight * np.ones(len(pulled))])
    shares, _ = nnls(rows, np.append(wanted, weight), maxiter=30 * len(pulled))
    return np.asarray(shares / shares.sum())
