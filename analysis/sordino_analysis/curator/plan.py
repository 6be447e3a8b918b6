"""The plan of a trusted curator: a strategy with noise for a workload, its errors, and the certificate beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino_analysis.curator.candidate import Candidate
from sordino_analysis.curator.concentrated_candidates import concentrated_candidates
from sordino_analysis.curator.design import Design, asked_rows, check_listed, dense_design
from sordino_analysis.curator.laws import NoiseLaw
from sordino_analysis.curator.orbit_design import binary_orbits, orbit_design
from sordino_analysis.curator.pure_design import pure_candidates
from sordino_analysis.curator.strategy import Integers, IntegerStrategy, Strategy
from sordino_analysis.curator.usefulness import useful_from
from sordino_analysis.curator.volume_bound import many_people_bound
from sordino_analysis.documents.curator_summary import ConsideredRelease, CuratorSummary, promise_of
from sordino_analysis.guarantees import ConcentratedComposition, Guarantee
from sordino_analysis.guarantees.approximate import DELTA, Approximate, zcdp_within
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.guarantees.releases import check_epsilon, in_range
from sordino_analysis.percentages import percent
from sordino_analysis.questions.linear.workload import Workload
from sordino_analysis.request_terms import Neighbours, Objective
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

# The search ends at .5 % for means and at 1 % for the worst query.
_LARGEST_GAP = 0.0101
# What is compared: Gaussian noise under ρ, and two families under ε.
FAMILIES = ("gaussian", "laplace", "blocks")
# What is compared where it is named alone, since it has never been the best.
NAMED_FAMILIES = ("isotropic", "ntz")


@dataclass(frozen=True, eq=False, kw_only=True)
class CuratorPlan:
    """An unbiased release under ρ-zCDP or under pure ε.

    `replace` neighbours differ in the row of one person; the strategy answers the queries that vary. With `add-remove`
    the number of people is secret, so the strategy answers every query and, last, that number. `chosen` is the best of
    the releases `considered`; `design` has the bounds and the strategy of Gaussian noise.
    """

    workload: Workload
    objective: Objective
    users: int | None
    design: Design
    chosen: Candidate
    considered: tuple[ConsideredRelease, ...]
    seconds: float

    @property
    def guarantee(self) -> Guarantee:
        """What the release keeps."""
        return self.chosen.guarantee

    @property
    def strategy(self) -> Strategy:
        """What is measured, and how answers follow from it."""
        return self.chosen.strategy

    @property
    def law(self) -> NoiseLaw:
        """The noise on what is measured."""
        return self.chosen.law

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets count as neighbours."""
        return self.strategy.neighbours

    def exact(self, counts: Integers) -> Integers:
        """(k,) → (r,) what is measured of these counts, before noise."""
        return self.strategy.exact(counts)

    def summary(self, delta: Fraction = DELTA) -> CuratorSummary:
        """The plan in numbers, with the (ε, δ) that ρ implies at this δ."""
        design, variances = self.design, self.chosen.variances
        worst, mean = float(variances.max()), float(np.mean(design.weights * variances))
        bound_mean = design.mean_certificate and design.mean_certificate.mean_variance(self.guarantee)
        bound_max = design.max_certificate and design.max_certificate.mean_variance(self.guarantee)
        certificates = [each for each in (design.mean_certificate, design.max_certificate) if each is not None]
        promise = promise_of(self.guarantee, delta)
        return CuratorSummary(
            workload=self.workload.name,
            k=self.workload.size,
            queries=self.workload.queries,
            **promise.model_dump(),
            rho_cost=ConcentratedComposition().price(self.guarantee) / NANO,
            neighbours=self.neighbours,
            objective=self.objective,
            mechanism=self.chosen.name,
            max_variance=worst,
            mean_variance=mean,
            bias_bound=0.0,
            lower_bound_max=bound_max,
            lower_bound_mean=bound_mean,
            ratio_max=bound_max and worst / bound_max,
            ratio_mean=bound_mean and mean / bound_mean,
            many_people_bound_mean=self._many_people_bound(),
            holds_from_n=max((each.holds_from_n for each in certificates), default=None),
            noise=self.law.published().shown(),
            useful_from_n=useful_from(mean, design.uniform_error),
            considered=self.considered,
            seconds=self.seconds,
            warnings=self._warnings(),
            users=self.users,
            predicted_max_rmse=None if self.users is None else math.sqrt(worst) / self.users,
        )

    def _many_people_bound(self) -> float | None:
        """By volume, where the types are listed and replaced; None under ρ."""
        guarantee, listed = self.guarantee, isinstance(self.strategy, IntegerStrategy)
        if not isinstance(guarantee, PureEpsilon) or self.neighbours != "replace" or not listed:
            return None
        return many_people_bound(*asked_rows(self.workload, self.neighbours), guarantee)

    def _warnings(self) -> tuple[str, ...]:
        found = []
        if self.design.mean_certificate is None:
            found.append(f"no certificate at {self.users} users: state more users")
        if isinstance(self.guarantee, Zcdp) and self.design.gap > _LARGEST_GAP:
            found.append(
                "the search was stopped: another strategy may have a standard error up to "
                f"{percent(self.design.gap, 1)} smaller; allow more time"
            )
        return tuple(found)


def plan_release(
    workload: Workload,
    asked: Guarantee | Approximate,
    objective: Objective = "max",
    users: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    neighbours: Neighbours = "replace",
    families: Sequence[str] = FAMILIES,
) -> CuratorPlan:
    """The plan with the least worst or mean variance of counts, or the best one when `should_stop()`.

    ρ is kept by Gaussian noise and pure ε by blocks of noise. For (ε, δ) both are compared: Gaussian noise of the
    largest ρ that implies it, and pure ε from .001 to 64. `families` are what is compared: some of gaussian, laplace,
    blocks, and with their names alone isotropic and ntz.

    Raises InvalidValue for ρ = 0, pure ε outside [.001, 64], fewer than one user or a number of them that is secret, or
    a workload of more than 1,024 types or 16,384 queries that are not all marginals or parities of a few bits.
    """
    _check(asked, users, neighbours, families)
    started = time.monotonic()
    design = orbit_design(workload, objective, neighbours, users)
    if design is None:
        design = dense_design(workload, objective, neighbours, users, should_stop)
    candidates: list[Candidate] = []
    concentrated, pure = _guarantees(asked)
    if concentrated is not None:
        candidates.extend(concentrated_candidates(workload, concentrated, design.strategy, families))
    if pure is not None:
        candidates.extend(pure_candidates(workload, pure, objective, design.strategy, families, should_stop))
    if not candidates:
        raise InvalidValue(
            "none of these mechanisms answers the workload with a guarantee of this kind: take another, "
            "or leave the choice to the planner",
            families,
        )
    best = _best_of_each_name(candidates, design, objective)
    chosen = best[0][1]
    return CuratorPlan(
        workload=workload,
        objective=objective,
        users=users,
        design=design,
        chosen=chosen,
        considered=tuple(considered for considered, _ in best),
        seconds=time.monotonic() - started,
    )


def _best_of_each_name(
    candidates: Sequence[Candidate], design: Design, objective: Objective
) -> list[tuple[ConsideredRelease, Candidate]]:
    """Of each name the release of the least objective, the best first."""
    found: dict[str, tuple[ConsideredRelease, Candidate]] = {}

    def value(considered: ConsideredRelease) -> float:
        return considered.max_variance if objective == "max" else considered.mean_variance

    for candidate in candidates:
        variances = candidate.variances
        considered = ConsideredRelease(
            mechanism=candidate.name,
            guarantee=candidate.guarantee.kind,
            max_variance=float(variances.max()),
            mean_variance=float(np.mean(design.weights * variances)),
        )
        if candidate.name not in found or value(considered) < value(found[candidate.name][0]):
            found[candidate.name] = considered, candidate
    return sorted(found.values(), key=lambda pair: value(pair[0]))


def _guarantees(asked: Guarantee | Approximate) -> tuple[Zcdp | None, PureEpsilon | None]:
    """What Gaussian noise and blocks of noise have to keep, each where it can."""
    match asked:
        case Zcdp():
            return asked, None
        case PureEpsilon():
            return None, asked
        case Approximate():
            pure = PureEpsilon(asked.nano_epsilon)
            return zcdp_within(asked), pure if in_range(pure) else None


def _check(asked: Guarantee | Approximate, users: int | None, neighbours: Neighbours, families: Sequence[str]) -> None:
    known = (*FAMILIES, *NAMED_FAMILIES)
    if unknown := [name for name in families if name not in known]:
        raise InvalidValue(f"a curator's mechanism is one of {', '.join(known)}, got {unknown[0]!r}", families)
    if isinstance(asked, Zcdp) and asked.nano_rho == 0:
        raise InvalidValue("ρ = 0 releases nothing: plan with ρ of at least 1e-9", asked)
    if isinstance(asked, PureEpsilon):
        check_epsilon(asked)
    if users is not None and users < 1:
        raise InvalidValue(f"a release is about at least one user, got {users}", users)
    if users is not None and neighbours == "add-remove":
        raise InvalidValue("with add-remove neighbours the number of users is secret: leave it out", users)


def check_size(workload: Workload) -> None:
    """Raise InvalidValue for a workload that is too large to weigh all pairs of its types and not of bits."""
    if binary_orbits(workload.operator, "replace") is None:
        check_listed(workload)


def fits(workload: Workload) -> bool:
    """Whether an unbiased release of the workload can be planned, by its size."""
    try:
        check_size(workload)
    except InvalidValue:
        return False
    return True
