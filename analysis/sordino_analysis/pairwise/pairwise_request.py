"""A statistic as an analyst requests it, its number of bins perhaps open."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from sordino_analysis.mechanisms.version import planner_version
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.pairwise.finished_protocol import FinishedProtocol
from sordino_analysis.pairwise.protocol import PairwiseError, ProtocolRequest
from sordino_analysis.pairwise.protocol_plan import Target
from sordino_analysis.pairwise.protocol_planner import CompiledProtocol, compile_protocol
from sordino_analysis.pairwise.protocol_registry import find_protocol
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.progress import Progress, ProgressCallback
from sordino_analysis.questions.pairwise import PairwiseSpecification, choose_bins
from sordino_analysis.request_terms import Effort
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import Digest

# Bins are compared by the protocol that is quickest to design: errors of the others move alike with their number.
_BINS_BY = "one_round"
# Of a limited time.
_SHARE_OF_BINS = 0.4


@dataclass(frozen=True, eq=False)
class PairwiseRequest:
    """The terms of `ProtocolRequest` for the statistic that `specification` describes."""

    specification: PairwiseSpecification
    guarantee: PureEpsilon
    users: int
    protocol: str | None = None
    target: Target = "pairs"
    seed: int = 0
    effort: Effort = Effort.STANDARD
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.protocol is not None:
            find_protocol(self.protocol)
        if self.time_limit is not None and not 0 < self.time_limit < 1e6:
            raise PairwiseError(
                f"the time limit must be a positive number of seconds, got {self.time_limit!r}", self.time_limit
            )
        open_bins = self.specification.open_bins() is not None
        self._with(self.specification.with_bins(2) if open_bins else self.specification, Deadline())

    @property
    def digest(self) -> Digest:
        """Names all that the plan depends on, the planner's version included, but not how long it may take."""
        content = {
            "planner": planner_version(),
            "statistic": self.specification.canonical(),
            "epsilon": self.guarantee.nano,
            "users": self.users,
            "protocol": self.protocol,
            "target": self.target,
            "seed": self.seed,
            "effort": self.effort,
        }
        return Digest.of(json.dumps(content, sort_keys=True, allow_nan=False).encode())

    def compile(self, progress: ProgressCallback, interrupted: Callable[[], bool] = lambda: False) -> CompiledProtocol:
        """The protocol with the least predicted error, at the number of bins that errs least where that is open.

        The time limit is that of the whole; it is cut short at once when `interrupted` becomes true.
        """
        deadline = Deadline(self.time_limit, interrupted)
        request = self._with(self._binned(progress, deadline), deadline)
        return compile_protocol(request, lambda step: progress(replace(step, stage="comparing protocols")))

    def finish(self, progress: ProgressCallback, interrupted: Callable[[], bool] = lambda: False) -> FinishedProtocol:
        """The compiled protocol as it travels and is kept."""
        compiled = self.compile(progress, interrupted)
        design = compiled.design
        summary = compiled.summary() | {"cut_short": compiled.request.deadline.cut_short}
        return FinishedProtocol(design.plan, FinishedPlan.of(design.first.device, design.first.analyst, summary))

    def _binned(self, progress: ProgressCallback, deadline: Deadline) -> PairwiseSpecification:
        line = self.specification.open_bins()
        if line is None:
            return self.specification
        share = deadline.part(_SHARE_OF_BINS)

        def predicted(bins: int) -> float:
            def trying(_: Progress) -> None:
                progress(Progress(0.0, f"trying {bins} bins"))

            asked = self._with(self.specification.with_bins(bins), share)
            tried = replace(asked, protocol=_BINS_BY, effort=Effort.QUICK)
            return compile_protocol(tried, trying).design.plan.predicted_rmse

        return self.specification.with_bins(choose_bins(line, predicted, share.passed))

    def _with(self, specification: PairwiseSpecification, deadline: Deadline) -> ProtocolRequest:
        return ProtocolRequest(
            specification.build(),
            self.guarantee,
            self.users,
            self.protocol,
            self.target,
            self.seed,
            self.effort,
            deadline,
        )
