"""A lower bound for the worst threshold query, in which the type weights of every query are mixtures of the same two.

It is the bound of `own_types`, g(v) = Σ_t (A_tᵀv)² / (Λ_tᵀv) ≤ νᵀv, for Λ_t = α_t p + β_t p′ with distributions p, p′
over the types and any A. Let m = (p + p′)ᵀv and s = pᵀv/m, so that Λ_tᵀv = m·d_t(s), d_t(s) = α_t s + β_t (1 − s).
Between nodes s_j < s_{j+1} the convex 1/d_t is below its chord. So g ≤ νᵀv on the rows v whose s is there, if for both
ends e = j, j + 1, with Q_e = Σ_t A_t A_tᵀ/d_t(s_e) and some ω, the same for both,

    vᵀQ_e v  ≤  m·νᵀv + (p − s_e (p + p′))ᵀv · ωᵀv,

since the terms with ω cancel along the chord. That holds on these rows, whose least entry is a, if the right side less
the left, less a non-negative combination of (v_x − a)(e^ε·a − v_x), of (s − s_j)(s_{j+1} − s)m², and of
(1ᵀ(v − a) over some types)·(1ᵀ(v − a) over others), is a non-negative quadratic form in (v, a).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.optimisation.bounds.tuning import LARGEST_EPSILON, LARGEST_TYPES
from sordino_analysis.optimisation.bounds.window_paths import ROUNDING, Integers
from sordino_shared.errors import InvalidValue

# More nodes than any ascent has: a document with more is refused before it takes minutes.
_MOST_NODES = 33
# The same of groups.
_MOST_GROUPS = 32
# e^ε is rounded, so that the lift is taken this share larger.
_LIFTED = 1e-8
# A ratio that rises by no more is the largest, up to rounding.
_SAME_RATIO = 1e-13


@dataclass(frozen=True, eq=False, kw_only=True)
class MixedTypes:
    """The numbers of a bound for thresholds t (Q,) over k types, with N nodes and so 2N − 2 ends of intervals.

    `type_weights` p and p′ (2, k), `shares` α and β (Q, 2), `numerators` A (Q, 2n) at distances `knots` (n,) left of
    the threshold, then right of it, linear between them, `multipliers` ν (k,), `nodes` s (N,), `slopes` ω (N − 1, k) by
    interval, and by ends the factors of the products: `levels` (2N − 2, k) of those of one type, `spans` (2N − 2,) of
    those of s, and `pairs` ((2N − 2)·G, G) of those of the types' G groups of neighbours.
    """

    type_weights: Floats
    shares: Floats
    knots: Integers
    numerators: Floats
    multipliers: Floats
    nodes: Floats
    slopes: Floats
    levels: Floats
    spans: Floats
    pairs: Floats

    def rows(self, thresholds: Integers) -> Floats:
        """A (Q, k)."""
        types = np.arange(self.type_weights.shape[1])
        rows = np.empty((len(thresholds), len(types)))
        sides = self.numerators.reshape(len(rows), 2, -1)
        for row, threshold, (left, right) in zip(rows, thresholds, sides, strict=True):
            before = types < threshold
            row[before] = np.interp(threshold - 1 - types[before], self.knots, left)
            row[~before] = np.interp(types[~before] - threshold, self.knots, right)
        return rows


@dataclass(frozen=True, eq=False)
class EndForm:
    """The right side less the products at an end of an interval: vᵀ·types·v + 2b·mixedᵀv + level·b², b = a·e^(ε/2)."""

    types: Floats
    mixed: Floats
    level: float
    node: float


def groups_of(types: int, groups: int) -> Floats:
    """(k, G) which types are in each of G groups of neighbours, which a reflection takes to one another."""
    lower = (2 * np.arange((types + 1) // 2) + 1) * groups // (2 * types)
    places = np.concatenate([lower, groups - 1 - lower[: types // 2][::-1]])
    return np.asarray(places[:, None] == np.arange(groups), dtype=float)


def end_forms(numbers: MixedTypes, epsilon: float) -> Iterator[EndForm]:
    """Of both ends of every interval."""
    (first, second), root = numbers.type_weights, float(np.exp(epsilon / 2))
    total, group = first + second, groups_of(len(first), numbers.pairs.shape[-1])
    sizes = group.sum(axis=0)
    for interval, slopes in enumerate(numbers.slopes):
        low, high = numbers.nodes[interval : interval + 2]
        for end, node in enumerate((low, high)):
            place, count = 2 * interval + end, len(sizes)
            levels, pairs = numbers.levels[place], numbers.pairs[place * count : (place + 1) * count]
            span = numbers.spans[place] * np.outer(first - low * total, high * total - first)
            linear = np.outer(total, numbers.multipliers) + np.outer(first - node * total, slopes) - span
            both = (pairs + pairs.T) / 2
            yield EndForm(
                np.diag(levels) + (linear + linear.T) / 2 - group @ both @ group.T,
                group @ (both @ sizes) / root - levels * (root + 1 / root) / 2,
                float(levels.sum() - sizes @ both @ sizes / root**2),
                float(node),
            )


def recheck_mixed_types(thresholds: Integers, epsilon: float, numbers: MixedTypes) -> float:
    """The bound that these numbers prove, or 0 where they prove nothing.

    Where a form has an eigenvalue −δ, δ‖v‖² is added: as ‖v‖² ≤ ½e^ε·m·1ᵀv, ν is raised by ½e^ε·δ. `thresholds` (Q,).
    Raises InvalidValue for numbers that are no certificate.
    """
    _check(thresholds, epsilon, numbers)
    rows, lift = numbers.rows(thresholds), 0.0
    for form in end_forms(numbers, epsilon):
        if form.level < 0 or (form.level == 0 and form.mixed.any()):
            return 0.0
        least = form.types - (np.outer(form.mixed, form.mixed) / form.level if form.level > 0 else 0.0)
        at_node = numbers.shares @ [form.node, 1 - form.node]
        weighed = rows / np.sqrt(np.where(at_node > 0, at_node, 1.0))[:, None]
        least -= weighed.T @ weighed
        squares = float(form.mixed @ form.mixed) / form.level if form.level > 0 else 0.0
        size = float(np.linalg.norm(form.types)) + squares + float((weighed**2).sum())
        lift = max(lift, ROUNDING * size - float(np.linalg.eigvalsh(least)[0]))
    types = rows.shape[1]
    level = float(numbers.multipliers.sum()) + types * lift * float(np.exp(epsilon)) / 2 * (1 + _LIFTED)
    products = rows * np.where(np.arange(types) < thresholds[:, None], 0.5, -0.5)
    correlation = max(0.0, abs(float(products.sum())) - ROUNDING * float(np.abs(products).sum()))
    if not level > 0:
        return 0.0
    second, squares = correlation**2 / level, 0.25 * float(numbers.shares.sum())
    return float(max(0.0, second - squares - ROUNDING * (second + squares)))


def reach(weights: Floats, epsilon: float) -> float:
    """The largest pᵀv/(p + p′)ᵀv of all v ∈ {1, e^ε}^k, for p and p′ = `weights` (2, k)."""
    total: Floats = weights.sum(axis=0)
    ratio, larger = 0.0, 0.5
    while larger > ratio * (1 + _SAME_RATIO):
        ratio = larger
        rows = np.where(weights[0] > ratio * total, float(np.exp(epsilon)), 1.0)
        larger = float(weights[0] @ rows) / float(total @ rows)
    return float(ratio)


def _check(thresholds: Integers, epsilon: float, numbers: MixedTypes) -> None:
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidValue(f"ε must be positive and at most {LARGEST_EPSILON:g} for this bound, got {epsilon}", epsilon)
    _check_shapes(len(thresholds), numbers)
    types = numbers.type_weights.shape[1]
    if not (np.diff(thresholds) > 0).all() or not 0 < thresholds[0] <= thresholds[-1] < types:
        raise InvalidValue("thresholds increase and lie between the first and the last type", thresholds)
    if not all(np.isfinite(array).all() for array in vars(numbers).values()):
        raise InvalidValue("the numbers of a bound are finite", numbers.multipliers)
    sums = [*numbers.type_weights.sum(axis=1), numbers.shares.sum()]
    if min(numbers.type_weights.min(), numbers.shares.min()) < 0 or not np.allclose(
        sums, 1, rtol=0, atol=SUM_TOLERANCE
    ):
        raise InvalidValue("the weights of a bound are non-negative and sum to 1", numbers.shares)
    if min(numbers.levels.min(), numbers.spans.min(), numbers.pairs.min()) < 0:
        raise InvalidValue("the factors of products are not negative", numbers.levels)
    if not (np.diff(numbers.knots) > 0).all() or numbers.knots[0] != 0:
        raise InvalidValue("distances begin at 0 and increase", numbers.knots)
    if numbers.numerators[~numbers.shares.any(axis=1)].any():
        raise InvalidValue("a query without weight has no numerators", numbers.numerators)
    _check_nodes(epsilon, numbers)


def _check_shapes(queries: int, numbers: MixedTypes) -> None:
    types, count, groups = numbers.type_weights.shape[-1], numbers.nodes.shape[0], numbers.pairs.shape[-1]
    if not 2 <= types <= LARGEST_TYPES:
        raise InvalidValue(f"this bound is for 2 to {LARGEST_TYPES} types, not {types}", types)
    if not 2 <= count <= _MOST_NODES or not 1 <= groups <= _MOST_GROUPS:
        raise InvalidValue(f"a bound has 2 to {_MOST_NODES} nodes and up to {_MOST_GROUPS} groups", (count, groups))
    expected = {
        "type_weights": (2, types),
        "shares": (queries, 2),
        "numerators": (queries, 2 * len(numbers.knots)),
        "multipliers": (types,),
        "slopes": (count - 1, types),
        "levels": (2 * count - 2, types),
        "spans": (2 * count - 2,),
        "pairs": ((2 * count - 2) * groups, groups),
    }
    for name, shape in expected.items():
        if getattr(numbers, name).shape != shape:
            raise InvalidValue(f"{name} of this bound have the shape {shape}", getattr(numbers, name).shape)


def _check_nodes(epsilon: float, numbers: MixedTypes) -> None:
    """Every row has its s between the first node and the last, by more than rounding."""
    nodes, slack = numbers.nodes, SUM_TOLERANCE
    if not (np.diff(nodes) > 0).all() or not 0 < nodes[0] < nodes[-1] < 1:
        raise InvalidValue("nodes increase from above 0 to below 1", nodes)
    largest, smallest = reach(numbers.type_weights, epsilon), 1 - reach(numbers.type_weights[::-1], epsilon)
    if nodes[0] > smallest - slack or nodes[-1] < largest + slack:
        raise InvalidValue(f"the nodes go from below {smallest:.6g} to above {largest:.6g}", nodes)
