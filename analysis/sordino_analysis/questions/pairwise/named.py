"""The statistics that have names, as quadratic forms: sums over pairs of users of one kernel or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.pairwise import pair_kernels as kernels
from sordino_analysis.questions.pairwise.pairwise_statistic import PairwiseStatistic, QuadraticForm
from sordino_shared.domains import Attribute, Categorical, Domain, Ordinal
from sordino_shared.errors import InvalidValue


@dataclass(frozen=True, eq=False)
class Subject:
    """Whose pairs are compared, and under which name and specification."""

    name: str
    domain: Domain
    specification: dict[str, Any]

    def mean_of(self, kernel: str, matrix: Floats, notes: tuple[str, ...] = ()) -> PairwiseStatistic:
        """The mean over pairs of one kernel W (k, k)."""
        form = QuadraticForm(kernel, matrix)
        return PairwiseStatistic(
            name=self.name,
            domain=self.domain,
            forms=(form,),
            combine=lambda u: float(u[0]),
            gradient=lambda _: np.ones(1),
            denominators=(),
            specification=self.specification,
            notes=notes,
        )


def gini_diversity(subject: Subject, attribute: str | None) -> PairwiseStatistic:
    """P(x ≠ x'): two users differ in `attribute`, or anywhere where it is None."""
    domain = subject.domain
    if attribute is None:
        return subject.mean_of("users differ", kernels.differ(domain.size))
    size = next(a.size for a in domain.attributes if a.name == attribute)
    return subject.mean_of("users differ", kernels.over_domain(domain, {attribute: kernels.differ(size)}))


def mean_over_line(
    subject: Subject, line: Ordinal, kernel: str, matrix: Floats, notes: tuple[str, ...] = ()
) -> PairwiseStatistic:
    """E f(x, x') for a kernel (b, b) between the b bins of `line`; pairs with `missing` or `other` count 0."""
    return subject.mean_of(kernel, kernels.over_domain(subject.domain, {line.name: matrix}), notes + _diluted(line))


def kendall_a(subject: Subject, x: Ordinal, y: Ordinal) -> PairwiseStatistic:
    """τ_a = E sgn(x − x') sgn(y − y') with sgn(0) = 0: concordant less discordant pairs, of all pairs."""
    return subject.mean_of("concordance", _concordance(subject.domain, x, y), _diluted(x, y))


def kendall_b(subject: Subject, x: Ordinal, y: Ordinal) -> PairwiseStatistic:
    """τ_b = u₁ / √(u₂u₃): concordant less discordant pairs, pairs untied in x, pairs untied in y.

    All three count pairs of users who have both values, so that the ratio is τ_b of exactly these users.
    """
    matrices = {
        "concordance": _concordance(subject.domain, x, y),
        f"untied in {x.name}": _joint(subject.domain, x, y, kernels.differ(x.bins), np.ones((y.bins, y.bins))),
        f"untied in {y.name}": _joint(subject.domain, x, y, np.ones((x.bins, x.bins)), kernels.differ(y.bins)),
    }
    forms = tuple(QuadraticForm(name, matrix) for name, matrix in matrices.items())
    return PairwiseStatistic(
        name=subject.name,
        domain=subject.domain,
        forms=forms,
        combine=_tau_b,
        gradient=_tau_b_gradient,
        denominators=(1, 2),
        specification=subject.specification,
        notes=_only(x, y),
        range_of_ratio=(-1.0, 1.0),
    )


def area_under_curve(subject: Subject, score: Ordinal, label: Categorical, positive: str) -> PairwiseStatistic:
    """AUC = ½ + u₁/u₂ = P(s > s' | y = 1, y' = 0) + ½P(s = s' | …), y = 1 where `label` is `positive`.

    u₁ is the mean of ½ sgn(s − s')(y − y'), u₂ of 1[y ≠ y'], both over pairs of users who have a score and a listed
    label; every listed label but `positive` has y = 0.
    """
    is_positive = np.array([float(listed == positive) for listed in label.categories])
    gain = np.subtract.outer(is_positive, is_positive)
    every_score = np.ones((score.bins, score.bins))
    forms = (
        QuadraticForm("ordered rightly", _joint(subject.domain, score, label, 0.5 * kernels.signs(score.bins), gain)),
        QuadraticForm("labels differ", _joint(subject.domain, score, label, every_score, np.abs(gain))),
    )
    return PairwiseStatistic(
        name=subject.name,
        domain=subject.domain,
        forms=forms,
        combine=_auc,
        gradient=_auc_gradient,
        denominators=(1,),
        specification=subject.specification,
        notes=_only(score, label),
        range_of_ratio=(0.0, 1.0),
    )


def custom(subject: Subject, matrix: Floats) -> PairwiseStatistic:
    """The mean of W over pairs; of a matrix that is not symmetric only (W + Wᵀ)/2 counts, which a note says.

    `matrix` W (k, k).
    """
    symmetric = matrix / 2 + matrix.T / 2
    if np.array_equal(matrix, matrix.T):
        return subject.mean_of("matrix", matrix)
    gap = float(np.abs(matrix - matrix.T).max())
    note = f"the matrix is not symmetric (entries differ by up to {gap:g}): the mean of it and its transpose was taken"
    return subject.mean_of("matrix", symmetric, (note,))


def _diluted(*attributes: Attribute) -> tuple[str, ...]:
    names = _with_other_members(attributes)
    return (f"a pair counts 0 where a user's {names} is missing or other",) if names else ()


def _only(*attributes: Attribute) -> tuple[str, ...]:
    names = _with_other_members(attributes)
    return (f"users whose {names} is missing or other are left out",) if names else ()


def _with_other_members(attributes: tuple[Attribute, ...]) -> str:
    return " or ".join(attribute.name for attribute in attributes if attribute.missing or attribute.other)


def _concordance(domain: Domain, x: Ordinal, y: Ordinal) -> Floats:
    return _joint(domain, x, y, kernels.signs(x.bins), kernels.signs(y.bins))


def _joint(domain: Domain, x: Ordinal, y: Ordinal | Categorical, of_x: Floats, of_y: Floats) -> Floats:
    return kernels.over_domain(domain, {x.name: of_x, y.name: of_y})


def _tau_b(u: Floats) -> float:
    return float(u[0] / np.sqrt(_positive(u[1]) * _positive(u[2])))


def _tau_b_gradient(u: Floats) -> Floats:
    tau = _tau_b(u)
    return np.array([1 / np.sqrt(u[1] * u[2]), -tau / (2 * u[1]), -tau / (2 * u[2])])


def _auc(u: Floats) -> float:
    return float(0.5 + u[0] / _positive(u[1]))


def _auc_gradient(u: Floats) -> Floats:
    share = _positive(u[1])
    return np.array([1 / share, -u[0] / share**2])


def _positive(share: float) -> float:
    if not share > 0:
        raise InvalidValue(f"the statistic divides by a share of pairs that is {share:g}: it has no value", share)
    return float(share)
