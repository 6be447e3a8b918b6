"""New rows for the worst query: what a set of types is worth to a kernel whose decoder has few large variances.

With weights Λ_q (k,) of each query's own types, Σ_qx Λ_qx Var_q(x) is least for V_qy = A_qᵀv_y/Λ_qᵀv_y, where
A_q = M_q⁻¹w_q and M_q = Σ_y θ_y v_y v_yᵀ/(Λ_qᵀv_y). A unit of a further row v lowers it by Σ_q (A_qᵀv)²/(Λ_qᵀv) − νᵀv,
with the multipliers ν of the columns' sums. At the optimum Λ is on the largest variances, as the soft maximum's slope.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import NEARLY_ZERO, Floats, Mask
from sordino_analysis.optimisation.search.balanced_rows import balanced_weights
from sordino_analysis.optimisation.search.descent import Point
from sordino_analysis.optimisation.search.flips import climbed
from sordino_analysis.optimisation.search.images import Images
from sordino_analysis.optimisation.search.objectives import variances
from sordino_analysis.optimisation.search.tuning import WORST_COLUMNS, NewRows

# Keeps the system invertible in double precision.
_RIDGE = 1e-11


@dataclass(frozen=True, eq=False)
class OwnPrices:
    """A and Λ (Q, k), ν (k,): what a row lowers the value by, and what its columns cost."""

    answers: Floats
    weights: Floats
    columns: Floats
    boost: float

    def gains(self, members: Mask) -> Floats:
        """(m,) Σ_q (A_qᵀv)²/(Λ_qᵀv) − νᵀv over the mean of v, above zero for a row that lowers the value."""
        rows = 1.0 + self.boost * members
        worth = ((self.answers @ rows.T) ** 2 / (self.weights @ rows.T)).sum(axis=0)
        return np.asarray((worth - rows @ self.columns) / rows.mean(axis=1))

    def flips(self, members: Mask) -> tuple[Floats, Floats]:
        """(m,) gains, and (m, k) gains after flipping each type."""
        rows, types = 1.0 + self.boost * members, members.shape[1]
        changes = np.where(members, -self.boost, self.boost)
        pushed, masses = self.answers @ rows.T, self.weights @ rows.T
        flipped = np.empty(members.shape)
        for place in range(types):
            change = changes[:, place]
            moved = pushed + self.answers[:, place : place + 1] * change
            flipped[:, place] = (moved**2 / (masses + self.weights[:, place : place + 1] * change)).sum(axis=0)
        flipped -= (rows @ self.columns)[:, None] + changes * self.columns
        flipped /= rows.mean(axis=1)[:, None] + changes / types
        return self.gains(members), flipped

    def decoded(self, members: Mask) -> Floats:
        """(Q, m) V of rows: the best under the weights."""
        rows = 1.0 + self.boost * members
        return np.asarray((self.answers @ rows.T) / (self.weights @ rows.T))

    def worth_adding(self, members: Mask, images: Images, new_rows: NewRows) -> Mask:
        """The sets with the largest gains that climb from `members` (m, k) and the single types, none of these."""
        types = members.shape[1]
        starts = images.distinct(np.vstack([members, np.eye(types, dtype=bool)]))
        starts = starts[np.argsort(-self.gains(starts), kind="stable")[: new_rows.starts]]
        sets = images.distinct(climbed(starts, self.flips))
        present = {row.tobytes() for row in images.distinct(members)}
        fresh = np.array([row.tobytes() not in present for row in sets]) & sets.any(axis=1) & ~sets.all(axis=1)
        gains = np.where(fresh, self.gains(sets), -np.inf)
        most = max(WORST_COLUMNS.fewest_new, new_rows.per_type * types) // images.copies
        order = np.argsort(-gains, kind="stable")[:most]
        return np.asarray(sets[order[gains[order] > WORST_COLUMNS.worth * abs(float(self.columns.sum()))]])


def own_prices(
    matrix: Floats, members: Mask, weights: Floats, boost: float, pressure: Floats, images: Images
) -> OwnPrices:
    """The prices of W (Q, k) for the kernel of `members` (m, k) under `weights` θ (m,) and their images.

    `pressure` (Q, k) is Λ up to a factor. Raises LinAlgError where rows do not tell all types apart.
    """
    spread = (1.0 - WORST_COLUMNS.spread) * pressure / pressure.sum() + WORST_COLUMNS.spread / pressure.size
    rows = 1.0 + boost * images.all_rows(members)
    shares = np.tile(weights, images.copies)
    answers = np.empty_like(matrix)
    for query in images.kept_queries(len(matrix)):
        system = (rows.T * (shares / (rows @ spread[query]))) @ rows
        system[np.diag_indices_from(system)] += _RIDGE * np.trace(system) / len(system)
        answers[query] = np.linalg.solve(system, matrix[query])
    answers = images.mirrored_queries(answers)
    # The rows in use are worth what their columns cost.
    worth = ((answers @ rows.T) ** 2 / (spread @ rows.T)).sum(axis=0)
    roots = np.sqrt(shares)
    columns = np.linalg.lstsq(rows * roots[:, None], worth * roots, rcond=NEARLY_ZERO)[0]
    return OwnPrices(answers, spread, columns, boost)


def grown(
    point: Point,
    decoder: Floats,
    matrix: Floats,
    epsilon: float,
    sharpness: float,
    new_rows: NewRows,
    images: Images,
) -> Point:
    """The rows at a level that weigh something, and those besides that are worth the most.

    `decoder` V (Q, m) is unbiased for W = `matrix` (Q, k); the larger `sharpness`, the fewer of its variances set the
    prices. Raises LinAlgError or ValueError where the new rows cannot be priced or weighed.
    """
    members, boost = point.logits > 0, float(np.expm1(epsilon))
    variance = variances(point.weights[:, None] * np.where(members, 1.0 + boost, 1.0), decoder, matrix, images)
    pressure = np.exp(sharpness * (variance / variance.max() - 1.0))
    prices = own_prices(matrix, members, point.weights, boost, pressure, images)
    added = prices.worth_adding(members, images, new_rows)
    kept = point.weights > new_rows.least_share * point.weights.mean()
    weights = np.concatenate(
        [point.weights[kept], np.full(len(added), WORST_COLUMNS.first_share * point.weights.mean())]
    )
    members = np.vstack([members[kept], added])
    weights = balanced_weights(np.where(members, 1.0 + boost, 1.0), weights, images)
    free = np.hstack([decoder[:, kept], prices.decoded(added)])
    return replace(point, logits=np.where(members, np.inf, -np.inf), weights=weights, free=free)
