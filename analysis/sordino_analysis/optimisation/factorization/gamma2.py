"""A first-order solver for γ₂ and γ_F whose every iterate carries a certificate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats, Mask
from sordino_analysis.optimisation.factorization.certificate import (
    Factorization,
    FactorizationError,
    counted_rows,
    primal_value,
)
from sordino_analysis.optimisation.factorization.tuning import GAMMA2
from sordino_analysis.optimisation.factorization.weighted import WeightedSpectrum, weighted_spectrum
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.request_terms import Objective

# No weight falls below this share of a uniform one: the factors divide by its square root.
_WEIGHT_FLOOR = 1e-8


def factorize(
    matrix: Floats,
    objective: Objective = "max",
    gap: float = GAMMA2.gap,
    centred: bool = True,
    max_iterations: int = GAMMA2.most_steps,
    progress: ProgressCallback = ignore_progress,
    should_stop: Callable[[], bool] = lambda: False,
) -> Factorization:
    """LᵀR + c1ᵀ = W with max‖L_q‖·max‖R_x‖ within 1 + gap of the least possible, or γ_F for "mean".

    The dual of γ₂ maximises ‖D_u^½ W D_v^½‖_*, a concave function, over u and v on the simplex; the singular
    value decomposition at (u, v) gives feasible factors, and multiplying each weight by its factor's squared
    norm ascends. (Dual: Edmonds–Nikolov–Ullman 2020, Lemma 12 at α = 0.) With `centred` the constants c = Wv
    come free. For "mean" only v moves. Stops at the gap, or after `max_iterations` or once `should_stop()`, with
    the gap certified by then. Raises FactorizationError for a matrix that is empty, not finite, or has nothing to
    factorize.
    """
    _check(matrix, objective, gap, max_iterations)
    counted = counted_rows(matrix, centred)
    if not counted.any():
        raise FactorizationError("every query is constant: its answer is known and nothing is left to factorize")
    offset = _midpoints(matrix) if centred else np.zeros(len(matrix))
    scale = float(np.abs(matrix - offset[:, None]).max())
    search = _Search((matrix[counted] - offset[counted, None]) / scale, objective, centred)
    while True:
        allowed = gap * search.best.norm
        progress(Progress(allowed / max(search.upper - search.best.norm, allowed)))
        if search.upper <= (1 + gap) * search.best.norm or search.iterations >= max_iterations or should_stop():
            return _finished(search, counted, offset, scale)
        search.advance()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Point:
    """Weights (u, v), the dual value there, and the squared norms that say where to move."""

    rows: Floats
    columns: Floats
    norm: float
    row_squares: Floats | None
    column_squares: Floats


@dataclass(frozen=True, eq=False)
class _Factors:
    spectrum: WeightedSpectrum
    centre: Floats


class _Search:
    """Ascent in (u, v) that always moves on from the best dual point and keeps the best factors met."""

    def __init__(self, matrix: Floats, objective: Objective, centred: bool) -> None:
        queries, size = matrix.shape
        self.matrix, self.objective, self.centred = matrix, objective, centred
        self.iterations, self.exponent, self.upper = 0, GAMMA2.relaxation, np.inf
        self.best = self._evaluate(np.full(queries, 1 / queries), np.full(size, 1 / size))

    def advance(self) -> None:
        """u ← u·(‖L_q‖²/Σσ)^η and v ← v·(‖R_x‖²/Σσ)^η from the best point; η falls when that loses ground."""
        best = self.best
        columns = _ascend(best.columns, best.column_squares / best.norm, self.exponent)
        rows = best.rows
        if best.row_squares is not None:
            rows = _ascend(rows, best.row_squares / best.norm, self.exponent)
        point = self._evaluate(rows, columns)
        if point.norm > best.norm:
            self.best, self.exponent = point, min(GAMMA2.recovery * self.exponent, GAMMA2.relaxation)
        else:
            self.exponent /= 2

    def _evaluate(self, rows: Floats, columns: Floats) -> _Point:
        centre = self.matrix @ columns if self.centred else np.zeros(len(self.matrix))
        spectrum = weighted_spectrum(self.matrix - centre[:, None], rows, columns)
        self.iterations += 1
        column_squares = spectrum.column_squares()
        row_squares = spectrum.row_squares() if self.objective == "max" else None
        # Without row_squares: Σ u‖L_q‖² = Σσ, up to the floor under the smallest σ.
        spent = spectrum.singular_values.sum() if row_squares is None else row_squares.max()
        upper = float(np.sqrt(spent * column_squares.max()))
        if upper < self.upper:
            self.upper, self.factors = upper, _Factors(spectrum, centre)
        return _Point(
            rows=rows,
            columns=columns,
            norm=spectrum.nuclear_norm,
            row_squares=row_squares,
            column_squares=column_squares,
        )


def _ascend(weights: Floats, ratio: Floats, exponent: float) -> Floats:
    moved = weights * ratio**exponent
    floored = np.maximum(moved / moved.sum(), _WEIGHT_FLOOR / len(moved))
    return np.asarray(floored / floored.sum())


def _midpoints(matrix: Floats) -> Floats:
    # Halved before they are added: entries near the largest float must not overflow.
    return np.asarray(matrix.min(axis=1) / 2 + matrix.max(axis=1) / 2)


def _finished(search: _Search, counted: Mask, offset: Floats, scale: float) -> Factorization:
    left, right = search.factors.spectrum.factors()
    full_left = np.zeros((len(left), len(counted)))
    full_left[:, counted] = left * np.sqrt(scale)
    centre, weights = offset.copy(), np.zeros(len(counted))
    centre[counted] += search.factors.centre * scale
    weights[counted] = search.best.rows
    every = np.ones(left.shape[1], dtype=bool)
    return Factorization(
        left=full_left,
        right=right * np.sqrt(scale),
        centre=centre,
        row_weights=weights,
        column_weights=search.best.columns,
        objective=search.objective,
        centred=search.centred,
        lower=search.best.norm * scale,
        upper=primal_value(left, right, search.objective, every) * scale,
        iterations=search.iterations,
    )


def _check(matrix: Floats, objective: str, gap: float, max_iterations: int) -> None:
    if matrix.ndim != 2 or matrix.size == 0:
        raise FactorizationError(f"a workload matrix is queries × types, not of shape {matrix.shape}", matrix)
    if not np.isfinite(matrix).all():
        raise FactorizationError("the workload matrix has entries that are not finite: replace them", matrix)
    if objective not in ("max", "mean"):
        raise FactorizationError(f'the objective is "max" or "mean", not {objective!r}', objective)
    if not gap > 0 or max_iterations < 1:
        raise FactorizationError(f"gap ({gap}) and max_iterations ({max_iterations}) must be positive", gap)
