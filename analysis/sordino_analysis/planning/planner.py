"""From a request to a plan: every candidate that applies is evaluated exactly, and the best one is published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.certificate import Certificate
from sordino_analysis.documents.crowd_size import CrowdFigures
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.documents.queries import RuleQueries
from sordino_analysis.documents.summary_parts import (
    BlanketSummary,
    DrawnManipulation,
    MechanismRow,
    PartDigests,
    PredictedError,
)
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.manipulation import drawn_manipulation, manipulation
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.guarantees.shuffled import FAKE_SHARE
from sordino_analysis.mechanisms.mechanism import Mechanism, SharedWork
from sordino_analysis.mechanisms.registry import in_order_of_evaluation, mechanism_names
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.blanket_claims import blanket_terms
from sordino_analysis.planning.certificates import bounds_summary, lower_bound
from sordino_analysis.planning.comparison import Comparison, Contender, MechanismReport
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning.measures import Behind, UsersBehindBlanket
from sordino_analysis.planning.one_thread import one_thread
from sordino_analysis.planning.plan_warnings import check_matrix, error_warnings, quality_warnings
from sordino_analysis.planning.shuffling import shuffled_privacy
from sordino_analysis.planning_options import PlanError
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear.units import units_of
from sordino_analysis.request_terms import CutShort
from sordino_shared.audit import check_guarantee, verification_memory
from sordino_shared.protocol import DevicePart
from sordino_shared.randomness import SystemRandomness

__all__ = ["CompiledPlan", "MechanismReport", "PlanError", "PlanRequest", "compile_plan"]

# Of the progress, before the candidates.
_SHARE_OF_BOUNDS = 0.4


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledPlan:
    """The two parts of a plan, what was compared, and the exact error profile of what was chosen."""

    request: PlanRequest
    device: DevicePart
    analyst: AnalystPart
    candidates: tuple[MechanismReport, ...]
    profile: ErrorProfile
    behind: Behind | None = None
    seconds: float
    cut_short: CutShort | None = None

    def finished(self, *, with_coins: bool = True) -> FinishedPlan:
        """What is kept of it; what fake reports with drawn coins do takes up to a second, and may be left out."""
        return FinishedPlan(self.device, self.analyst, self.summary if with_coins else self._summary_with(None))

    @property
    def relative_variance(self) -> float:
        """The objective's variance, of numbers over the squared range: their weights differ with the rows."""
        figures, workload = self.analyst.figures, self.request.workload
        variance = figures.max_variance if self.request.options.objective == "max" else figures.mean_variance
        return variance / workload.scale**2 if workload.has_units else variance

    @cached_property
    def summary(self) -> LinearSummary:
        """The plan in numbers."""
        return self._summary_with(self._drawn)

    def _summary_with(self, drawn: DrawnManipulation | None) -> LinearSummary:
        figures, workload, options = self.analyst.figures, self.request.workload, self.request.options
        return LinearSummary(
            workload=workload.name,
            k=workload.held_domain.size,
            queries=workload.asked,
            epsilon=self.request.guarantee.epsilon,
            objective=options.objective,
            mechanism=self.analyst.mechanism,
            max_variance=figures.max_variance,
            mean_variance=figures.mean_variance,
            bias_bound=figures.bias_bound,
            max_variance_over=figures.max_variance_over,
            mean_variance_over=figures.mean_variance_over,
            uniform_mean_variance=figures.uniform_mean_variance,
            largest_variance=self.profile.largest_variance,
            manipulation=self._manipulation,
            drawn_manipulation=drawn,
            **asdict(bounds_summary(figures, self.analyst.certificate)),
            outputs=for_randomizer(self.device.randomizer).counted_outputs,
            device_bytes=len(self.device.content),
            device_memory=verification_memory(self.device),
            analyst_bytes=len(self.analyst.content),
            digests=PartDigests(device=str(self.device.digest), analyst=str(self.analyst.digest)),
            seconds=round(self.seconds, 3),
            cut_short=self.cut_short,
            warnings=tuple(self._warnings()),
            candidates=tuple(self._row(candidate) for candidate in self.candidates),
            robust=options.robust,
            users=options.users,
            crowd=self._crowd,
            **(self._of_rules() if isinstance(workload.published, RuleQueries) else {}),
            **(self._of_numbers() if workload.has_units else {}),
            **({} if options.users is None else self._predicted(options.users)),
            **({} if self.behind is None else self._blanket(self.behind)),
        )

    @property
    def _crowd(self) -> CrowdFigures:
        """The variance of the worst listed query, or of a further query, a share, where that is larger."""
        listed = for_randomizer(self.device.randomizer).listed(self.request.workload)
        low, high = listed.operator.entry_range()
        rows = listed.varying_rows
        scales = (high - low)[rows]
        # A sample varies most where half of the users are at either end of the scale.
        variances, biases = self.profile.variance[rows] / scales**2, self.profile.bias[rows] / scales
        terms, added = self.analyst.blanket, 0.0
        if terms is not None and self.behind is not None:
            added = terms.reports * self.behind.variance / float(scales.min()) ** 2
        largest = max(self.profile.sought, float(variances.max(initial=0.0)))
        return CrowdFigures(variance=largest + 1 / 4, bias=float(biases.max(initial=0.0)), blanket=added)

    def _blanket(self, behind: Behind) -> dict[str, Any]:
        terms, options = self.analyst.blanket, self.request.options
        assert terms is not None
        return {
            "target_error": options.target_error,
            "users_needed": behind.users,
            "blanket": BlanketSummary.of(terms, behind.variance),
        }

    def _of_rules(self) -> dict[str, Any]:
        low, high = self.request.workload.operator.entry_range()
        # A sample varies most where half of the users are at either end of what a rule costs.
        sampled = self.profile.variance + (high - low) ** 2 / 4
        return {"asks_rules": True, "population_variance": float(sampled.max())}

    def _of_numbers(self) -> dict[str, Any]:
        workload = self.request.workload
        units = set(units_of(workload, range(workload.queries)))
        return {"scale": workload.scale, "unit": units.pop() if len(units) == 1 else None}

    @cached_property
    def _manipulation(self) -> float:
        moves = {candidate.name: candidate.manipulation for candidate in self.candidates}[self.analyst.mechanism]
        if moves is not None:
            return moves
        return float(manipulation(self.device, self.analyst, self.request.workload).max())

    @property
    def _drawn(self) -> DrawnManipulation:
        has_coin = self.device.randomizer.has_coin
        if not has_coin:
            return DrawnManipulation(mean=self._manipulation, has_coin=False)
        found = drawn_manipulation(self.device, self.analyst, self.request.workload)
        return DrawnManipulation(mean=found.mean, over=found.over, has_coin=True)

    def _row(self, candidate: MechanismReport) -> MechanismRow:
        row = candidate.row()
        chosen = candidate.name == self.analyst.mechanism
        return row.model_copy(update={"manipulation": self._manipulation}) if chosen else row

    def predicted_errors(self, users: int) -> tuple[PredictedError, ...]:
        """Root mean squared error of every listed answer for the worst population of `users` users."""
        errors = self.profile.rmse(users).tolist()
        listed = for_randomizer(self.device.randomizer).listed(self.request.workload)
        units = units_of(listed, range(listed.queries)) if listed.has_units else [None] * listed.queries
        cells = zip(listed.labels(), errors, units, strict=True)
        return tuple(PredictedError(label=label, rmse=error, unit=unit) for label, error, unit in cells)

    def _warnings(self) -> Iterator[str]:
        figures, certificate, options = self.analyst.figures, self.analyst.certificate, self.request.options
        worst = options.objective == "max"
        yield from quality_warnings(
            figures.max_variance if worst else figures.mean_variance,
            certificate.max.value if worst else certificate.mean.value,
            self.request.workload,
            mechanism=self.analyst.mechanism,
            epsilon=self.request.guarantee.epsilon,
            objective=options.objective,
            cut_short=self.cut_short,
        )
        if options.users is not None:
            listed = for_randomizer(self.device.randomizer).listed(self.request.workload)
            yield from error_warnings(self.profile, listed, options.users)

    def _predicted(self, users: int) -> dict[str, Any]:
        errors, fake = self.predicted_errors(users), self.request.options.robust
        return {
            "predicted_max_rmse": max(error.rmse for error in errors),
            "predicted_errors": errors,
            "shuffled": shuffled_privacy(self.device, users, FAKE_SHARE if fake is None else Fraction(str(fake))),
        }


@one_thread
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
    comparison = Comparison(request)
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
            variance=comparison.variance,
            bound=bound,
        )
        report(Progress(0.0))
        comparison.consider(candidate, work, report)
    best = comparison.best()
    if request.options.mechanism is None and bound > 0 and comparison.variance is not None:
        check_matrix(
            request.workload,
            comparison.variance,
            bound,
            mechanism=best.name,
            epsilon=request.guarantee.epsilon,
            objective=request.options.objective,
        )
    progress(Progress(1.0, "proving ε", comparison.variance, bound))
    # The salt of hashes is public, but drawn here, so that texts cannot be chosen to collide before.
    held = request.workload.held_domain.salted(SystemRandomness())
    device = DevicePart(held, request.guarantee, best.proposal.randomizer)
    check_guarantee(device)
    behind = comparison.measure.behind(best.evaluated) if isinstance(comparison.measure, UsersBehindBlanket) else None
    analyst = _analyst_part(request, device, best, certificate, behind)
    seconds = time.perf_counter() - start
    return CompiledPlan(
        request=request,
        device=device,
        analyst=analyst,
        candidates=comparison.listed(),
        profile=best.profile,
        behind=behind,
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
        variances = [value for value in (self.variance, step.variance) if value is not None]
        # The end of a stage and the beginning of the next are the same but for the last digits.
        fraction = round(self.done + self.share * step.fraction, 12)
        self.progress(Progress(fraction, self.text, min(variances, default=None), self.bound))


def _asked_for(request: PlanRequest) -> tuple[Mechanism, ...]:
    candidates, name = in_order_of_evaluation(), request.options.mechanism
    if name is None:
        return candidates
    chosen = tuple(candidate for candidate in candidates if candidate.name == name)
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
    best: Contender,
    certificate: Certificate,
    behind: Behind | None,
) -> AnalystPart:
    collector = request.options.collector
    return AnalystPart(
        device_digest=device.digest,
        workload=request.workload.name,
        queries=request.workload.published,
        mechanism=best.name,
        objective=request.options.objective,
        seed=request.options.seed,
        decoder=best.proposal.decoder,
        factors=best.proposal.factors,
        certificate=certificate,
        figures=best.profile.figures(),
        blanket=(
            None if behind is None or collector is None else blanket_terms(device, behind.reports, collector.bound)
        ),
    )
