"""γ₂(W; α), the least γ₂ of a matrix within α of W in every entry, with the dual matrix that proves it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from sordino_analysis.arrays import Floats, Mask, varying_rows
from sordino_analysis.optimisation.factorization.certificate import Factorization, FactorizationError
from sordino_analysis.optimisation.factorization.gamma2 import factorize
from sordino_analysis.optimisation.factorization.tuning import APPROXIMATION
from sordino_analysis.optimisation.factorization.weighted import weighted_spectrum
from sordino_analysis.request_terms import Objective

# Singular values below this share of the largest are rounding.
_RANK = 1e-10
# Slopes that differ by no more are the same up to rounding.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Witness:
    """U (Q, k) = D_u^½ Z D_v^½ with ‖Z‖ ≤ 1, whose rows sum to zero, for u and v on the simplex: γ₂*(U) ≤ 1.

    So γ₂(W; α) ≥ W•U − α‖U‖₁ for every α, whatever the centre (Edmonds–Nikolov–Ullman 2020, Lemmas 12 and 13). With u
    uniform over the rows of W that vary it bounds γ_F(W; α).
    """

    matrix: Floats
    row_weights: Floats
    column_weights: Floats

    @cached_property
    def slope(self) -> float:
        """‖U‖₁."""
        return float(np.abs(self.matrix).sum())

    def value(self, workload: Floats, alpha: float) -> float:
        """(W•U − α‖U‖₁)/‖Z‖, from the three arrays alone; raises FactorizationError where U's rows do not cancel.

        `workload` W (Q, k).
        """
        shift = float(np.abs(self.matrix.sum(axis=1)).sum())
        if shift > _SAME * self.slope:
            raise FactorizationError(f"the rows of U sum to {shift} in all, not to zero: a centre is free", self)
        root = np.sqrt(np.outer(self.row_weights, self.column_weights))
        inner = np.divide(self.matrix, root, out=np.zeros_like(root), where=root > 0)
        if (self.matrix[root == 0] != 0).any():
            raise FactorizationError("U is not zero where its weights are", self)
        return float(((workload * self.matrix).sum() - alpha * self.slope) / np.linalg.norm(inner, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Approximation:
    """LᵀR + c1ᵀ within `alpha` of W in every entry, and lower ≤ γ(W; alpha) ≤ upper, proved by the witness.

    For "mean" both are root mean squares over the rows of W that vary, also those that `alpha` makes constant.
    """

    factorization: Factorization
    alpha: float
    witness: Witness
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """upper / lower − 1."""
        return self.upper / self.lower - 1.0


def approximate(
    matrix: Floats,
    alpha: float,
    objective: Objective = "max",
    gap: float = APPROXIMATION.gap,
    max_iterations: int = APPROXIMATION.most_steps,
    should_stop: Callable[[], bool] = lambda: False,
) -> Approximation:
    """W̃ with |W̃ − W| ≤ α whose centred γ₂ (γ_F for "mean") is within 1 + gap of the least, with a proof.

    γ(W; α) = max over u, v of min over W̃ of ‖D_u^½ W̃ D_v^½‖_*, with √v projected out for the free centre. The inner
    problem is split into singular values and box (alternating directions); u and v ascend multiplicatively.
    After `max_iterations`, or once `should_stop()`, the gap is what was proved by then. Raises FactorizationError
    where α is negative or so large that constants answer every query. `matrix` W (Q, k).
    """
    half_ranges = np.ptp(matrix, axis=1) / 2
    if not 0 <= alpha < half_ranges.max():
        raise FactorizationError(
            f"alpha must be at least 0 and less than {half_ranges.max()}, where constants answer every query", alpha
        )
    kept = varying_rows(matrix) & (half_ranges > alpha)
    middle = matrix.min(axis=1) / 2 + matrix.max(axis=1) / 2
    scale = float(half_ranges.max())
    splitting = _Splitting((matrix[kept] - middle[kept, None]) / scale, alpha / scale, objective)
    splitting.run(gap, max_iterations, should_stop)
    approximated = np.repeat(middle[:, None], matrix.shape[1], axis=1)
    approximated[kept] += splitting.best * scale
    factorization = factorize(approximated, objective, APPROXIMATION.share_of_factors * gap, should_stop=should_stop)
    # Rows that became constant cost nothing, and are queries all the same.
    share = float(np.sqrt(kept.sum() / varying_rows(matrix).sum())) if objective == "mean" else 1.0
    witness = _spread(splitting.witness, kept, varying_rows(matrix), share, objective)
    return Approximation(
        factorization=factorization,
        alpha=alpha,
        witness=witness,
        lower=splitting.lower * scale * share,
        upper=factorization.upper * share,
    )


def tangent(matrix: Floats, factorization: Factorization) -> Witness:
    """The witness at α = 0 that the dual weights of a centred factorization of W give: its value is their nuclear norm.

    U = D_u^½ P Qᵀ D_v^½ for the singular vectors of D_u^½ (W − Wv1ᵀ) D_v^½. `matrix` W (Q, k).
    """
    rows, columns = factorization.row_weights, factorization.column_weights
    root = np.sqrt(np.outer(rows, columns))
    centred = matrix - (matrix @ columns)[:, None]
    left, values, right = np.linalg.svd(root * centred, full_matrices=False)
    telling = values > _RANK * values[0]
    inner = left[:, telling] @ right[telling]
    return Witness(_without_centre(inner, rows, columns), rows, columns)


def cheapest(
    matrix: Floats,
    exact: Factorization,
    cost: Callable[[float, float], float],
    gap: float = APPROXIMATION.cost_gap,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Approximation | None, float]:
    """The approximation with the least cost(γ(W; α), α), None where no α saves a share `gap`; and a lower bound on it.

    `cost` is convex and increasing in both. Every witness is a line below γ(W; ·), so the least cost along the
    highest of the lines met is a bound, and its α is the next to try (Kelley's cutting planes in one dimension).
    `matrix` W (Q, k).
    """
    witnesses, best, least = [tangent(matrix, exact)], None, cost(exact.upper, 0.0)
    for _ in range(APPROXIMATION.most_tangents):
        alpha, bound = _lowest(matrix, witnesses, cost)
        if alpha == 0 or bound >= (1 - gap) * least or should_stop():
            break
        approximation = approximate(matrix, alpha, exact.objective, gap / 2, should_stop=should_stop)
        witnesses.append(approximation.witness)
        value = cost(approximation.upper, alpha)
        if value < least:
            best, least = approximation, value
    return best, _lowest(matrix, witnesses, cost)[1]


def zeta(
    matrix: Floats, exact: Factorization, epsilon: float, users: int, gap: float = APPROXIMATION.cost_gap
) -> tuple[float, float]:
    """Proved bounds, below and above, of ζ(W, n) = min over α of γ₂(W; α) + α·ε·√n, with a free centre.

    (Edmonds–Nikolov–Ullman 2020, where it governs the error of every mechanism with n users.)
    """

    def cost(gamma: float, alpha: float) -> float:
        return gamma + alpha * epsilon * float(np.sqrt(users))

    approximation, lower = cheapest(matrix, exact, cost, gap)
    upper = cost(exact.upper, 0.0) if approximation is None else cost(approximation.upper, approximation.alpha)
    # At half the widest row's range constants answer every query, and nothing is left to factorize.
    return lower, min(upper, cost(0.0, float(np.ptp(matrix, axis=1).max() / 2)))


def _lowest(matrix: Floats, witnesses: list[Witness], cost: Callable[[float, float], float]) -> tuple[float, float]:
    """The α with the least cost along the highest of the witnesses' lines, and that cost."""
    levels = np.array([witness.value(matrix, 0.0) for witness in witnesses])
    slopes = np.array([witness.value(matrix, 0.0) - witness.value(matrix, 1.0) for witness in witnesses])

    def along(alpha: float) -> float:
        return cost(float(max((levels - alpha * slopes).max(), 0.0)), alpha)

    # At the half range constants answer everything; just below it factors still exist.
    largest = float(np.ptp(matrix, axis=1).max() / 2)
    minimum = minimize_scalar(
        along,
        bounds=(0.0, APPROXIMATION.furthest * largest),
        method="bounded",
        options={"xatol": APPROXIMATION.precision * largest},
    )
    alpha, value = float(minimum.x), float(minimum.fun)
    return (0.0, along(0.0)) if along(0.0) <= value else (alpha, min(value, cost(0.0, largest)))


class _Splitting:
    """Alternating directions on X = D_u^½ W̃ D_v^½ with the nuclear norm on X, the box on W̃ and moving weights."""

    def __init__(self, matrix: Floats, alpha: float, objective: Objective) -> None:
        queries, size = matrix.shape
        self.matrix, self.alpha, self.objective = matrix, alpha, objective
        self.rows, self.columns = np.full(queries, 1 / queries), np.full(size, 1 / size)
        self.inside, self.dual = matrix.copy(), np.zeros_like(matrix)
        self.penalty, self.exponent = APPROXIMATION.penalty, APPROXIMATION.exponent
        self.lower, self.upper = -np.inf, np.inf
        self.witness = Witness(np.zeros_like(matrix), self.rows, self.columns)
        self.best = self.inside

    def run(self, gap: float, max_iterations: int, should_stop: Callable[[], bool]) -> None:
        """Iterate until the proved gap is reached or the iterations run out; `best` is W̃, `witness` its proof."""
        for step in range(max_iterations):
            before = self.lower
            self._advance()
            if step % APPROXIMATION.steps_between_looks:
                continue
            self._look()
            if self.upper <= (1 + gap) * self.lower or should_stop():
                return
            if self.lower <= before * (1 + APPROXIMATION.gain):
                self.exponent *= APPROXIMATION.slower

    def _advance(self) -> None:
        root, direction = np.sqrt(np.outer(self.rows, self.columns)), np.sqrt(self.columns)
        target = root * self.inside - self.dual
        # What lies along √v is the centre's, which the norm does not see.
        centre = np.outer(target @ direction, direction)
        left, values, right = np.linalg.svd(target - centre, full_matrices=False)
        shrunk = np.maximum(values - 1 / self.penalty, 0.0)
        self._prove((left * np.minimum(self.penalty * values, 1.0)) @ right)
        moved = (left * shrunk) @ right + centre
        inside = np.clip((moved + self.dual) / root, self.matrix - self.alpha, self.matrix + self.alpha)
        self.dual += moved - root * inside
        self._adapt(np.linalg.norm(moved - root * inside), np.linalg.norm(root * (inside - self.inside)))
        self.inside = inside
        if shrunk[0] > 0:
            self._ascend(left**2 @ shrunk, shrunk @ right**2, shrunk.sum())

    def _prove(self, inner: Floats) -> None:
        witness = _without_centre(inner, self.rows, self.columns)
        value = float((self.matrix * witness).sum() - self.alpha * np.abs(witness).sum())
        if value > self.lower:
            self.lower, self.witness = value, Witness(witness, self.rows, self.columns)

    def _adapt(self, primal: np.floating, dual: np.floating) -> None:
        """A penalty that keeps the two residuals of one size."""
        step = 1.0
        if primal > APPROXIMATION.unequal_residuals * self.penalty * dual:
            step = APPROXIMATION.penalty_step
        elif self.penalty * dual > APPROXIMATION.unequal_residuals * primal:
            step = 1 / APPROXIMATION.penalty_step
        self.penalty *= step
        self.dual /= step

    def _ascend(self, by_row: Floats, by_column: Floats, norm: float) -> None:
        """u ← u·(‖L_q‖²/Σσ)^η and v ← v·(‖R_x‖²/Σσ)^η, as for an exact factorization."""
        if self.objective == "max":
            self.rows = self._moved(self.rows, by_row / (self.rows * norm))
        self.columns = self._moved(self.columns, by_column / (self.columns * norm))

    def _moved(self, weights: Floats, ratio: Floats) -> Floats:
        moved = weights * np.maximum(ratio, APPROXIMATION.least_ratio) ** self.exponent
        return np.asarray(
            (1 - APPROXIMATION.uniform_share) * moved / moved.sum() + APPROXIMATION.uniform_share / len(moved)
        )

    def _look(self) -> None:
        """The value of the factors of W̃ at the weights, which is an upper bound."""
        centred = self.inside - (self.inside @ self.columns)[:, None]
        spectrum = weighted_spectrum(centred, self.rows, self.columns)
        spent = spectrum.row_squares().max() if self.objective == "max" else spectrum.singular_values.sum()
        upper = float(np.sqrt(spent * spectrum.column_squares().max()))
        if upper < self.upper:
            self.upper, self.best = upper, self.inside.copy()


def _without_centre(inner: Floats, rows: Floats, columns: Floats) -> Floats:
    """D_u^½ Z D_v^½ once √v is taken out of Z's rows, so that U's rows sum to zero up to rounding."""
    direction = np.sqrt(columns)
    return np.asarray(np.sqrt(np.outer(rows, columns)) * (inner - np.outer(inner @ direction, direction)))


def _spread(witness: Witness, kept: Mask, varying: Mask, share: float, objective: Objective) -> Witness:
    """The witness over all rows of W: zero in those that are left out, which still count for "mean"."""
    matrix, weights = np.zeros((len(kept), witness.matrix.shape[1])), np.zeros(len(kept))
    matrix[kept] = witness.matrix * share
    weights[kept] = witness.row_weights
    uniform = varying / varying.sum()
    return Witness(matrix, uniform if objective == "mean" else weights, witness.column_weights)
