"""From a statistic to a protocol: every one that applies is designed, and the least predicted error is published."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sordino_analysis.documents.plan_summary import PairwiseSummary
from sordino_analysis.documents.summary_parts import FormBoundSummary, PartDigests, ProtocolRow
from sordino_analysis.pairwise.form_bounds import bounded
from sordino_analysis.pairwise.protocol import (
    PairwiseError,
    PairwiseProtocol,
    ProtocolDesign,
    ProtocolRequest,
)
from sordino_analysis.pairwise.protocol_registry import PROTOCOLS, find_protocol
from sordino_analysis.pairwise.tuning import COMPARISON
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress, progress_of_part
from sordino_shared.audit import verification_memory
from sordino_shared.errors import InvalidValue

# Designed before those that search, in seconds at most: a request that is cut short then has something to take.
_WITHOUT_SEARCH = {"one_round_split", "three_round"}


@dataclass(frozen=True)
class ProtocolReport:
    """What became of one protocol: its predicted root mean squared error, or the reason why it has none."""

    name: str
    reason: str | None
    predicted_rmse: float | None
    seconds: float

    def row(self) -> ProtocolRow:
        """Its row in the plan's summary."""
        return ProtocolRow(
            name=self.name,
            applies=self.reason is None,
            reason=self.reason,
            predicted_rmse=self.predicted_rmse,
            seconds=round(self.seconds, 3),
        )


@dataclass(frozen=True, eq=False)
class CompiledProtocol:
    """The chosen protocol, ready to launch, and what it was compared with."""

    request: ProtocolRequest
    design: ProtocolDesign
    reports: tuple[ProtocolReport, ...]
    seconds: float

    def finished(self) -> FinishedPlan:
        """What is kept of it: the parts of the first round's plan, and the plan of the protocol."""
        return FinishedPlan(self.design.first.device, self.design.first.analyst, self.summary, self.design.plan)

    @cached_property
    def summary(self) -> PairwiseSummary:
        """The choice in numbers."""
        plan, first = self.design.plan, self.design.first
        moved = find_protocol(plan.protocol).manipulation(self.design)
        return PairwiseSummary(
            statistic=self.request.statistic.name,
            k=self.request.statistic.size,
            target=plan.target,
            users=plan.users,
            epsilon=self.request.guarantee.epsilon,
            protocol=plan.protocol,
            rounds=tuple(nano / 1e9 for nano in plan.rounds),
            share_of_first_round=plan.first_share,
            predicted_rmse=plan.predicted_rmse,
            manipulation={bound.form: bound.summary() for bound in moved},
            bounds={
                bound.form: FormBoundSummary(
                    lower_bound=bound.value,
                    variance=bound.variance,
                    standard_error=bound.standard_error,
                    ratio=bound.ratio,
                    any_rounds=bound.of_any_rounds,
                )
                for bound in plan.bounds
            },
            digest=str(plan.digest),
            digests=PartDigests(
                device=str(first.device.digest), analyst=str(first.analyst.digest), protocol=str(plan.digest)
            ),
            device_bytes=len(first.device.content),
            device_memory=verification_memory(first.device),
            analyst_bytes=len(first.analyst.content),
            protocols=tuple(report.row() for report in self.reports),
            seconds=round(self.seconds, 3),
            cut_short=self.request.deadline.cut_short,
        )


def compile_protocol(
    request: ProtocolRequest, progress: ProgressCallback = ignore_progress, *, bounds: bool = True
) -> CompiledProtocol:
    """The protocol with the least root mean squared error predicted at the request's number of users.

    With `bounds` its plan has a lower bound for each form.

    Predictions are means of squared errors over `reference_histograms`. Without a deadline the same request gives
    the same design; what the deadline cut short is the best of what was designed before it. Raises PairwiseError, with
    every protocol's reason, where none is.
    """
    start = time.perf_counter()
    protocols = PROTOCOLS if request.options.protocol is None else (find_protocol(request.options.protocol),)
    comparison, parts = _Comparison(request), len(protocols) + bounds
    for number, protocol in enumerate(sorted(protocols, key=lambda one: one.name not in _WITHOUT_SEARCH)):
        part = progress_of_part(progress, number / parts, 1 / parts)
        part(Progress(0.0))
        comparison.consider(protocol, 1.0 / (parts - number), part)
    best = comparison.best(protocols)
    if bounds:
        last = progress_of_part(progress, 1 - 1 / parts, 1 / parts)
        best = bounded(best, find_protocol(best.plan.protocol), request.deadline, last)
    progress(Progress(1.0))
    reports = tuple(comparison.reports[protocol.name] for protocol in protocols)
    return CompiledProtocol(request, best, reports, time.perf_counter() - start)


class _Comparison:
    """The designs so far, and a report of each protocol, by its name."""

    def __init__(self, request: ProtocolRequest) -> None:
        self.request = request
        self.reports: dict[str, ProtocolReport] = {}
        self._designs: dict[str, ProtocolDesign] = {}

    def consider(self, protocol: PairwiseProtocol, share: float, progress: ProgressCallback) -> None:
        """Design the protocol in a share of the time that is left."""
        began = time.perf_counter()
        design = self._designed(protocol, share, progress)
        seconds = time.perf_counter() - began
        if isinstance(design, str):
            self.reports[protocol.name] = ProtocolReport(protocol.name, design, None, seconds)
            return
        self._designs[protocol.name] = design
        self.reports[protocol.name] = ProtocolReport(protocol.name, None, design.plan.predicted_rmse, seconds)

    def best(self, protocols: Sequence[PairwiseProtocol]) -> ProtocolDesign:
        """The least predicted error, the first in the order of `protocols` among equals; raises PairwiseError."""
        best: ProtocolDesign | None = None
        for design in (self._designs[protocol.name] for protocol in protocols if protocol.name in self._designs):
            if best is None or design.plan.predicted_rmse < best.plan.predicted_rmse * (1 - COMPARISON.tie):
                best = design
        if best is None:
            reasons = "".join(f"\n- {protocol.name}: {self.reports[protocol.name].reason}" for protocol in protocols)
            raise PairwiseError(f"no protocol {self._missing}:{reasons}", self.request.options.protocol)
        return best

    @property
    def _missing(self) -> str:
        cut = self.request.deadline.cut_short
        return "applies to this request" if cut is None else f"was designed before the end ({cut}): allow more time"

    def _designed(self, protocol: PairwiseProtocol, share: float, progress: ProgressCallback) -> ProtocolDesign | str:
        """The protocol's design, or why there is none."""
        reason = protocol.reason_against(self.request)
        if reason is not None:
            return reason
        if self._designs and self.request.deadline.passed():
            return "the time was over before its turn"
        try:
            return protocol.design(replace(self.request, deadline=self.request.deadline.part(share)), progress)
        except InvalidValue as error:
            return str(error)
