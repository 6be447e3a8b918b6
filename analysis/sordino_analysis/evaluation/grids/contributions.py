"""The law of what a report of grids adds to an answer, from seeded draws: as many values as there are offsets and maps.

A report of a level with the partition into cells C and D_C = Σ_{x∈C} β_x counts t + f·(high − low)·Σ_C (h_C − q)·D_C,
where h_C says whether the label of C is in its set: with chance q, and q·high in the holder's own cell. Labels of three
cells are independent, so that mean and variance are those of independent h_C, to which the values are scaled; how many
cells hit together goes into the law as if all were. Offsets and holders are spread evenly, hits of the cells that count
most are stratified, and the other cells add a normal error of their variance. A comb has as many reports as its period,
and all are listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import LawsOfSome
from sordino_analysis.evaluation.contribution_law import ContributionLaw, gathered
from sordino_analysis.evaluation.grids.levels import CellLevel, Shape
from sordino_analysis.evaluation.grids.plane_levels import shift_sums
from sordino_analysis.questions.linear.operators import Indices, LinearMap

# The seed and the numbers of draws are part of the method. An event of chance 1/256 is in one draw of each level.
_SEED = 20_261_130
# Reports that are drawn for the largest contribution.
_DRAWS = 256
# Offsets of a level that are drawn from.
_OFFSETS = 8
# Cells whose contributions are drawn: the largest ones.
_CELLS = 64
# 3 and 8 have no divisor in common: offsets of each attribute come in another order than those of the one before.
_TURN = 3
# Queries whose laws are drawn, in some milliseconds each; the others have that of the nearest of them.
_MOST_DRAWN = 16
# Reports whose sum is known well enough. Of fewer it matters how labels of four cells go together, which is not drawn.
DRAWN_FROM = 30
# Values with the chance of each for a user outside the query and for one inside, (m,) and (m, 2).
Atoms = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class DrawnLaws:
    """Levels with draws that all answers share; `histogram` (k₁, k₂, …) are the shares of the users.

    A report counts `factors` (levels,). A line has k₂ = 1, and its levels leave the second attribute out.
    """

    levels: Sequence[CellLevel]
    factors: Sequence[float]
    histogram: Floats

    def of(self, query: Floats, weights: Floats, constant: float, variances: Floats) -> ContributionLaw:
        """The law for a query v (k₁, k₂, …) with β, t and Var for each type, of its shape too.

        One class of users are those whose entry of v is above the middle of its range: the inside of an interval.
        """
        ends = np.array([query.min(), query.max()])
        inside = query > ends.mean()
        held = np.stack([self.histogram * ~inside, self.histogram * inside])
        types = tuple(range(1, held.ndim))
        shares = held.sum(axis=types)
        truth = np.divide((held * query).sum(axis=types), shares, out=ends, where=shares > 0)
        each = np.expand_dims(shares, types)
        held = np.where(each > 0, held, self.histogram) / np.where(each > 0, each, 1)
        generator = np.random.Generator(np.random.PCG64(_SEED))
        levels = zip(self.levels, self.factors, strict=True)
        parts = [_atoms(level, factor, weights, held, generator) for level, factor in levels]
        values, chances = (np.concatenate(each) for each in zip(*parts, strict=True))
        exact = (held * variances).sum(axis=types)
        return _scaled(constant + values, chances, shares, truth, exact)


def laws_of_some(operator: LinearMap, shape: Shape, laws: Callable[[Indices], Iterator[ContributionLaw]]) -> LawsOfSome:
    """Those of queries far from each other: each next one is the farthest from all before it (Gonzalez 1985).

    A query of `shape` (k₁, k₂, …) types stands where its size and the middle of its types on each attribute say.
    """
    places = np.stack([np.ones(shape), *np.meshgrid(*(np.linspace(0, 1, size) for size in shape), indexing="ij")])
    stands = operator.matvec(places.reshape(1 + len(shape), -1).T) / np.prod(shape)
    rows, nearest = [0], np.zeros(len(stands), dtype=np.intp)
    apart = np.abs(stands - stands[0]).max(axis=1)
    while len(rows) < _MOST_DRAWN and apart.max() > 0:
        rows.append(int(apart.argmax()))
        closer = np.abs(stands - stands[rows[-1]]).max(axis=1)
        nearest[closer < apart] = len(rows) - 1
        apart = np.minimum(apart, closer)
    chosen = np.array(rows)
    return LawsOfSome(chosen, nearest, laws(chosen))


def _scaled(values: Floats, chances: Floats, shares: Floats, truth: Floats, variances: Floats) -> ContributionLaw:
    """The law of these atoms, moved to the means of the classes, `truth` (2,), and stretched to their `variances`."""
    chances = chances / chances.sum(axis=0)
    means = values @ chances
    drawn = np.maximum(values**2 @ chances - means**2, np.finfo(float).tiny)
    moved = [truth[one] + (values - means[one]) * np.sqrt(variances[one] / drawn[one]) for one in (0, 1)]
    apart = np.zeros((2 * len(values), 2))
    apart[: len(values), 0], apart[len(values) :, 1] = chances.T
    return ContributionLaw(*gathered(np.concatenate(moved), apart), shares, truth)


def _atoms(level: CellLevel, factor: float, weights: Floats, held: Floats, generator: np.random.Generator) -> Atoms:
    values, chances = _of_comb(level, weights, held) if level.sets else _of_cells(level, weights, held, generator)
    return factor * values, level.chance * chances


def _of_comb(level: CellLevel, weights: Floats, held: Floats) -> Atoms:
    """Every report of a comb: its set holds the users of a class that its shift holds."""
    assert level.sets is not None
    sums, *inside = (shift_sums(each, level.sets, level.periods).ravel() for each in (weights, *held))
    values = (level.low - 1) * weights.sum() + (level.high - level.low) * sums
    chances = (level.low + (level.high - level.low) * np.stack(inside, axis=1)) / len(values)
    return gathered(values, chances)


def _of_cells(level: CellLevel, weights: Floats, held: Floats, generator: np.random.Generator) -> Atoms:
    """Draws of a hashed level, each with the own cell hit and not, for a holder outside the query and one inside."""
    found: list[Atoms] = []
    offsets = list(_offsets(level.widths))
    draws = _DRAWS // len(offsets)
    hits = _stratified(draws * len(offsets), level.density, generator)
    holders = [_spread_types(each, draws * len(offsets), generator) for each in held]
    own_chance = level.density * level.high
    for number, offset in enumerate(offsets):
        rows = slice(number * draws, (number + 1) * draws)
        cells = _cell_sums(weights, level.widths, offset)
        largest = np.argsort(-np.abs(cells), kind="stable", axis=None)[:_CELLS]
        tops = cells.ravel()[largest]
        rest = max(0.0, float((cells**2).sum() - (tops**2).sum()))
        noise = np.sqrt(level.density * (1 - level.density) * rest) * generator.standard_normal(draws)
        for one, types in enumerate(holders):
            own = np.ravel_multi_index(_cells_of(types[rows], weights.shape, level.widths, offset), cells.shape)
            others = (hits[rows, : len(tops)] - level.density) * (own[:, None] != largest)
            added = others @ tops + noise
            for hit, chance in ((1.0, own_chance), (0.0, 1 - own_chance)):
                values = (level.high - level.low) * (added + (hit - level.density) * cells.ravel()[own])
                chances = np.zeros((draws, 2))
                chances[:, one] = chance / (draws * len(offsets))
                found.append((values, chances))
    values, chances = (np.concatenate(each) for each in zip(*found, strict=True))
    return values, chances


def _offsets(widths: Shape) -> Iterator[Shape]:
    """Some offsets below the widths, spread evenly: all where there are few."""
    below = [max(1, width) for width in widths]
    count = 1 << min(_OFFSETS, math.prod(below)).bit_length() - 1
    for place in range(count):
        turned = [_TURN**axis * place % count for axis in range(len(below))]
        yield tuple(int((turn + 0.5) * width / count) for turn, width in zip(turned, below, strict=True))


def _stratified(draws: int, chance: float, generator: np.random.Generator) -> Floats:
    """(draws, _CELLS) zeros and ones: in each column as many ones as the chance says, to one, in any order."""
    places = generator.permuted(np.tile(np.arange(draws), (_CELLS, 1)), axis=1).T
    return np.asarray(places + generator.random((1, _CELLS)) < chance * draws, dtype=float)


def _spread_types(shares: Floats, draws: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """(draws,) types, each as often as its share (k₁, k₂, …) says, to one, in any order."""
    sums = np.cumsum(shares.ravel())
    found = np.searchsorted(sums, (np.arange(draws) + 0.5) / draws * sums[-1])
    return generator.permutation(np.minimum(found, len(sums) - 1))


def _cell_sums(weights: Floats, widths: Shape, offset: Shape) -> Floats:
    """D (n₁, n₂, …): Σ β over each cell."""
    found = weights
    for axis, (width, start) in enumerate(zip(widths, offset, strict=True)):
        size = found.shape[axis]
        starts = np.maximum(0, np.arange((size - 1 + start) // width + 1) * width - start) if width else [0]
        found = np.add.reduceat(found, starts, axis=axis)
    return found


def _cells_of(types: NDArray[np.intp], shape: Shape, widths: Shape, offset: Shape) -> tuple[NDArray[np.intp], ...]:
    """The cells of each attribute that types are in."""
    places = zip(np.unravel_index(types, shape), widths, offset, strict=True)
    return tuple((place + start) // width if width else np.zeros_like(place) for place, width, start in places)
