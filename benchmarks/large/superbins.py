"""`python -m benchmarks.large.superbins --epsilon 4`: a dense kernel on wide bins, shifted at random, as a level.

Not a mechanism of the planner. All matrices are written out, so a few hundred types are enough.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from scipy.linalg import toeplitz
from scipy.optimize import minimize

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import PrefixFamily
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.mechanisms.grid_levels import designed_levels
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.search import search_kernel
from sordino_analysis.planning.planner import PlanRequest
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin

# (C, N), both (k, k): what a report is about has the mean Cβ and the second moment βᵀNβ over evenly spread users.
Level = tuple[Floats, Floats]
_STEPS = 80


def main() -> None:
    """Print the least mean variance of prefix sums over evenly spread users, of grids alone and with such a level."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large.superbins", description=__doc__)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--types", type=int, default=256)
    parser.add_argument("--bins", type=int, default=32, help="wide bins; a shift adds one more")
    options = parser.parse_args()
    levels = designed_levels(PrefixFamily(options.types, options.types), options.epsilon)
    grids, chances = [_grid(level, options.types) for level in levels], [level.chance for level in levels]
    as_planned = _Mixture(grids).value(np.array(chances))[0]
    alone, _ = _Mixture(grids).best(chances)
    wide = _superbins(options.types, options.bins, options.epsilon)
    both, found = _Mixture([wide, *grids]).best([1.0, *chances])
    print(f"grids of the planner over {options.types} types: {as_planned:.4g}, with chances for this mean {alone:.4g}")
    print(f"with a kernel on {options.bins} shifted bins, in {found[0]:.0%} of the reports: {both:.4g}")


def _grid(level: GridLevel, types: int) -> Level:
    """A shifted grid of hashed cells, or a comb."""
    places, factor = np.arange(types), level.factor(types)
    if level.hashed:
        starts, period = np.arange(1 - level.width, types)[:, None], level.width
        sets = ((places >= starts) & (places < starts + level.width)).astype(float)
        weights = level.spread + (level.own_spread - level.spread) * sets.mean(axis=1)
    else:
        period = level.width * level.labels
        shifted = (places - np.arange(period)[:, None]) % period
        held = (shifted < level.width * level.hits).astype(float)
        sets = level.low - 1 + (level.high - level.low) * held
        weights = level.low + (level.high - level.low) * held.mean(axis=1)
    return factor * toeplitz(level.kernel(types)), factor**2 / period * (sets.T * weights) @ sets


def wide_kernel(bins: int, epsilon: float) -> Floats:
    """The planner's kernel for prefix sums over the bins and one more, (m, bins + 1)."""
    options = PlanningOptions.of(epsilon=epsilon, objective="mean", mechanism="optimised_kernel")
    work = SharedWork(PlanRequest(builtin("prefix", bins + 1), options))
    design = search_kernel(work.matrix, epsilon, work.factorization("mean"))
    return np.asarray(design.low[:, None] * np.where(design.members, np.exp(epsilon), 1.0))


def _superbins(types: int, bins: int, epsilon: float) -> Level:
    """That kernel at every shift of the bins."""
    kernel = wide_kernel(bins, epsilon)
    width, information, moments = types // bins, np.zeros((types, types)), np.zeros((types, types))
    for shift in range(width):
        rows = kernel[:, (np.arange(types) + shift) // width]
        masses = rows.mean(axis=1)
        excess = rows / masses[:, None] - 1
        information += rows.T @ excess / width
        moments += (excess.T * masses) @ excess / width
    return information, moments


class _Mixture:
    """Levels that reports draw, for all prefix sums."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self.means, self.moments = (np.array(each) for each in zip(*levels, strict=True))
        self.queries = np.tril(np.ones(self.means[0].shape))[:-1]

    def best(self, chances: Sequence[float]) -> tuple[float, Floats]:
        """The least mean variance found from these chances, and the chances there."""

        def objective(logarithms: Floats) -> tuple[float, Floats]:
            moved = _normalised(logarithms)
            value, slopes = self.value(moved)
            return value, moved * (slopes - moved @ slopes)

        start = np.log(np.maximum(chances, 1e-6))
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        return float(found.fun), _normalised(found.x)

    def value(self, chances: Floats) -> tuple[float, Floats]:
        """The mean variance over queries and users, and its derivative by each chance.

        A report of a level adds c + 1ᵀβ and what it is about to an answer, with Mβ = v − c1; c is the best of each v.
        """
        ones, queries = np.ones(len(self.means[0])), self.queries
        inverse = np.linalg.inv(np.outer(ones, ones) + np.tensordot(chances, self.means, 1))
        moments = np.tensordot(chances, self.moments, 1)
        flat, weights = inverse @ ones, queries @ inverse.T
        missed = 1 - flat.sum()
        by_constant = weights @ (moments @ flat) - missed * (queries.mean(axis=1) - weights.sum(axis=1))
        queries = queries - (by_constant / (flat @ moments @ flat - missed**2))[:, None]
        gram, middles = queries.T @ queries / len(queries), queries.mean(axis=1)
        totals, spread = queries @ (inverse.T @ ones), inverse @ gram @ inverse.T
        value = (spread * moments).sum() - np.mean((queries**2).mean(axis=1) - 2 * totals * middles + totals**2)
        pulled = inverse @ (queries.T @ (2 * (middles - totals) / len(queries)))
        slopes = np.tensordot(self.moments, spread, 2) - 2 * np.tensordot(self.means, inverse.T @ moments @ spread, 2)
        return float(value), slopes - (self.means @ pulled) @ (inverse.T @ ones)


def _normalised(logarithms: Floats) -> Floats:
    chances = np.exp(logarithms - logarithms.max())
    return np.asarray(chances / chances.sum())


if __name__ == "__main__":
    main()
