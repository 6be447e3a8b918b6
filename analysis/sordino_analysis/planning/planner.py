"""From a request to a plan: every candidate that applies is evaluated exactly, and the best one is published."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from sordino_analysis.documents.analyst_part import AnalystPart, ErrorFigures
from sordino_analysis.documents.certificate import Certificate
from sordino_analysis.documents.plan_summary import LinearSummary, MechanismRow, PartDigests, PredictedError
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.manipulation import manipulation
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.variance import counts_as_unbiased
from sordino_analysis.mechanisms.mechanism import Mechanism, MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS, mechanism_names
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.certificates import bounds_summary, lower_bound
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.request_terms import CutShort
from sordino_shared.audit import check_guarantee, verification_memory
from sordino_shared.protocol import DevicePart
from sordino_shared.randomness import SystemRandomness

__all__ = ["CompiledPlan", "MechanismReport", "PlanError", "PlanRequest", "compile_plan"]

# Two candidates closer than this are the same mechanism up to the rounding of its integers; the simpler one is taken.
_TIE = 1e-9
# Milliseconds for any domain, so that they are compared even when the time is over.
_AT_ONCE = {"randomized_response", "subset_selection", "subset_mixture", "coarsened_histogram", "shifted_grids"}
_SHARE_OF_BOUNDS = 0.4


@dataclass(frozen=True, kw_only=True)
class MechanismReport:
    """What became of one candidate; figures where it was evaluated, a reason where it was not or could not be taken.

    `snapping_cost` is the relative loss of the objective when a search rounds soft rows to staircase rows; it
    is negative where what was optimised after snapping gained more.
    """

    name: str
    applies: bool
    reason: str | None
    figures: ErrorFigures | None
    seconds: float
    snapping_cost: float | None = None

    def row(self) -> MechanismRow:
        """Its row in the plan's summary."""
        figures = self.figures
        return MechanismRow(
            name=self.name,
            max_variance=None if figures is None else figures.max_variance,
            mean_variance=None if figures is None else figures.mean_variance,
            bias_bound=None if figures is None else figures.bias_bound,
            snapping_cost=self.snapping_cost,
            applies=self.applies,
            reason=self.reason,
            seconds=round(self.seconds, 3),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledPlan:
    """The two parts of a plan, what was compared, and the exact error profile of what was chosen."""

    request: PlanRequest
    device: DevicePart
    analyst: AnalystPart
    candidates: tuple[MechanismReport, ...]
    profile: ErrorProfile
    seconds: float
    cut_short: CutShort | None = None

    def finished(self) -> FinishedPlan:
        """What is kept of it."""
        return FinishedPlan(self.device, self.analyst, self.summary)

    @cached_property
    def summary(self) -> LinearSummary:
        """The plan in numbers."""
        figures, workload, options = self.analyst.figures, self.request.workload, self.request.options
        return LinearSummary(
            workload=workload.name,
            k=workload.size,
            queries=workload.asked,
            epsilon=self.request.guarantee.epsilon,
            objective=options.objective,
            mechanism=self.analyst.mechanism,
            max_variance=figures.max_variance,
            mean_variance=figures.mean_variance,
            bias_bound=figures.bias_bound,
            max_variance_over=figures.max_variance_over,
            largest_variance=self.profile.largest_variance,
            manipulation=float(manipulation(self.device, self.analyst, workload).max()),
            **asdict(bounds_summary(figures, self.analyst.certificate)),
            outputs=for_randomizer(self.device.randomizer).counted_outputs,
            device_bytes=len(self.device.content),
            device_memory=verification_memory(self.device),
            analyst_bytes=len(self.analyst.content),
            digests=PartDigests(device=str(self.device.digest), analyst=str(self.analyst.digest)),
            seconds=round(self.seconds, 3),
            cut_short=self.cut_short,
            candidates=tuple(candidate.row() for candidate in self.candidates),
            users=options.users,
            **({} if options.users is None else self._predicted(options.users)),
        )

    def predicted_errors(self, users: int) -> tuple[PredictedError, ...]:
        """Root mean squared error of every listed answer for the worst population of `users` users."""
        errors = self.profile.rmse(users).tolist()
        listed = for_randomizer(self.device.randomizer).listed(self.request.workload)
        return tuple(PredictedError(label=a, rmse=e) for a, e in zip(listed.labels(), errors, strict=True))

    def _predicted(self, users: int) -> dict[str, Any]:
        errors = self.predicted_errors(users)
        return {"predicted_max_rmse": max(error.rmse for error in errors), "predicted_errors": errors}


def compile_plan(
    request: PlanRequest,
    progress: ProgressCallback = ignore_progress,
    interrupted: Callable[[], bool] = lambda: False,
) -> CompiledPlan:
    """The best applicable mechanism for the request, proved ε-LDP in integers, with exact figures and a certificate.

    At the request's time limit, or once `interrupted` is true, the best so far is taken: bounds and searches that were
    not begun are left out, unless there is no candidate yet. Without either the
    same request gives the same plan. Raises PlanError, with every candidate's reason, where none applies.
    """
    start = time.perf_counter()
    deadline = Deadline(request.options.time_limit, interrupted)
    work = SharedWork(request, deadline)
    certificate = _certificate(work, progress)
    choice = _Choice(request)
    candidates = _asked_for(request)
    bound = getattr(certificate, request.options.objective).value
    share = (1 - _SHARE_OF_BOUNDS) / len(candidates)
    for number, candidate in enumerate(candidates):
        done = _SHARE_OF_BOUNDS + share * number
        report = _Stage(
            progress=progress,
            text=f"evaluating {candidate.name}",
            done=done,
            share=share,
            variance=choice.variance,
            bound=bound,
        )
        report(Progress(0.0))
        choice.consider(candidate, work, report)
    name, proposal, profile = choice.best()
    progress(Progress(1.0, "proving ε", choice.variance, bound))
    # The salt of hashes is no secret, but must not be known before: nobody can choose texts that collide.
    device = DevicePart(request.workload.domain.salted(SystemRandomness()), request.guarantee, proposal.randomizer)
    check_guarantee(device)
    analyst = _analyst_part(request, device, name, proposal, profile, certificate)
    seconds = time.perf_counter() - start
    return CompiledPlan(
        request=request,
        device=device,
        analyst=analyst,
        candidates=tuple(choice.reports),
        profile=profile,
        seconds=seconds,
        cut_short=deadline.cut_short,
    )


@dataclass(frozen=True, kw_only=True)
class _Stage:
    """Progress within one stage, as progress of the whole; `variance` is the best before it."""

    progress: ProgressCallback
    text: str
    done: float
    share: float
    variance: float | None = None
    bound: float | None = None

    def __call__(self, step: Progress) -> None:
        known = [value for value in (self.variance, step.variance) if value is not None]
        # The end of a stage and the beginning of the next are the same but for the last digits.
        fraction = round(self.done + self.share * step.fraction, 12)
        self.progress(Progress(fraction, self.text, min(known, default=None), self.bound))


class _Choice:
    """The best candidate so far, and a report of each."""

    def __init__(self, request: PlanRequest) -> None:
        self.request = request
        self.reports: list[MechanismReport] = []
        self._best: tuple[str, Proposal, ErrorProfile] | None = None
        self._value = math.inf

    @property
    def variance(self) -> float | None:
        """The objective's variance under the best."""
        return None if self._best is None else self._variance(self._best[2].figures())

    def consider(self, candidate: Mechanism, work: SharedWork, progress: ProgressCallback) -> None:
        start = time.perf_counter()
        reason = candidate.reason_against(work)
        searches = candidate.name not in _AT_ONCE
        if reason is None and searches and self._best is not None and work.deadline.passed():
            reason = "the time was over before its turn"
        try:
            proposal = candidate.propose(work, progress) if reason is None else None
        except MechanismFailed as failure:
            reason, proposal = str(failure), None
        if proposal is None:
            self.reports.append(
                MechanismReport(
                    name=candidate.name, applies=False, reason=reason, figures=None, seconds=time.perf_counter() - start
                )
            )
            return
        profile = proposal.law(self.request).profile()
        figures = profile.figures()
        reason = self._objection(figures)
        soft = proposal.soft_variance
        cost = None if soft is None else self._variance(figures) / soft - 1
        seconds = time.perf_counter() - start
        self.reports.append(
            MechanismReport(
                name=candidate.name,
                applies=reason is None,
                reason=reason,
                figures=figures,
                seconds=seconds,
                snapping_cost=cost,
            )
        )
        value = self._squared_error(profile)
        if reason is None and value < self._value * (1 - _TIE):
            self._best, self._value = (candidate.name, proposal, profile), value

    def best(self) -> tuple[str, Proposal, ErrorProfile]:
        if self._best is None:
            reasons = "".join(f"\n- {report.name}: {report.reason}" for report in self.reports)
            raise PlanError(f"no mechanism applies to this request:{reasons}", self.reports)
        return self._best

    def _objection(self, figures: ErrorFigures) -> str | None:
        if self.request.options.users is None and not counts_as_unbiased(figures):
            return (
                f"biased by up to {figures.bias_bound:.3g}: it is compared by mean squared error at a stated number of "
                "users only"
            )
        return None

    def _squared_error(self, profile: ErrorProfile) -> float:
        variance, users = self._variance(profile.figures()), self.request.options.users
        return variance if users is None else variance / users + profile.weighted_bias**2

    def _variance(self, figures: ErrorFigures) -> float:
        return figures.max_variance if self.request.options.objective == "max" else figures.mean_variance


def _asked_for(request: PlanRequest) -> tuple[Mechanism, ...]:
    name = request.options.mechanism
    if name is None:
        return MECHANISMS
    chosen = tuple(candidate for candidate in MECHANISMS if candidate.name == name)
    if not chosen:
        raise PlanError(f"there is no mechanism {name!r}: use one of {', '.join(mechanism_names())}", name)
    return chosen


def _certificate(work: SharedWork, progress: ProgressCallback) -> Certificate:
    share = _SHARE_OF_BOUNDS / 2
    worst = lower_bound(
        work, "max", _Stage(progress=progress, text="bounding the worst variance from below", done=0.0, share=share)
    )
    mean = lower_bound(
        work, "mean", _Stage(progress=progress, text="bounding the mean variance from below", done=share, share=share)
    )
    # A maximum is at least an average, so what proves the mean's bound proves it of the maximum.
    return Certificate(max(worst, mean, key=lambda bound: bound.value), mean)


def _analyst_part(
    request: PlanRequest,
    device: DevicePart,
    mechanism: str,
    proposal: Proposal,
    profile: ErrorProfile,
    certificate: Certificate,
) -> AnalystPart:
    return AnalystPart(
        device_digest=device.digest,
        workload=request.workload.name,
        queries=request.workload.published,
        mechanism=mechanism,
        objective=request.options.objective,
        seed=request.options.seed,
        decoder=proposal.decoder,
        factors=proposal.factors,
        certificate=certificate,
        figures=profile.figures(),
    )
