"""Conic programs, min cᵀx with affine maps of x that are zero, not negative, or in second-order cones.

An interior-point method, Clarabel's, solves them. The point of the line x₁ + x₂ = 1 that is nearest to the origin:

>>> program = ConicProgram({"point": 2, "distance": 1}, {"distance": np.ones(1)})
>>> on_the_line = program.zero(Affine({"point": np.ones((1, 2))}, -1.0))
>>> axes = [Affine({"point": axis}) for axis in np.eye(2)[:, None]]
>>> cone = program.second_order([Affine({"distance": np.eye(1)}), *axes])
>>> program.solve().values["point"].round(6).tolist()
[0.5, 0.5]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from sordino_analysis.arrays import Floats

# Its point is good to the tolerances that were asked for, or to Clarabel's reduced ones.
_WITH_A_POINT = frozenset({"Solved", "AlmostSolved"})


@dataclass(frozen=True, eq=False)
class Affine:
    """x ↦ Σ_v terms[v]·x_v + constant: a matrix (n, size of v) for some of the variables, constant (n,) or a number."""

    terms: Mapping[str, Any]
    constant: Floats | float = 0.0

    def rows(self, sizes: Mapping[str, int]) -> sparse.csr_array:
        """(n, Σ sizes) the matrix over all variables, in their order."""
        height = next(iter(self.terms.values())).shape[0]
        blocks = [self.terms.get(name, sparse.csr_array((height, size))) for name, size in sizes.items()]
        return sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr")

    def constants(self) -> Floats:
        """(n,) the constant in every row."""
        height = next(iter(self.terms.values())).shape[0]
        return np.broadcast_to(np.asarray(self.constant, dtype=float), height)


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """How the solver ended, in its word, and if with a solution x: its `values` and the `prices` of the constraints.

    A price (n,) is by how much the optimum grows where the map has to be larger by one; not negative where it must not
    be negative. Without a solution there are neither.
    """

    status: str
    values: Mapping[str, Floats]
    prices: Sequence[Floats]


@dataclass(eq=False)
class ConicProgram:
    """min Σ_v costs[v]ᵀx_v over variables x_v of the `sizes`; a constraint's number is its place in `prices`."""

    sizes: Mapping[str, int]
    costs: Mapping[str, Floats]
    _constraints: list[tuple[sparse.csr_array, Floats, list[Any]]] = field(default_factory=list)

    def zero(self, affine: Affine) -> int:
        """Every entry of the map is 0."""
        constants = affine.constants()
        return self._add(affine.rows(self.sizes), constants, [clarabel.ZeroConeT(len(constants))])

    def not_negative(self, affine: Affine) -> int:
        """Every entry of the map is at least 0."""
        constants = affine.constants()
        return self._add(affine.rows(self.sizes), constants, [clarabel.NonnegativeConeT(len(constants))])

    def second_order(self, parts: Sequence[Affine]) -> int:
        """In each of n entries the first part is at least the Euclidean norm of the others."""
        constants = np.stack([part.constants() for part in parts], axis=1)
        # The rows of a cone follow each other: those of entry i are i, n + i, 2n + i, and so on.
        order = np.arange(constants.size).reshape(constants.shape[::-1]).T.ravel()
        rows = sparse.vstack([part.rows(self.sizes) for part in parts], format="csr")[order]
        return self._add(rows, constants.ravel(), [clarabel.SecondOrderConeT(len(parts))] * len(constants))

    def solve(self, **settings: float) -> ConicSolution:
        """The optimum, to Clarabel's `settings`, such as tol_feas."""
        chosen = clarabel.DefaultSettings()
        chosen.verbose = False
        for name, value in settings.items():
            setattr(chosen, name, value)
        cost = np.concatenate([self.costs.get(name, np.zeros(size)) for name, size in self.sizes.items()])
        rows, constants, cones = zip(*self._constraints, strict=True)
        # Clarabel's form: Ax + s = b with s in the cones.
        matrix, side = -sparse.vstack(rows, format="csc"), np.concatenate(constants)
        no_square = sparse.csc_array((len(cost), len(cost)))
        found = clarabel.DefaultSolver(no_square, cost, matrix, side, [*chain.from_iterable(cones)], chosen).solve()
        status = str(found.status)
        if status not in _WITH_A_POINT:
            return ConicSolution(status, {}, ())
        values = _parts(found.x, list(self.sizes.values()))
        prices = _parts(found.z, [len(constant) for constant in constants])
        return ConicSolution(status, dict(zip(self.sizes, values, strict=True)), prices)

    def _add(self, rows: sparse.csr_array, constants: Floats, cones: list[Any]) -> int:
        self._constraints.append((rows, constants, cones))
        return len(self._constraints) - 1


def _parts(numbers: Sequence[float], lengths: Sequence[int]) -> list[Floats]:
    return np.split(np.array(numbers), np.cumsum(lengths)[:-1])
