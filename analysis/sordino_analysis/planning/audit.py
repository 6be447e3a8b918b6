"""Everything that a plan claims, recomputed from its two parts by somebody who does not trust who made it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from sordino_analysis.documents.analyst_part import AnalystPart, ErrorFigures, Factors
from sordino_analysis.documents.blanket_terms import BlanketTerms
from sordino_analysis.documents.certificate import Bound
from sordino_analysis.evaluation.variance import answer_moments, counts_as_unbiased
from sordino_analysis.planning.blanket_claims import provable
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.audit import prove_epsilon
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import DevicePart
from sordino_shared.protocol.routes import WHOLE_ATTO
from sordino_shared.quantities import quantity

# Sums of products in another order, on another machine; figures that differ by more are of another mechanism.
_RELATIVE = 1e-8
# Biases of unbiased mechanisms are rounding, which no two machines need to share.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Check:
    """One claim: what was published, what was recomputed, whether the first is true."""

    name: str
    holds: bool
    published: str
    recomputed: str


@contextmanager
def computing_what_was_published() -> Iterator[None]:
    """Raise InvalidValue where published numbers, which may be any, cannot be computed with."""
    try:
        with np.errstate(all="ignore"):
            yield
    except SordinoError:
        raise
    except (ArithmeticError, ValueError, IndexError, MemoryError) as error:
        raise InvalidValue(f"numbers that cannot be computed with ({error})") from error


def audit_device(device: DevicePart) -> Iterator[Check]:
    """ε of the device part, proved in integers."""
    proved = prove_epsilon(device.randomizer)
    claimed = device.guarantee
    found = "no finite ε" if proved is None else f"{proved.epsilon:.9f}"
    yield Check("ε", proved is not None and proved <= claimed, f"{claimed.epsilon:.9f}", found)


def audit_plan(device: DevicePart, analyst: AnalystPart) -> Iterator[Check]:
    """Every claim of the two parts: that they belong together, ε, figures, factors and lower bounds.

    Raises InvalidValue where randomizer, decoder and queries do not even fit together.
    """
    same = analyst.device_digest == device.digest
    yield Check("device part", same, str(analyst.device_digest), str(device.digest))
    yield from audit_device(device)
    workload = build_workload(device.domain, analyst.queries, analyst.workload)
    yield from _figures(device, analyst, workload)
    if analyst.factors is not None:
        with computing_what_was_published():
            factors = _factors(analyst.factors, analyst.figures, workload)
        yield factors
    if analyst.blanket is not None:
        yield from audit_claims(device, analyst.blanket)
    epsilon = device.guarantee.epsilon
    yield _bound("max", analyst.certificate.max, workload, epsilon)
    yield _bound("mean", analyst.certificate.mean, workload, epsilon)


def _figures(device: DevicePart, analyst: AnalystPart, workload: Workload) -> Iterator[Check]:
    with computing_what_was_published():
        found = answer_moments(device.randomizer, analyst.decoder, workload).profile().figures()
    claimed = analyst.figures
    for name in ("max_variance", "mean_variance", "uniform_mean_variance"):
        yield from _variance(name.replace("_", " "), getattr(claimed, name), getattr(found, name))
    for name in ("max_variance_over", "mean_variance_over"):
        published, recomputed = getattr(claimed, name) or "all", getattr(found, name) or "all"
        yield Check(f"queries of the {name.split('_')[0]} variance", published == recomputed, published, recomputed)
    slack = _RELATIVE * found.bias_bound + _ROUNDING * max(1.0, found.max_variance**0.5)
    close = abs(claimed.bias_bound - found.bias_bound) <= slack
    yield Check("bias bound", close, f"{claimed.bias_bound:.3g}", f"{found.bias_bound:.3g}")


def _variance(name: str, published: float | None, recomputed: float | None) -> Iterator[Check]:
    if published is None or recomputed is None:
        if published is not recomputed:
            yield Check(name, False, _shown(published), _shown(recomputed))
        return
    holds = math.isclose(published, recomputed, rel_tol=_RELATIVE)
    yield Check(name, holds, _shown(published), _shown(recomputed))


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.9g}"


def _factors(factors: Factors, figures: ErrorFigures, workload: Workload) -> Check:
    """LᵀR + c1ᵀ is W, or within the published bias of W if the plan is biased."""
    left, right, centre = ndarray(factors.left), ndarray(factors.right), ndarray(factors.centre)
    matrix = workload.operator.dense()
    fits = (left.shape[1], right.shape[1]) == matrix.shape
    error = float(np.abs(left.T @ right + centre[:, None] - matrix).max()) if fits else np.inf
    allowed = 0.0 if counts_as_unbiased(figures) else figures.bias_bound
    holds = error <= allowed + _RELATIVE * float(np.abs(matrix).max())
    return Check("factors", holds, f"LᵀR + c1ᵀ = W ± {allowed:.3g}", f"off by {error:.2g}")


def audit_claims(device: DevicePart, blanket: BlanketTerms) -> Iterator[Check]:
    """Each (ε, δ) of one report among the random ones."""
    for claim in blanket.claims:
        with computing_what_was_published():
            proved = provable(device.randomizer, blanket.reports, claim.nano_epsilon) / WHOLE_ATTO
        published = claim.atto_delta / WHOLE_ATTO
        name = f"δ at ε = {claim.nano_epsilon / NANO:g} behind {quantity(blanket.reports, 'random report')}"
        # The bound may be by the transform of another machine.
        holds = published >= proved * (1 - _RELATIVE)
        yield Check(name, holds, f"{published:.9g}", f"{proved:.9g}")


def _bound(objective: Objective, bound: Bound, workload: Workload, epsilon: float) -> Check:
    """The bound's weights give its value again; a bound of zero holds whatever they are."""
    name, published = f"lower bound, {objective}", f"{bound.value:.9g} ({bound.kind})"
    if bound.value == 0:
        return Check(name, True, published, "0")
    try:
        with computing_what_was_published():
            value = recheck_bound(bound, workload, epsilon, objective)
    except InvalidValue as error:
        return Check(name, False, published, str(error))
    if value is None:
        return Check(name, False, published, "weights that prove nothing about this workload")
    return Check(name, bound.value <= value * (1 + _RELATIVE), published, f"{value:.9g}")
