"""The design for all marginals or parities of a few of d bits, in milliseconds and without a list of the 2^d types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.certificate import CuratorCertificate
from sordino_analysis.curator.character_strategy import CharacterStrategy, degrees, squared_sensitivity_of_scales
from sordino_analysis.curator.design import MAX_QUERIES, MAX_TYPES, Design, asked_rows
from sordino_analysis.curator.tuning import CHARACTERS, STRATEGY
from sordino_analysis.curator.usefulness import zipf_spread
from sordino_analysis.optimisation.gaussian.covariance import proof_from_types
from sordino_analysis.optimisation.gaussian.distance_orbits import OrbitOptimum, optimal_orbits, orbit_dual_value
from sordino_analysis.optimisation.symmetry.krawtchouk import krawtchouk
from sordino_analysis.questions.linear.operators import LinearMap
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue

# Sums over sets may miss what they are by this share.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Orbit:
    """Queries that exchanges of bits map to each other: `count` of them, each counted `weight` times in an objective.

    `spectrum` (w + 1,) has what they add to λ_j/k, `squares` (rows, w + 1) the squared coefficients of a query by the
    number of bits of the character.
    """

    count: int
    weight: float
    spectrum: Floats
    squares: Floats


def orbit_design(workload: Workload, objective: Objective, neighbours: Neighbours, users: int | None) -> Design | None:
    """The least worst or mean variance for queries about few of many bits; None for other queries.

    The certificate holds for data sets with about half of all types or more. With fewer `users` there is one for up to
    1,024 types, as of any other workload.
    """
    operator = workload.operator
    orbits = binary_orbits(operator, neighbours)
    if orbits is None or not isinstance(operator, CharacterMap):
        return None
    search = _Search(len(operator.characters.shape), neighbours, orbits)
    query_weights = np.array([orbit.weight for orbit in orbits])
    mean = search.optimum(query_weights)
    weights, chosen, gap = query_weights, mean, mean.gap
    if objective == "max":
        weights, chosen, gap = search.of_worst_query(query_weights, mean)
    rounded = search.rounded(operator, chosen)
    strategy = rounded.dense(asked_rows(workload, neighbours)[0]) if is_listed(workload) else rounded
    spread = zipf_spread(2**search.bits) * float(search.characters[1:] @ mean.spectrum[1:]) / search.queries
    certificates = _certificates(workload, search, [(query_weights, mean), (weights, chosen)], users)
    of_queries = workload.query_weights
    return Design(
        strategy=strategy,
        weights=np.append(of_queries, 1.0) if neighbours == "add-remove" else of_queries,
        mean_certificate=certificates[0],
        max_certificate=certificates[1],
        gap=gap,
        uniform_error=math.sqrt(spread),
    )


def binary_orbits(operator: LinearMap, neighbours: Neighbours) -> list[Orbit] | None:
    """The orbits of queries on all sets of so many bits; None where WᵀW is not that of such queries.

    With `add-remove` the number of people is a query too, the last one.
    """
    if not isinstance(operator, CharacterMap) or set(operator.characters.shape) != {2}:
        return None
    bits = len(operator.characters.shape)
    width = max(block.supports.shape[1] for block in operator.blocks)
    orbits = []
    for block in operator.blocks:
        orbit = _orbit(block, bits, width)
        if orbit is None:
            return None
        orbits.append(orbit)
    if neighbours == "add-remove":
        everyone = np.eye(1, width + 1)
        orbits.append(Orbit(count=1, weight=1.0, spectrum=everyone[0], squares=everyone))
    return orbits


def _orbit(block: CharacterBlock, bits: int, width: int) -> Orbit | None:
    sets, involved = block.supports.shape
    gram, degree = block.table.T @ block.table, degrees(block.shape)
    by_degree = np.array([gram.diagonal()[degree == j].mean() for j in range(involved + 1)])
    if (
        sets != math.comb(bits, involved)
        or np.abs(gram - np.diag(by_degree[degree])).max() > _ROUNDING * by_degree.max()
    ):
        return None
    padded = np.zeros(width + 1)
    padded[: involved + 1] = [math.comb(bits - j, involved - j) * by_degree[j] for j in range(involved + 1)]
    squares = np.zeros((len(block.table), width + 1))
    np.add.at(squares.T, degree, block.table.T**2)
    return Orbit(count=block.queries.size, weight=block.weight, spectrum=padded, squares=squares)


def spectrum(orbits: Sequence[Orbit], weights: Floats) -> Floats:
    """(w + 1,) λ_j/k of the queries with these weights (orbits,)."""
    return np.asarray(weights @ np.array([orbit.spectrum for orbit in orbits]))


class _Search:
    """Designs for weights of the orbits of queries about d bits."""

    def __init__(self, bits: int, neighbours: Neighbours, orbits: Sequence[Orbit]) -> None:
        self.bits, self._neighbours, self._orbits = bits, neighbours, orbits
        self.queries = sum(orbit.count for orbit in orbits)
        width = len(orbits[0].spectrum) - 1
        self.characters = np.array([math.comb(bits, j) for j in range(width + 1)], dtype=float)
        self._distances = 1 - krawtchouk(bits, width)[1:] / self.characters

    def optimum(self, weights: Floats) -> OrbitOptimum:
        return optimal_orbits(self.bits, spectrum(self._orbits, weights), self.queries, self._neighbours)

    def of_worst_query(self, weights: Floats, start: OrbitOptimum) -> tuple[Floats, OrbitOptimum, float]:
        """Weights of the orbits in proportion to their variance, as `weigh_worst_query` finds them, and the gap."""
        counts = np.array([orbit.count for orbit in self._orbits])
        optimum, best, least, proved = start, (weights, start), np.inf, 0.0
        for _ in range(CHARACTERS.rounds):
            variances = self._variances(self.scales(optimum))
            if variances.max() < least:
                best, least = (weights, optimum), float(variances.max())
            proved = max(proved, optimum.lower)
            if least <= ((1 + CHARACTERS.worst_gap) * proved) ** 2:
                break
            weights = np.maximum(weights * variances / variances.mean(), CHARACTERS.least_weight)
            weights *= self.queries / (weights @ counts)
            optimum = self.optimum(weights)
        return *best, math.sqrt(least) / proved - 1

    def scales(self, optimum: OrbitOptimum) -> Floats:
        """(w + 1,) the multiple of each character that is measured, largest 1: (λ_j/ℓ_j)^¼ for eigenvalues ℓ of L_P."""
        seen = optimum.distance_weights @ self._distances if self._neighbours == "replace" else np.ones(1)
        squares = np.divide(optimum.spectrum, seen, out=np.zeros_like(optimum.spectrum), where=seen > 0)
        if self._neighbours == "replace":
            squares[0] = 0.0
        return np.asarray((squares / squares.max()) ** 0.25)

    def rounded(self, operator: CharacterMap, optimum: OrbitOptimum) -> CharacterStrategy:
        """With scales of 12 bits, or more where rounding costs over .2 % of the standard error."""
        real, characters = self.scales(optimum), self.characters * optimum.spectrum

        def error(scales: Floats) -> float:
            used = scales > 0
            return self._sensitivity(scales) * float(characters[used] @ (1 / scales[used] ** 2))

        scales: tuple[int, ...] = ()
        for bits in STRATEGY.more_bits:
            scales = tuple(max(1, round(2**bits * scale)) if scale else 0 for scale in real.tolist())
            if error(np.array(scales, dtype=float)) <= (1 + STRATEGY.rounding_loss) ** 2 * error(real):
                break
        return CharacterStrategy(
            neighbours=self._neighbours,
            operator=operator,
            scales=scales,
            squared_sensitivity=squared_sensitivity_of_scales(self.bits, scales),
        )

    def certificate(self, query_weights: Floats, optimum: OrbitOptimum) -> CuratorCertificate:
        weights = optimum.distance_weights
        certificate = certificate_of_orbits(self.bits, self._neighbours, self._orbits, query_weights, weights)
        if not weights.size:
            return certificate
        kept = np.where(weights >= CHARACTERS.least_share / self.bits, weights, 0.0)
        sparse = certificate_of_orbits(self.bits, "replace", self._orbits, query_weights, kept / kept.sum())
        return sparse if sparse.norm >= (1 - CHARACTERS.largest_loss) * certificate.norm else certificate

    def _variances(self, scales: Floats) -> Floats:
        """(orbits,) the largest variance of a query of each, at 2ρ = 1."""
        inverse = np.array([1 / scale**2 if scale else 0.0 for scale in scales.tolist()])
        return self._sensitivity(scales) * np.array([(orbit.squares @ inverse).max() for orbit in self._orbits])

    def _sensitivity(self, scales: Floats) -> float:
        squares = self.characters * scales**2
        if self._neighbours == "add-remove":
            return float(squares.sum())
        return float(2 * (self._distances @ squares).max())


def certificate_of_orbits(
    bits: int, neighbours: Neighbours, orbits: Sequence[Orbit], query_weights: Floats, distance_weights: Floats
) -> CuratorCertificate:
    """What w (orbits,) and p (d,) prove, p being empty for `add-remove`.

    Raises InvalidValue for weights that are negative, or of another sum.
    """
    counts = np.array([orbit.count for orbit in orbits])
    queries, energies = int(counts.sum()), spectrum(orbits, query_weights)
    if not (query_weights >= 0).all() or abs(query_weights @ counts / queries - 1) > _ROUNDING:
        raise InvalidValue("the weights of queries are not negative, and 1 on average", query_weights)
    if neighbours == "add-remove":
        norm, people = optimal_orbits(bits, energies, queries, neighbours).lower, 0
    else:
        norm = orbit_dual_value(bits, energies, queries, distance_weights)
        people = cover_of_distances(bits, (np.flatnonzero(distance_weights) + 1).tolist())
    return CuratorCertificate(
        neighbours=neighbours,
        query_weights=query_weights,
        weights=distance_weights,
        norm=norm,
        holds_from_n=people,
    )


def cover_of_distances(bits: int, distances: Sequence[int]) -> int:
    """How many types suffice to have a member in each pair of types at one of these distances.

    All but a cube of fewer bits than the least distance, or those of one parity where all distances are odd.
    """
    half: int = 2 ** (bits - 1)
    return half if all(distance % 2 for distance in distances) else 2**bits - 2 ** (min(distances) - 1)


def is_listed(workload: Workload) -> bool:
    """Whether all types and queries are few enough to list the integers of a strategy."""
    return workload.size <= MAX_TYPES and workload.queries <= MAX_QUERIES


def _certificates(
    workload: Workload, search: _Search, optima: Sequence[tuple[Floats, OrbitOptimum]], users: int | None
) -> list[CuratorCertificate | None]:
    certificates = [search.certificate(weights, optimum) for weights, optimum in optima]
    if users is None or users >= max(one.holds_from_n for one in certificates):
        return list(certificates)
    if not is_listed(workload):
        return [None] * len(certificates)
    present = np.linspace(0, workload.size - 1, users).round().astype(np.int64)
    proof = proof_from_types(workload.weighted_matrix(), present)
    return [CuratorCertificate.of(workload.operator.dense(), proof, workload.query_weights)] * len(certificates)
