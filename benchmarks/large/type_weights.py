"""`python -m benchmarks.large.type_weights --epsilon 4`: what a table of wide bins would gain, whatever decodes it.

The least largest variance of single prefix sums over all linear decoders, from levels of shifted grids and from levels
of which one is a dense kernel on wide bins that are shifted at random. Not a mechanism of the planner: all matrices are
written out, so a hundred types are enough.
"""

import argparse
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.large.superbins import wide_kernel
from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.families import PrefixFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.mechanisms.grid_maximum_levels import levels_for_maximum
from sordino_analysis.mechanisms.hash_response import HashResponse

_STEPS = 30
_SHARES = (0.45, 0.55, 0.65)
_DENSITIES = ((1, 16), (1, 32))


class Reports(ABC):
    """Reports of a level, in `chance` of all; type weights π (k,) say for which users they are weighed best."""

    chance: float

    @abstractmethod
    def information(self, weights: Floats) -> Floats:
        """(k, k) what they add to M: answers to v are λᵀ of them for Mλ = v."""

    @abstractmethod
    def second_moments(self, weights: Floats, solution: Floats) -> Floats:
        """(k,) of what a report counts, for each type, about the constant that all levels count."""


@dataclass(frozen=True, eq=False)
class Listed(Reports):
    """Every report with its chance for each type, `kernel` (k, m)."""

    chance: float
    kernel: Floats

    def information(self, weights: Floats) -> Floats:
        scaled = self.kernel / np.sqrt(weights @ self.kernel)
        return np.asarray(scaled @ scaled.T)

    def second_moments(self, weights: Floats, solution: Floats) -> Floats:
        counted = (solution @ self.kernel) / (weights @ self.kernel)
        return np.asarray(self.kernel @ counted**2)


@dataclass(frozen=True, eq=False)
class Hashed(Reports):
    """Cells of a shifted grid whose labels are random: each window of types (w, k) has a number of its own."""

    level: GridLevel
    windows: Floats

    @classmethod
    def of(cls, level: GridLevel, size: int) -> "Hashed":
        """Of a hashed level."""
        starts, places = np.arange(1 - level.width, size)[:, None], np.arange(size)
        return cls(level, ((places >= starts) & (places < starts + level.width)).astype(float))

    @property
    def chance(self) -> float:  # type: ignore[override]
        """That of the level."""
        return self.level.chance

    def _moments(self, weights: Floats) -> Floats:
        own = self.level.own_spread - self.level.spread
        return np.asarray(self.level.spread + own * (self.windows @ weights))

    def information(self, weights: Floats) -> Floats:
        scale = self.level.spread**2 / self.level.width
        return np.asarray(scale * (self.windows.T / self._moments(weights)) @ self.windows)

    def second_moments(self, weights: Floats, solution: Floats) -> Floats:
        counted = self.level.spread * (self.windows @ solution) / self._moments(weights)
        squares = counted**2 / self.level.width
        own = self.level.own_spread - self.level.spread
        return np.asarray(self.level.spread * squares.sum() + own * (self.windows.T @ squares))


def main() -> None:
    """Print the variances of a prefix sum in the middle and of one at a fifth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large.type_weights", description=__doc__)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--types", type=int, default=128)
    parser.add_argument("--bins", type=int, default=32, help="wide bins; a shift adds one more")
    options = parser.parse_args()
    size, stops = options.types, (options.types // 2, options.types // 5)
    levels = levels_for_maximum(PrefixFamily(size, size), options.epsilon)
    queries = np.array([np.arange(size) < stop for stop in stops], dtype=float)
    shipped = GridLaw(levels, size).variances(queries).max(axis=1)
    print(f"prefix sums of {stops[0]} and {stops[1]} of {size} types, ε = {options.epsilon:g}")
    print(f"grids, decoded for even types: {_shown(shipped)}")
    print(f"grids, the best decoders: {_shown(_least([_reports(level, size) for level in levels], queries))}")
    wide = _shifted(wide_kernel(options.bins, options.epsilon), size, size // options.bins)
    for share in _SHARES:
        for density in _DENSITIES:
            cells = _fine(HashResponse(*density, options.epsilon).level(1, hashed=True), 1 - share)
            found = _least([Listed(share, wide), Hashed.of(cells, size)], queries)
            print(
                f"a table of {options.bins} bins in {share:.0%}, cells of 1/{density[1]}: {_shown(found)}", flush=True
            )


def _fine(level: GridLevel, chance: float) -> GridLevel:
    return GridLevel(
        chance=chance,
        labels=level.labels,
        hits=level.hits,
        high=level.high,
        low=level.low,
        width=level.width,
        hashed=True,
    )


def _shown(variances: Floats) -> str:
    return " and ".join(f"{value:.3f}" for value in variances)


def _reports(level: GridLevel, size: int) -> Reports:
    if level.hashed:
        return Hashed.of(level, size)
    held = (np.arange(size)[:, None] - np.arange(level.period)) % level.period < level.window
    return Listed(level.chance, (level.low + (level.high - level.low) * held) / level.period)


def _shifted(kernel: Floats, size: int, width: int) -> Floats:
    """The reports of a kernel (m, bins + 1) at every shift of the bins, (k, shifts·m)."""
    chances = kernel / kernel.sum(axis=0)
    return np.concatenate([chances[:, (np.arange(size) + shift) // width].T / width for shift in range(width)], axis=1)


def _least(reports: Sequence[Reports], queries: Floats) -> Floats:
    """The least largest variance of each query over unbiased decoders, by moving type weights to the worst types."""
    found = []
    for query in queries:
        weights, best = np.full(len(query), 1 / len(query)), np.inf
        for _ in range(_STEPS):
            variances = _variances(reports, weights, query)
            best = min(best, float(variances.max()))
            weights = weights * variances / variances.max()
            weights /= weights.sum()
        found.append(best)
    return np.array(found)


def _variances(reports: Sequence[Reports], weights: Floats, query: Floats) -> Floats:
    """(k,) of the decoder that is best for users spread as the type weights; every report counts a constant, too."""
    matrix = np.sum([each.chance * each.information(weights) for each in reports], axis=0)
    straight, flat = np.linalg.solve(matrix, np.stack([query, np.ones_like(query)], axis=1)).T
    constant = (flat @ query - weights @ query) / (flat.sum() - 1)
    solution = straight - constant * flat
    moments = np.sum([each.chance * each.second_moments(weights, solution) for each in reports], axis=0)
    return np.asarray(moments - (query - constant) ** 2)


if __name__ == "__main__":
    main()
