"""Everything that a curator's plan claims, recomputed from its integers by somebody who does not trust who made it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.curator.certificate import CuratorCertificate
from sordino_analysis.curator.character_strategy import CharacterStrategy, squared_sensitivity_of_scales
from sordino_analysis.curator.decoding import decoded_strategy
from sordino_analysis.curator.design import asked_rows
from sordino_analysis.curator.laws import BlockLaw, GaussianLaw, NoiseLaw
from sordino_analysis.curator.loss import check_covered, loss_of_rows
from sordino_analysis.curator.orbit_design import binary_orbits, certificate_of_orbits
from sordino_analysis.curator.plan import CuratorPlan
from sordino_analysis.curator.projected_plan import ProjectedPlan, check_projection
from sordino_analysis.curator.signed_sums import projection_of
from sordino_analysis.curator.strategy import IntegerStrategy, Strategy, squared_sensitivity
from sordino_analysis.documents.curator_part import (
    BlockNoise,
    CharacterScales,
    CuratorPart,
    IntegerRows,
    NoiseBlock,
    ProvedBound,
    SignedSums,
)
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.planning.audit import Check, computing_what_was_published
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.widths import character_map
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

# Sums of products in another order, on another machine; figures that differ by more are of another strategy.
_RELATIVE = 1e-6
# Decoded rows differ from W by no more than rounding on another machine.
_DECODING_TOLERANCE = 1e-7


def part_of(plan: CuratorPlan | ProjectedPlan) -> CuratorPart:
    """The document of a plan, from which anyone can run it and `audit_curator` checks it."""
    if isinstance(plan, ProjectedPlan):
        return plan.part()
    strategy, summary = plan.strategy, plan.summary()
    return CuratorPart(
        domain=plan.workload.domain,
        workload=plan.workload.name,
        queries=plan.workload.published,
        objective=plan.objective,
        neighbours=plan.neighbours,
        guarantee=plan.guarantee,
        strategy=strategy.published(),
        noise=plan.law.published(),
        max_variance=summary.max_variance,
        mean_variance=summary.mean_variance,
        max_bound=_bound(plan.design.max_certificate),
        mean_bound=_bound(plan.design.mean_certificate),
    )


def audit_curator(part: CuratorPart) -> Iterator[Check]:
    """Every claim of the part: Δ² and σ², or ε of blocks of noise; that answers are unbiased, variances, and bounds.

    Raises InvalidValue where strategy, noise and queries do not even fit together.
    """
    workload = build_workload(part.domain, part.queries, part.workload)
    neighbours: Neighbours = "replace" if part.neighbours == "replace" else "add-remove"
    if isinstance(part.strategy, SignedSums):
        yield from _of_signed_sums(part, part.strategy, workload)
        return
    sensitivity = _sensitivity(part, neighbours)
    law = _law(part, sensitivity, _measured(part))
    strategy = _strategy(part, workload, neighbours, sensitivity, law)
    yield from _of_noise(part, strategy.loss, sensitivity)
    if isinstance(strategy, IntegerStrategy):
        yield _unbiased(strategy, workload)
    with computing_what_was_published():
        variances, weights = strategy.variances_under(law.variances()), _weights(workload, neighbours)
    assert part.max_variance is not None
    assert part.mean_variance is not None
    yield _close("max variance", part.max_variance, float(variances.max()))
    yield _close("mean variance", part.mean_variance, float(np.mean(weights * variances)))
    for name, bound in (("max", part.max_bound), ("mean", part.mean_bound)):
        if bound is not None:
            yield from _checked_bound(f"lower bound, {name}", bound, workload, neighbours)


def _of_signed_sums(part: CuratorPart, strategy: SignedSums, workload: Workload) -> Iterator[Check]:
    """ε or ρ of sums with signs that are drawn again from their seed; there are neither variances nor bounds."""
    check_projection("jl", workload, "replace")
    rows = projection_of(strategy, workload.operator.dense()).rows
    sensitivity = squared_sensitivity(rows, "replace")
    _law(part, sensitivity, len(rows))
    yield from _of_noise(part, partial(loss_of_rows, rows, neighbours="replace"), sensitivity)


def _law(part: CuratorPart, sensitivity: int, measured: int) -> NoiseLaw:
    """The noise of the guarantee for this Δ², or the blocks that are published."""
    if isinstance(part.noise, BlockNoise):
        assert isinstance(part.guarantee, PureEpsilon)
        law = BlockLaw(guarantee=part.guarantee, blocks=part.noise.blocks)
        # What nobody can draw is no release, and the variance of a ball of any size may take hours.
        law.check_drawable()
        return law
    assert isinstance(part.guarantee, Zcdp)
    return GaussianLaw.of(sensitivity, measured, part.guarantee)


def _of_noise(
    part: CuratorPart, loss_of: Callable[[Sequence[NoiseBlock]], Fraction], sensitivity: int
) -> Iterator[Check]:
    if isinstance(part.noise, BlockNoise):
        assert isinstance(part.guarantee, PureEpsilon)
        loss = loss_of(part.noise.blocks)
        allowed = Fraction(part.guarantee.nano, NANO)
        yield Check("ε", 0 < loss <= allowed, str(part.guarantee), f"ε = {float(loss):.12g}, from whole numbers")
        return
    assert isinstance(part.guarantee, Zcdp)
    published = part.noise.squared_sensitivity
    yield Check("Δ²", sensitivity > 0 and str(sensitivity) == published, published, str(sensitivity))
    variance = sensitivity / (2 * part.guarantee.exact)
    yield Check("σ²", _same_fraction(part.noise.variance, variance), part.noise.variance, str(variance))


def _measured(part: CuratorPart) -> int:
    if isinstance(part.strategy, CharacterScales):
        bits = len(part.domain.shape)
        return sum(math.comb(bits, degree) for degree, scale in enumerate(part.strategy.scales) if scale)
    assert isinstance(part.strategy, IntegerRows)
    return part.strategy.rows.shape[0]


def _bound(certificate: CuratorCertificate | None) -> ProvedBound | None:
    if certificate is None:
        return None
    return ProvedBound(
        norm=certificate.norm,
        query_weights=array_of(certificate.query_weights, "<f8"),
        weights=array_of(certificate.weights, "<f8") if certificate.weights.size else None,
        holds_from_n=str(certificate.holds_from_n),
    )


def _sensitivity(part: CuratorPart, neighbours: Neighbours) -> int:
    if isinstance(part.strategy, CharacterScales):
        fixed = part.strategy.scales[0] == 0
        if fixed != (neighbours == "replace"):
            raise InvalidValue("the number of people is measured where it is secret, and nowhere else", part.strategy)
        return squared_sensitivity_of_scales(len(part.domain.shape), part.strategy.scales)
    assert isinstance(part.strategy, IntegerRows)
    rows = part.strategy.rows
    if rows.shape[1] != part.domain.size:
        raise InvalidValue(f"the rows have {rows.shape[1]} columns, the domain {part.domain.size} cells", rows.shape)
    return squared_sensitivity(ndarray(rows).astype(np.int64), neighbours)


def _strategy(
    part: CuratorPart, workload: Workload, neighbours: Neighbours, sensitivity: int, law: NoiseLaw
) -> Strategy:
    if isinstance(part.strategy, CharacterScales):
        operator = character_map(workload.operator)
        if binary_orbits(operator, neighbours) is None or len(part.strategy.scales) != 1 + operator.characters.width:
            raise InvalidValue("the scales are not those of the characters of the queries", part.strategy)
        return CharacterStrategy(
            neighbours=neighbours, operator=operator, scales=part.strategy.scales, squared_sensitivity=sensitivity
        )
    assert isinstance(part.strategy, IntegerRows)
    rows, (matrix, _) = ndarray(part.strategy.rows).astype(np.int64), asked_rows(workload, neighbours)
    if isinstance(part.noise, BlockNoise):
        check_covered(len(rows), part.noise.blocks)
    return decoded_strategy(rows, matrix, neighbours, law.variances())


def _unbiased(strategy: IntegerStrategy, workload: Workload) -> Check:
    matrix, _ = asked_rows(workload, strategy.neighbours)
    error = float(np.abs(strategy.decoder @ strategy.rows + strategy.offset[:, None] - matrix).max())
    holds = error <= _DECODING_TOLERANCE * max(1.0, float(np.abs(matrix).max()))
    return Check("unbiased", holds, "W from the rows", f"off by {error:.2g}")


def _weights(workload: Workload, neighbours: Neighbours) -> Floats:
    if neighbours == "add-remove":
        return np.append(workload.query_weights, 1.0)
    return np.asarray(workload.query_weights[workload.varying_rows])


def _close(name: str, published: float, recomputed: float) -> Check:
    holds = math.isclose(published, recomputed, rel_tol=_RELATIVE)
    return Check(name, holds, f"{published:.9g}", f"{recomputed:.9g}")


def _checked_bound(name: str, bound: ProvedBound, workload: Workload, neighbours: Neighbours) -> Iterator[Check]:
    try:
        with computing_what_was_published():
            recomputed = _recomputed(bound, workload, neighbours)
    except InvalidValue as error:
        yield Check(name, False, f"{bound.norm:.9g}", str(error))
        return
    yield Check(name, bound.norm <= recomputed.norm * (1 + _RELATIVE), f"{bound.norm:.9g}", f"{recomputed.norm:.9g}")
    enough = int(bound.holds_from_n) >= recomputed.holds_from_n
    yield Check(f"people of the {name}", enough, bound.holds_from_n, str(recomputed.holds_from_n))


def _recomputed(bound: ProvedBound, workload: Workload, neighbours: Neighbours) -> CuratorCertificate:
    queries = ndarray(bound.query_weights).astype(float)
    proof = np.zeros(0) if bound.weights is None else ndarray(bound.weights).astype(float)
    orbits = binary_orbits(workload.operator, neighbours)
    if orbits is not None and len(queries) == len(orbits) and proof.shape in ((0,), (len(workload.domain.shape),)):
        return certificate_of_orbits(len(workload.domain.shape), neighbours, orbits, queries, proof)
    matrix, _ = asked_rows(workload, neighbours)
    if len(queries) != len(matrix) or not (queries >= 0).all() or abs(queries.mean() - 1) > _RELATIVE:
        raise InvalidValue("the weights of queries are not negative, one for each, and 1 on average")
    if (proof.ndim == 2) != (neighbours == "replace"):
        raise InvalidValue("the proof is for other neighbours")
    return CuratorCertificate.of(matrix, proof, queries)


def _same_fraction(text: str, expected: Fraction) -> bool:
    try:
        return Fraction(text) == expected
    except (ValueError, ZeroDivisionError):
        return False
