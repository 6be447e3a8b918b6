"""Protocols of several rounds, whatever they estimate: from closed rounds to the next round's plan or the estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sordino_analysis.answers.document import EstimateDocument

    # The server's API reads round plans and needs no evaluation, which takes longer to import than all the rest.
    from sordino_analysis.evaluation.accumulate import Aggregate

Estimate = TypeVar("Estimate", covariant=True)


@dataclass(frozen=True, eq=False)
class RoundPlan:
    """The two sealed parts of one round's plan; raises InvalidValue for parts of two plans."""

    device: DevicePart
    analyst: AnalystPart

    def __post_init__(self) -> None:
        if self.analyst.device_digest != self.device.digest:
            raise InvalidValue(
                f"the analyst part belongs to the device part {self.analyst.device_digest}, not to "
                f"{self.device.digest}: give the two parts of one plan",
                self.analyst.device_digest,
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class EarlierPeriod:
    """The newest estimated period of a series before another one; without `payloads` where they were purged.

    `late` are estimates of still earlier periods that failed and were made after this one, which knows nothing of them.
    """

    number: int
    estimate: EstimateDocument
    late: tuple[EstimateDocument, ...] = ()
    payloads: Callable[[], Iterable[NDArray[np.uint8]]] | None = None


@dataclass(frozen=True, eq=False)
class ClosedRound:
    """A round that takes no more reports: its plan and the sum of its reports, `blanket` of them a shuffler's.

    `payloads` gives the reports themselves, in pages (n, width), to kinds of questions that count in them. Of a series
    it is the period `number`, and kinds that remember periods get the one `before`. Kinds that search tell `progress`.
    """

    plan: RoundPlan
    aggregate: Aggregate
    blanket: int = 0
    payloads: Callable[[], Iterable[NDArray[np.uint8]]] | None = None
    _: KW_ONLY
    number: int | None = None
    before: EarlierPeriod | None = None
    progress: ProgressCallback = ignore_progress


class RoundsProtocol(Protocol[Estimate]):
    """How the rounds of a campaign follow one another. Protocols for pairs are one family of these.

    `step` is a function of its arguments alone: the same closed rounds give the same bytes on every call.
    """

    name: str

    def step(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> RoundPlan | Estimate:
        """The next round's plan after `closed`, or the estimate once no round is left; raises InvalidValue."""

    def conclude(self, plan: ProtocolPlan, closed: tuple[ClosedRound, ...]) -> Estimate:
        """The estimate of fewer rounds than planned, for a campaign that was closed early.

        Raises InvalidValue where these rounds do not make up an estimate yet, and says so.
        """
