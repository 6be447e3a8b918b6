"""What the writer is given, and why it may refuse all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_server.errors import ServerError
from sordino_server.tokens.redemption import ReportTokens
from sordino_shared.protocol import Problem, ReportBatch


@dataclass(frozen=True, eq=False)
class Upload:
    """A batch of reports for one round of a campaign."""

    campaign: str
    round: int
    batch: ReportBatch
    tokens: ReportTokens | None = None

    @property
    def count(self) -> int:
        """How many reports."""
        return self.batch.count

    @property
    def size(self) -> int:
        """Bytes that it keeps in the queue."""
        return len(self.batch.ids) + len(self.batch.payloads)


@dataclass(frozen=True, eq=False)
class RefusedRequest:
    """A request that could not be read; it is counted under its reason as one report."""

    count: ClassVar[int] = 0
    size: ClassVar[int] = 256

    campaign: str
    reason: Problem


class RoundNotOpen(ServerError):
    """The round is not taking reports yet, or no longer."""

    def __init__(self, campaign: str, index: int, state: str) -> None:
        super().__init__(Problem.ROUND_NOT_OPEN, f"round {index} is {state} and accepts no reports", state=state)
        self.campaign = campaign
        self.index = index
        self.state = state


class ReportedDirectly(ServerError):
    """Devices of the campaign report to its shuffler."""

    def __init__(self) -> None:
        super().__init__(
            Problem.WRONG_ROUTE,
            "devices of this campaign send sealed reports to its shuffler, which the manifest names",
        )


class PeriodNotOpen(ServerError):
    """The period of a series does not take reports at this moment of the server's clock."""

    def __init__(self, campaign: str, number: int, reason: str, why: str) -> None:
        super().__init__(Problem.ROUND_NOT_OPEN, f"period {number} accepts no reports now: {why}", state=reason)
        self.campaign = campaign
        self.index = number
        self.reason = reason

    @property
    def counted_as(self) -> str:
        """`early`, `late` or `paused`."""
        return self.reason


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
