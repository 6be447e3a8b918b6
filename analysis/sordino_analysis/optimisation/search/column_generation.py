"""Column generation for the mean variance: primal–dual Newton on row weights, new rows with negative reduced cost.

For fixed type weights π the averaged second moment tr(G₀M⁻¹), M = Σ_S θ_S v_S v_Sᵀ/(πᵀv_S), is convex in the weights θ
under Σ θ_S v_S = 1. A row v lowers it iff vᵀGv/(πᵀv) > λᵀv for G = M⁻¹G₀M⁻¹ and the multipliers λ of the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from sordino_analysis.arrays import TINY, Floats, Mask
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.cone_program import ConeDesign, solve_cone_program
from sordino_analysis.optimisation.search.flips import climbed
from sordino_analysis.optimisation.search.images import NO_IMAGES, Images
from sordino_analysis.optimisation.search.objectives import averaged_by_type, information
from sordino_analysis.optimisation.search.tuning import COLUMNS, CONE_COLUMNS

# A Newton step at 128 types and 1024 rows takes a tenth of a second, and grows with the cube of both.
MOST_TYPES = 128
# Rows of less than this share of the weight are left out.
_NEGLIGIBLE = 1e-6
# A type without weight could not get any again.
_LEAST_WEIGHT = 1e-9
# Singular values below this share of the largest are rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Sets (m, k) of types at the upper level, weights (m,) under which columns sum to one, and π (k,)."""

    members: Mask
    weights: Floats
    type_weights: Floats


@dataclass(frozen=True, eq=False)
class Prices:
    """G (k, k) and λ (k,): what a row lowers the value by, and what its columns cost, for a unit of π-mass."""

    gram: Floats
    multipliers: Floats
    type_weights: Floats
    boost: float

    def gains(self, members: Mask) -> Floats:
        """(m,) vᵀGv/(πᵀv)² − λᵀv/(πᵀv), above zero for a row that lowers the value."""
        rows = 1.0 + self.boost * members
        masses = rows @ self.type_weights
        return np.asarray(np.einsum("yx,yx->y", rows @ self.gram, rows) / masses**2 - rows @ self.multipliers / masses)

    def improved(self, members: Mask) -> Mask:
        """Each set after the single flips that raise its gain the most, until none does. `members` (n, k) → (n, k)."""
        return climbed(members, self._flips)

    def _flips(self, members: Mask) -> tuple[Floats, Floats]:
        """(m,) gains, and (m, k) gains after flipping each type."""
        rows, changes = 1.0 + self.boost * members, np.where(members, -self.boost, self.boost)
        pushed, masses = rows @ self.gram, (rows @ self.type_weights)[:, None]
        squares, costs = np.einsum("yx,yx->y", pushed, rows)[:, None], (rows @ self.multipliers)[:, None]
        moved = masses + changes * self.type_weights
        flipped = (squares + 2 * changes * pushed + changes**2 * np.diag(self.gram)) / moved**2
        flipped -= (costs + changes * self.multipliers) / moved
        return (squares / masses**2 - costs / masses)[:, 0], flipped


def generate_columns(
    matrix: Floats,
    epsilon: float,
    start: WeightedRows,
    rounds: int,
    should_stop: Callable[[], bool] = lambda: False,
    images: Images = NO_IMAGES,
) -> WeightedRows:
    """Rows, weights and π with a mean variance for the worst type no higher than the start's, under GLS for W (Q, k).

    Deterministic; ends after `rounds`, once no row is worth adding, or once `should_stop()`. Where W has images, start
    and result hold the image of every row.
    """
    types = matrix.shape[1]
    most_rows = max(len(start.members), COLUMNS.most_rows_per_type * types, COLUMNS.fewest_rows) // images.copies
    generation = _Generation(_Master(matrix, epsilon, most_rows, images), _kept(start, images))
    try:
        for _ in range(rounds):
            if should_stop() or generation.advance():
                break
    except (ValueError, np.linalg.LinAlgError):
        # Rows that no longer balance or do not tell all types apart: what was found before stands.
        pass
    return _whole(generation.best, images)


def _kept(rows: WeightedRows, images: Images) -> WeightedRows:
    """One row of each that are images of each other."""
    if images.image is None:
        return rows
    members, weights = images.one_of_each(rows.members, rows.weights)
    return replace(rows, members=members, weights=weights)


def _whole(rows: WeightedRows, images: Images) -> WeightedRows:
    """The rows and their images."""
    if images.image is None:
        return rows
    return replace(rows, members=images.all_rows(rows.members), weights=np.tile(rows.weights, images.copies))


def unevenness(matrix: Floats, epsilon: float, rows: WeightedRows) -> float:
    """1 − (π-average over types of the mean variance)/(the worst type's): what better type weights could gain.

    `matrix` W (Q, k).
    """
    variance = _Master(matrix, epsilon, len(rows.members)).by_type(rows)
    return 1.0 - float(rows.type_weights @ variance) / float(variance.max())


class _Master:
    """The convex problem over the weights of the rows at hand, each of which stands for its images too."""

    def __init__(self, matrix: Floats, epsilon: float, most_rows: int, images: Images = NO_IMAGES) -> None:
        self.most_rows, self.images = most_rows, images
        self.gram = matrix.T @ matrix / len(matrix)
        self.second_moments = (matrix**2).mean(axis=0)
        self.boost = float(np.expm1(epsilon))

    def levels(self, rows: WeightedRows) -> Floats:
        return np.where(rows.members, 1.0 + self.boost, 1.0)

    def by_type(self, rows: WeightedRows) -> Floats:
        """(k,) the mean variance of each type."""
        kernel = rows.weights[:, None] * self.levels(rows)
        return averaged_by_type(kernel, self.gram, self.second_moments, rows.type_weights, self.images)

    def value(self, rows: WeightedRows) -> float:
        """tr(G₀M⁻¹)."""
        kernel = rows.weights[:, None] * self.levels(rows)
        return float(np.trace(information(kernel, rows.type_weights, self.images).solve(self.gram)))

    def priced(self, rows: WeightedRows) -> Floats:
        """G = M⁻¹G₀M⁻¹."""
        row_information = information(rows.weights[:, None] * self.levels(rows), rows.type_weights, self.images)
        return row_information.solve(row_information.solve(self.gram).T)

    def reweighted(self, rows: WeightedRows, barrier: float, prices: Prices | None) -> tuple[WeightedRows, Prices]:
        """Weights near the least tr(G₀M⁻¹) by primal-dual Newton steps from the last prices, and the prices there."""
        levels = self.levels(rows)
        target = barrier * self.value(rows) / len(levels)
        slacks = target / rows.weights
        if prices is not None:
            slacks = np.maximum(slacks, -prices.gains(rows.members) * (levels @ rows.type_weights))
        for _ in range(COLUMNS.most_newton_steps):
            step, multipliers, promised = self._newton(rows, levels, slacks, target)
            turned = target / (rows.weights * slacks) - 1.0 - step
            rows = replace(rows, weights=rows.weights * (1.0 + _inside(step) * step))
            slacks = slacks * (1.0 + _inside(turned) * turned)
            if promised <= COLUMNS.small_decrement * target * len(levels):
                break
        return rows, Prices(self.priced(rows), multipliers, rows.type_weights, self.boost)

    def _newton(
        self, rows: WeightedRows, levels: Floats, slacks: Floats, target: float
    ) -> tuple[Floats, Floats, float]:
        """Relative changes of the weights, λ, and what a step promises."""
        hessian, falls = self._derivatives(rows, levels)
        hessian[np.diag_indices_from(hessian)] += rows.weights * slacks
        downhill = falls + target
        system = scipy.linalg.cho_factor(hessian, check_finite=False)
        scaled = self.images.folded(rows.weights[:, None] * levels)
        solved = scipy.linalg.cho_solve(system, np.column_stack([downhill, scaled]), check_finite=False)
        multipliers = np.linalg.lstsq(scaled.T @ solved[:, 1:], scaled.T @ solved[:, 0], rcond=_ROUNDING)[0]
        step = solved[:, 0] - solved[:, 1:] @ multipliers
        return step, self.images.unfolded(multipliers), float(step @ (downhill - scaled @ multipliers))

    def _derivatives(self, rows: WeightedRows, levels: Floats) -> tuple[Floats, Floats]:
        """Hessian (m, m) 2(VM⁻¹Vᵀ)∘(VGVᵀ)/(ppᵀ) and negative slopes (m,) vᵀGv/(πᵀv) of the value, scaled by θ.

        Changes are relative, hence the scale. Where rows have images the Hessian is of half the value: the sum of those
        of a row with the other and with its image.
        """
        row_information = information(rows.weights[:, None] * levels, rows.type_weights, self.images)
        shares = (rows.weights / row_information.masses * rows.weights)[:, None] * levels
        pushed = levels @ row_information.solve(row_information.solve(self.gram).T)
        solved = row_information.solve(shares.T)
        hessian = (2.0 * shares @ solved) * (pushed @ levels.T)
        if self.images.image is not None:
            mirror = self.images.image.types
            hessian += (2.0 * shares @ solved[mirror]) * (pushed @ levels.T[mirror])
        return hessian, np.einsum("yx,yx->y", pushed, shares)

    def _worth_adding(self, rows: WeightedRows, prices: Prices) -> Mask:
        """(n, k) the sets near the rows that are not among them and lower the value the most."""
        types = rows.members.shape[1]
        starts = self.images.distinct(np.vstack([rows.members, np.eye(types, dtype=bool)]))
        candidates = self.images.distinct(prices.improved(starts))
        present = {row.tobytes() for row in rows.members}
        fresh = np.array([row.tobytes() not in present for row in candidates])
        fresh &= candidates.any(axis=1) & ~candidates.all(axis=1)
        gains = np.where(fresh, prices.gains(candidates), -np.inf)
        order = np.argsort(-gains, kind="stable")[: COLUMNS.new_rows_per_type * types // self.images.copies]
        return np.asarray(candidates[order[gains[order] > COLUMNS.worth * self.value(rows)]])

    def grown(self, rows: WeightedRows, prices: Prices) -> WeightedRows:
        """The rows that weigh something, and the sets near them that are worth the most besides."""
        chosen = self._worth_adding(rows, prices)
        if not len(chosen):
            return rows
        room = self.most_rows - len(chosen)
        kept = np.sort(np.argsort(-rows.weights, kind="stable")[:room])
        members = np.vstack([rows.members[kept], chosen])
        weights = np.concatenate([rows.weights[kept], np.full(len(chosen), COLUMNS.first_share * rows.weights.mean())])
        return self._balanced(replace(rows, members=members, weights=weights))

    def without_negligible(self, rows: WeightedRows) -> WeightedRows:
        """Without the rows that the barrier alone keeps."""
        kept = rows.weights > _NEGLIGIBLE * rows.weights.sum()
        return self._balanced(replace(rows, members=rows.members[kept], weights=rows.weights[kept]))

    def _balanced(self, rows: WeightedRows) -> WeightedRows:
        return replace(rows, weights=balanced_weights(self.levels(rows), rows.weights, self.images))


def _shifted(weights: Floats, variance: Floats, exponent: float) -> Floats:
    """One multiplicative-weights update of π; the value is concave in π."""
    moved = np.maximum(weights * np.maximum(variance / variance.max(), 0.0) ** exponent, _LEAST_WEIGHT)
    return np.asarray(moved / moved.sum())


def _inside(step: Floats) -> float:
    """How far along relative changes everything stays positive."""
    return min(1.0, COLUMNS.to_boundary / max(float(-step.min()), TINY))


class _Generation:
    """Where the rounds are: rows, barrier, how fast the type weights move, and the best kernel so far."""

    def __init__(self, master: _Master, start: WeightedRows) -> None:
        self.master, self.rows, self.best = master, start, start
        self.least = float(master.by_type(start).max())
        self.barrier, self.exponent, self.before = COLUMNS.first_barrier, COLUMNS.first_exponent, np.inf
        self.prices: Prices | None = None

    def advance(self) -> bool:
        """Weigh the rows, add new ones, move the type weights; True once nothing more is to be gained."""
        rows, self.prices = self.master.reweighted(self.rows, self.barrier, self.prices)
        variance = self.master.by_type(rows)
        worst = float(variance.max())
        if not np.isfinite(worst):
            return True
        if worst < self.least:
            self._keep(rows)
        grown = self.master.grown(rows, self.prices)
        uneven = 1.0 - float(rows.type_weights @ variance) / worst
        if uneven <= COLUMNS.settled and grown is rows and self.barrier <= COLUMNS.last_barrier:
            return True
        factor = COLUMNS.faster if uneven < self.before else COLUMNS.slower
        self.exponent = float(np.clip(self.exponent * factor, *COLUMNS.exponents))
        self.before, self.barrier = uneven, max(self.barrier * COLUMNS.barrier_step, COLUMNS.last_barrier)
        self.rows = replace(grown, type_weights=_shifted(rows.type_weights, variance, self.exponent))
        return False

    def _keep(self, rows: WeightedRows) -> None:
        """The rows without those that the barrier alone keeps, if they still are better."""
        bare = self.master.without_negligible(rows)
        worst = float(self.master.by_type(bare).max())
        if worst < self.least:
            self.best, self.least = bare, worst


def settle_columns(
    matrix: Floats, epsilon: float, members: Mask, should_stop: Callable[[], bool] = lambda: False
) -> ConeDesign:
    """The best kernel found for the mean of W (Q, k) under its worst type, from the rows of `members` (m, k).

    Type weights that move step by step oscillate where few queries leave many kernels equally good under one of them;
    the cone program has them as multipliers, so that its prices are those of the worst type.
    Ends when no row near those in use or near the single types is worth adding, or once `should_stop()`.
    Raises ConeProgramFailed where the first program fails.
    """
    rows = np.unique(np.vstack([members, np.eye(members.shape[1], dtype=bool)]), axis=0)
    design = solve_cone_program(matrix, rows, epsilon, "mean")
    for _ in range(CONE_COLUMNS.rounds):
        added = _worth_adding(design, rows, epsilon)
        if should_stop() or not len(added):
            break
        rows = np.vstack([design.members, added, np.eye(members.shape[1], dtype=bool)])
        rows = np.unique(rows, axis=0)
        design = solve_cone_program(matrix, rows, epsilon, "mean")
    return design


def _worth_adding(design: ConeDesign, rows: Mask, epsilon: float) -> Mask:
    """Sets reached by flips from those in use and the single types whose prices are the highest."""
    types, weights = rows.shape[1], design.type_weights
    gram = design.answer_prices.T @ design.answer_prices
    prices = Prices(gram, design.column_prices, weights, float(np.expm1(epsilon)))
    candidates = np.unique(prices.improved(rows), axis=0)
    candidates = candidates[candidates.any(axis=1) & ~candidates.all(axis=1)]
    present = {row.tobytes() for row in rows}
    gains = np.where([row.tobytes() not in present for row in candidates], prices.gains(candidates), -np.inf)
    order = np.argsort(-gains, kind="stable")[: CONE_COLUMNS.new_rows_per_type * types]
    return np.asarray(candidates[order[gains[order] > CONE_COLUMNS.worth * abs(float(design.column_prices.sum()))]])
