"""From a statistic to a protocol: every one that applies is designed, and the least predicted error is published."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from sordino_server.protocols.base import PairwiseProtocol, Progress, ProtocolDesign, ProtocolError, ProtocolRequest
from sordino_server.protocols.registry import PROTOCOLS, find_protocol
from sordino_shared.audit import verification_memory
from sordino_shared.errors import InvalidValue

# Two protocols closer than this are as good as each other; the simpler one, with fewer rounds, is taken.
_TIE = 0.01


@dataclass(frozen=True)
class ProtocolReport:
    """What became of one protocol: its predicted root mean squared error, or the reason why it has none."""

    name: str
    reason: str | None
    predicted_rmse: float | None
    seconds: float

    def summary(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "applies": self.reason is None,
            "reason": self.reason,
            "predicted_rmse": self.predicted_rmse,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, eq=False)
class CompiledProtocol:
    """The chosen protocol, ready to launch, and what it was compared with."""

    request: ProtocolRequest
    design: ProtocolDesign
    reports: tuple[ProtocolReport, ...]
    seconds: float

    def summary(self) -> dict[str, Any]:
        """The choice in numbers, as JSON."""
        plan, first = self.design.plan, self.design.first
        moved = find_protocol(plan.protocol).manipulation(self.design)
        return {
            "statistic": self.request.statistic.name,
            "k": self.request.statistic.size,
            "target": plan.target,
            "users": plan.users,
            "epsilon": self.request.guarantee.epsilon,
            "protocol": plan.protocol,
            "rounds": [nano / 1e9 for nano in plan.rounds],
            "share_of_first_round": None if plan.first_weight is None else plan.first_weight / 2**32,
            "predicted_rmse": plan.predicted_rmse,
            "manipulation": {each.form: each.summary() for each in moved},
            "digest": str(plan.digest),
            "digests": {
                "device": str(first.device.digest),
                "analyst": str(first.analyst.digest),
                "protocol": str(plan.digest),
            },
            "device_bytes": len(first.device.content),
            "device_memory": verification_memory(first.device),
            "analyst_bytes": len(first.analyst.content),
            "protocols": [report.summary() for report in self.reports],
            "seconds": round(self.seconds, 3),
        }


def compile_protocol(request: ProtocolRequest, progress: Progress = lambda fraction: None) -> CompiledProtocol:
    """The protocol with the least root mean squared error predicted at the request's number of users.

    Predictions are means of squared errors over `reference_histograms`. Without a time limit the same request gives
    the same design. Raises ProtocolError, with every protocol's reason, where none applies.
    """
    start = time.perf_counter()
    asked = PROTOCOLS if request.protocol is None else (find_protocol(request.protocol),)
    limit = None if request.time_limit is None else request.time_limit / len(asked)
    limited = replace(request, time_limit=limit)
    best: ProtocolDesign | None = None
    reports = []
    for number, protocol in enumerate(asked):

        def told(fraction: float, number: int = number) -> None:
            progress((number + fraction) / len(asked))

        began = time.perf_counter()
        found = _designed(protocol, limited, told)
        seconds = time.perf_counter() - began
        if isinstance(found, str):
            reports.append(ProtocolReport(protocol.name, found, None, seconds))
            continue
        reports.append(ProtocolReport(protocol.name, None, found.plan.predicted_rmse, seconds))
        if best is None or found.plan.predicted_rmse < best.plan.predicted_rmse * (1 - _TIE):
            best = found
    if best is None:
        reasons = "".join(f"\n- {report.name}: {report.reason}" for report in reports)
        raise ProtocolError(f"no protocol applies to this request:{reasons}", request.protocol)
    progress(1.0)
    return CompiledProtocol(request, best, tuple(reports), time.perf_counter() - start)


def _designed(protocol: PairwiseProtocol, request: ProtocolRequest, progress: Progress) -> ProtocolDesign | str:
    """The protocol's design, or why there is none."""
    reason = protocol.reason_against(request)
    if reason is not None:
        return reason
    try:
        return protocol.design(request, progress)
    except InvalidValue as error:
        return str(error)
