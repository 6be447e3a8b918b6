"""What the writer is given, and why it may refuse all of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino_server.errors import ServerError
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest, Problem, ReportBatch, ReportId


@dataclass(frozen=True, eq=False)
class Upload:
    """The reports of one request: `payloads` is (n, width) bytes in the order of the ids."""

    campaign: str
    round: int
    device_digest: Digest
    report_ids: list[bytes]
    payloads: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.payloads.ndim != 2 or len(self.payloads) != len(self.report_ids) or not self.report_ids:
            raise InvalidValue("an upload has one row of payload bytes for each of its ids", self.payloads.shape)

    @classmethod
    def of(cls, campaign: str, index: int, batch: ReportBatch) -> Upload:
        """The reports of a decoded request body."""
        return cls(campaign, index, batch.device_digest, batch.report_ids(), batch.payload_rows())

    @property
    def width(self) -> int:
        """Bytes of one payload."""
        return int(self.payloads.shape[1])

    @property
    def size(self) -> int:
        """Bytes that it keeps in the queue."""
        return self.payloads.nbytes + ReportId.LENGTH * len(self.report_ids)


@dataclass(frozen=True, eq=False)
class RefusedRequest:
    """A request that could not be read; it is counted under its reason as one report."""

    campaign: str
    reason: Problem


class RoundNotOpen(ServerError):
    """The round is not taking reports yet, or no longer."""

    def __init__(self, campaign: str, index: int, state: str) -> None:
        super().__init__(Problem.ROUND_NOT_OPEN, f"round {index} is {state} and takes no reports", state=state)
        self.campaign = campaign
        self.index = index
        self.state = state


class PlanMismatch(ServerError):
    """The reports were made with another device part than the round's."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(
            Problem.PLAN_MISMATCH, f"the round's device part is {expected}, the reports were made with {got}"
        )
        self.expected = expected
        self.got = got


class Overloaded(ServerError):
    """More reports wait than the writer may hold; nothing of this request was kept."""

    def __init__(self, detail: str) -> None:
        super().__init__(Problem.OVERLOADED, detail)
