"""The bound of `mixed_types` as a cone program, for thresholds that a reflection of the types takes to one another.

For given p, p′ = p reflected, and nodes it is linear in all other numbers x: it maximises cᵀx, where at every end of an
interval the form in (v, b) with the rows of A and d_t(s_e) below it is positive definite,

    S(x) = [ right side less products   Aᵀ ]   =  Σ_i x_i Σ f (l rᵀ + r lᵀ).
           [ A                     diag d ]

The reflection takes s to 1 − s, so the intervals below ½ and half of all numbers are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.optimisation.bounds.mixed_types import MixedTypes, groups_of, reach
from sordino_analysis.optimisation.bounds.tuning import MIXED_TYPES
from sordino_analysis.optimisation.bounds.window_paths import Integers

# Nodes go beyond what rows reach, by more than rounding.
_BEYOND = 1e-6


@dataclass(frozen=True, eq=False)
class Terms:
    """f (l rᵀ + r lᵀ) for `left` and `right` (n, T) and `factors` (T,), each times the number at `places` (T,)."""

    places: Integers
    left: Floats
    right: Floats
    factors: Floats

    @classmethod
    def joined(cls, parts: Sequence[Terms]) -> Self:
        """The terms of all parts, one after another."""
        return cls(
            np.concatenate([part.places for part in parts]),
            np.hstack([part.left for part in parts]),
            np.hstack([part.right for part in parts]),
            np.concatenate([part.factors for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Numerators:
    """A = Σ x_i (e_row shapeᵀ − e_row′ shape′ᵀ) over n numbers: `rows` (2, n) and `shapes` (2, k, n) of a query and its
    reflection, and the query, side and knot of every number in `places` (n, 3)."""

    rows: Integers
    shapes: Floats
    places: Integers

    def matrix(self, x: Floats, queries: int) -> Floats:
        """(Q, k)"""
        matrix = np.zeros((queries, self.shapes.shape[1]))
        for sign, rows, shapes in zip((1.0, -1.0), self.rows, self.shapes, strict=True):
            np.add.at(matrix, rows, (sign * shapes * x[: len(rows)]).T)
        return matrix


def knots_of(types: int, growth: int) -> Integers:
    """(n,) distances from a threshold at which A has numbers, each by 1/`growth` farther than the one before."""
    knots = [0]
    while knots[-1] < types - 1:
        knots.append(min(types - 1, knots[-1] + max(1, knots[-1] // growth)))
    return np.array(knots)


class MixedTypesProgram:
    """The program for `thresholds` (Q,) over k types, with 2n intervals for `intervals` n."""

    def __init__(self, thresholds: Integers, types: int, epsilon: float, intervals: int, growth: int) -> None:
        self.thresholds, self.types, self.epsilon = thresholds, types, epsilon
        places = (np.arange(types) + 0.5) / types
        first = 1.0 / (1.0 + np.exp((places - 0.5) / MIXED_TYPES.width))
        first /= first.sum()
        self.weights = np.vstack([first, first[::-1]])
        self.total = self.weights.sum(axis=0)
        farthest = reach(self.weights, epsilon) + _BEYOND
        self.nodes = np.linspace(1 - farthest, farthest, 2 * intervals + 1)
        self.knots, self.intervals = knots_of(types, growth), intervals
        groups = min(MIXED_TYPES.groups, types)
        # An odd number of types has one in the middle.
        self.pairs = np.column_stack(np.triu_indices(groups - (groups - types) % 2))
        self.numerators = self._numerators()
        self.parts = self._parts()
        self.size = max(part.stop for part in self.parts.values())
        self.blocks = [self._block(interval, end) for interval in range(intervals) for end in (0, 1)]

    def _parts(self) -> dict[str, slice]:
        """Where x has which numbers."""
        ends = 2 * self.intervals
        counts = {
            "numerators": len(self.numerators.places),
            "shares": len(self.thresholds),
            "multipliers": (self.types + 1) // 2,
            "slopes": self.intervals * self.types,
            "levels": ends * self.types,
            "spans": ends,
            "pairs": ends * len(self.pairs),
        }
        stops = [0, *np.cumsum(list(counts.values())).tolist()]
        return {name: slice(start, stop) for name, (start, stop) in zip(counts, pairwise(stops), strict=True)}

    @property
    def positive(self) -> Integers:
        """(P,) the places of numbers that are not negative."""
        every = np.arange(self.size)
        return np.concatenate([every[self.parts[name]] for name in ("shares", "levels", "spans", "pairs")])

    @property
    def sums(self) -> Floats:
        """(n,) what the weights of all queries sum to, by number: 1 in all."""
        sums = np.zeros(self.size)
        sums[self.parts["shares"]] = 2.0
        return sums

    @property
    def objective(self) -> Floats:
        """(n,) 2⟨A, W⟩ − 1ᵀν by number."""
        costs, numerators = np.zeros(self.size), self.numerators
        signs = np.where(np.arange(self.types) < self.thresholds[:, None], 1.0, -1.0)
        # The reflected query has the opposite numbers, and W the opposite signs.
        products = signs[numerators.rows[0]].T * numerators.shapes[0]
        costs[self.parts["numerators"]] = 2.0 * products.sum(axis=0)
        costs[self.parts["multipliers"]] = -self._halves().sum(axis=0)
        return costs

    def start(self, expected: float) -> Floats:
        """(n,) numbers inside the cone that prove nothing, in units of a value."""
        point, level = np.zeros(self.size), (expected + 0.25) / 2
        ends, parts = 2 * self.intervals, self.parts
        of_levels = 2 * MIXED_TYPES.of_levels * level / np.cosh(self.epsilon / 2) ** 2
        point[parts["shares"]] = 1 / (2 * len(self.thresholds))
        point[parts["multipliers"]] = level * self.total[: (self.types + 1) // 2]
        point[parts["levels"]] = of_levels * np.tile(self.total, ends)
        point[parts["spans"]] = MIXED_TYPES.of_spans * level
        point[parts["pairs"]] = MIXED_TYPES.of_pairs * level / self.types**2
        return point

    def certificate(self, x: Floats) -> MixedTypes:
        """The numbers of all queries, types and intervals, from x (n,)."""
        shares, half = x[self.parts["shares"]], x[self.parts["slopes"]].reshape(-1, self.types)
        ends = 2 * self.intervals
        levels = x[self.parts["levels"]].reshape(ends, self.types)
        spans, groups = x[self.parts["spans"]], int(self.pairs.max()) + 1
        pairs = np.zeros((ends, groups, groups))
        pairs[:, self.pairs[:, 0], self.pairs[:, 1]] = x[self.parts["pairs"]].reshape(ends, -1)
        levels = np.concatenate([levels, levels[::-1, ::-1]])
        pairs = np.concatenate([pairs, pairs[::-1, ::-1, ::-1]])
        return MixedTypes(
            type_weights=self.weights,
            shares=np.column_stack([shares, shares[::-1]]) / (2 * shares.sum()),
            knots=self.knots,
            numerators=self._by_knots(x),
            multipliers=self._halves() @ x[self.parts["multipliers"]],
            nodes=self.nodes,
            slopes=np.concatenate([half, -half[::-1, ::-1]]),
            levels=levels,
            spans=np.concatenate([spans, spans[::-1]]),
            pairs=pairs.reshape(-1, groups),
        )

    def _halves(self) -> Floats:
        """(k, ⌈k/2⌉) the types of either half that have the same multiplier."""
        half = np.eye(self.types)[:, : (self.types + 1) // 2]
        return np.minimum(half + half[::-1], 1.0)

    def _numerators(self) -> Numerators:
        """A number for each query of the lower half, side, and knot that has types near."""
        hats = np.array([np.interp(np.arange(self.types), self.knots, unit) for unit in np.eye(len(self.knots))])
        queries, shapes, places = len(self.thresholds), [], []
        for query, threshold in enumerate(self.thresholds[: (queries + 1) // 2]):
            # The middle query is its own reflection.
            for side, knot in np.ndindex(1 if 2 * query == queries - 1 else 2, len(self.knots)):
                hat = hats[knot]
                left, right = hat[:threshold][::-1], hat[: self.types - threshold]
                shape = np.concatenate([left, 0 * right] if side == 0 else [0 * left, right])
                if shape.any():
                    shapes.append(shape)
                    places.append((query, side, knot))
        query_places = np.array(places)[:, 0]
        both = np.array(shapes).T
        return Numerators(
            np.vstack([query_places, queries - 1 - query_places]), np.stack([both, both[::-1]]), np.array(places)
        )

    def _by_knots(self, x: Floats) -> Floats:
        """(Q, 2n) the numbers of A."""
        queries = len(self.thresholds)
        table = np.zeros((queries, 2, len(self.knots)))
        query, side, knot = self.numerators.places.T
        numerators = x[self.parts["numerators"]]
        table[query, side, knot] = numerators
        table[queries - 1 - query, 1 - side, knot] = -numerators
        return table.reshape(queries, -1)

    def _block(self, interval: int, end: int) -> Terms:
        """What all numbers but those of A add at an end of an interval."""
        types, queries, parts = self.types, len(self.thresholds), self.parts
        block = 2 * interval + end
        first, root = self.weights[0], np.exp(self.epsilon / 2)
        (low, high), node = self.nodes[interval : interval + 2], self.nodes[interval + end]
        every, identity, units = np.arange(self.size), np.eye(types), np.eye(queries)
        groups = groups_of(types, int(self.pairs.max()) + 1)

        def of_types(left: Floats, right: Floats, name: str, which: slice, factor: float, at: float = 0.0) -> Terms:
            """`left` and `right` (k,) or (k, T), each less `at` times its sum in a's direction."""
            places = every[parts[name]][which]
            columns = [np.broadcast_to(one.reshape(types, -1), (types, len(places))) for one in (left, right)]
            padded = [np.vstack([one, -at * one.sum(axis=0), np.zeros((queries, one.shape[1]))]) for one in columns]
            return Terms(places, padded[0], padded[1], np.full(len(places), factor))

        below = np.vstack([np.zeros((types + 1, queries)), units])
        shares, type_weights = every[parts["shares"]], slice(block * types, (block + 1) * types)
        levels = of_types(identity, identity, "levels", type_weights, 0.5)
        levels.left[types], levels.right[types] = -root, -1 / root
        count = len(self.pairs)
        alike = slice(interval * types, (interval + 1) * types)
        products = groups[:, self.pairs[:, 0]], groups[:, self.pairs[:, 1]]
        forms = [
            Terms(shares, below, below, np.full(queries, node / 2)),
            Terms(shares, below[:, ::-1], below[:, ::-1], np.full(queries, (1 - node) / 2)),
            of_types(self.total, self._halves(), "multipliers", slice(None), 0.5),
            of_types(first - node * self.total, identity, "slopes", alike, 0.5),
            levels,
            of_types(first - low * self.total, high * self.total - first, "spans", slice(block, block + 1), -0.5),
            of_types(products[0], products[1], "pairs", slice(block * count, (block + 1) * count), -0.5, 1 / root),
        ]
        return Terms.joined(forms)
