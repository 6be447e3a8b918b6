"""What contenders for a plan are compared by: their error, or the users that an error takes behind a blanket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sordino_analysis.arrays import NEARLY_ZERO, Floats
from sordino_analysis.documents.analyst_part import ErrorFigures
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile
from sordino_analysis.guarantees.blanket import least_blanket, loss_law
from sordino_analysis.mechanisms.mechanism import Proposal
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.planning_options import CollectorTarget, PlanError, PlanningOptions
from sordino_analysis.request_terms import Objective
from sordino_shared.guarantees import NANO
from sordino_shared.protocol.routes import MAX_BLANKET


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluated:
    """A proposal with the exact law and profile of its answers, and how far fake reports `move` each of them (Q,)."""

    proposal: Proposal
    law: AnswerMoments
    profile: ErrorProfile
    moves: Floats | None


class Measure(Protocol):
    """What is compared: less is better."""

    def value(self, evaluated: Evaluated) -> float:
        """Raises InvalidValue, with the reason, where the contender cannot be taken."""

    def least_value(self, variance: float) -> float:
        """No more than the value of any contender whose objective's variance is at least `variance`."""


def measure_of(request: PlanRequest) -> Measure:
    """By the options: users behind a blanket where (ε, δ) against the collector is asked for."""
    options = request.options
    if options.collector is None:
        return SquaredError(options)
    assert options.target_error is not None, "checked with the request"
    return UsersBehindBlanket(options.objective, options.collector, options.target_error)


@dataclass(frozen=True)
class SquaredError:
    """The objective's variance; with `users` n variance/n + (bias + f·m)², m the largest effect of f fake reports."""

    options: PlanningOptions

    def value(self, evaluated: Evaluated) -> float:
        variance = objective_variance(evaluated.profile.figures(), self.options.objective)
        if self.options.users is None:
            return variance
        moved, profile, moves = 0.0, evaluated.profile, evaluated.moves
        if self.options.robust is not None and moves is not None:
            moved = self.options.robust * float((np.sqrt(profile.weights) * moves).max())
        return variance / self.options.users + (profile.weighted_bias + moved) ** 2

    def least_value(self, variance: float) -> float:
        return variance / (self.options.users or 1)


@dataclass(frozen=True)
class Behind:
    """A blanket of `reports` random reports, the `variance` of one in the answer that it harms most, and the users."""

    reports: int
    variance: float
    users: int


@dataclass(frozen=True)
class UsersBehindBlanket:
    """n users and m random reports with (n·v + m·s)/n² ≤ τ², where m hides each of them as the collector's bound asks.

    v is the variance of one report and s that of a random one, both exact.
    """

    objective: Objective
    collector: CollectorTarget
    target_error: float

    @cached_property
    def _power(self) -> float:
        return math.exp(self.collector.bound.nano_epsilon / NANO)

    def value(self, evaluated: Evaluated) -> float:
        return float(self.behind(evaluated).users)

    def least_value(self, variance: float) -> float:
        return variance / self.target_error**2

    def behind(self, evaluated: Evaluated) -> Behind:
        """The least blanket, and the users that then reach the error.

        Raises InvalidValue where no blanket hides the reports, or the bias alone is more than the error.
        """
        blanket = least_blanket(loss_law(evaluated.proposal.randomizer, self._power), self.collector.bound.delta)
        if blanket > MAX_BLANKET:
            raise PlanError(
                f"it takes {blanket:,} random reports, and a shuffler adds at most {MAX_BLANKET:,}", blanket
            )
        return behind_blanket(evaluated.law, evaluated.profile, self.objective, blanket, self.target_error)


def behind_blanket(
    law: AnswerMoments, profile: ErrorProfile, objective: Objective, reports: int, target_error: float
) -> Behind:
    """The users that reach the error among so many random reports.

    Raises PlanError where the bias alone is more than the error.
    """
    bias = profile.figures().bias_bound
    room = target_error**2 - bias**2
    if room <= 0:
        raise PlanError(f"its bias of up to {bias:.3g} is above the target error", target_error)
    variances, added = _variances(law, profile, objective)
    users = users_behind(variances, reports * added, room)
    worst = int(users.argmax())
    return Behind(reports, float(added[worst]), max(1, math.ceil(users[worst] * (1 - NEARLY_ZERO))))


def _variances(law: AnswerMoments, profile: ErrorProfile, objective: Objective) -> tuple[Floats, Floats]:
    """(Q,) or, of a mean, (1,) the variances of a user's report and of a random one."""
    added = law.blanket().variance
    if objective == "mean":
        mean = float((profile.weights * added)[law.workload.varying_rows].mean())
        return np.array([profile.type_variance.max()]), np.array([mean])
    if profile.sought <= profile.variance.max():
        return profile.variance, added
    # The worst query is none of those that are listed, and what a random report adds to it is not computed.
    return np.append(profile.variance, profile.sought), np.append(added, added.max() + profile.sought)


def users_behind(variances: Floats, noise: Floats, room: float | Floats) -> Floats:
    """(Q,) the n with (n·v + m·s)/n² = `room`, for `variances` v and `noise` m·s (Q,)."""
    return np.asarray((variances + np.sqrt(variances**2 + 4 * room * noise)) / (2 * room))


def objective_variance(figures: ErrorFigures, objective: Objective) -> float:
    """The variance that the objective is about."""
    return figures.max_variance if objective == "max" else figures.mean_variance
