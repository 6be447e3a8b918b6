"""What the page of a campaign says while it runs: counts, rate, what closes its rounds when, and warnings."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from time import monotonic

from sordino_analysis.figures import figure
from sordino_analysis.kinds.participation import participation_warnings
from sordino_analysis.percentages import percent
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.kit.clock import iso_8601
from sordino_server.models import BatchState
from sordino_server.shuffled.schemas import BatchStatus
from sordino_shared.protocol import CampaignState, RoundState
from sordino_shared.quantities import quantity

_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
# Devices come in waves of a day; an hour without any of a campaign that had some is worth a look.
_SILENT_S = 3600
_MANY_REFUSED = 0.05
# A rate is that of the last minute.
WITHIN_S = 60.0
_MOST = 256


class ReportRates:
    """Counts by campaign, as its page has them; of more than `most` campaigns the one unused longest is forgotten."""

    def __init__(self, *, most: int = _MOST, tick: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._tick = tick
        self._lock = Lock()
        self._seen: OrderedDict[str, deque[tuple[float, int]]] = OrderedDict()

    def note(self, campaign: str, reports: int) -> float | None:
        """Reports a second since the first count of the last minute; None after the first."""
        now = self._tick()
        with self._lock:
            seen = self._seen.setdefault(campaign, deque())
            self._seen.move_to_end(campaign)
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)
            while seen and seen[0][0] < now - WITHIN_S:
                seen.popleft()
            seen.append((now, reports))
            then, before = seen[0]
        return (reports - before) / (now - then) if now > then else None


@dataclass(frozen=True, kw_only=True)
class RunningCampaign:
    """A campaign's counts at the time `now`; `rate` is in reports a second.

    `first_share` is the probability of round 0 where every device draws one of two rounds.
    """

    campaign: CampaignStatus
    last_report_at: int | None
    rate: float | None
    first_share: float | None
    now: int

    @property
    def reports(self) -> int:
        """Reports counted in all rounds."""
        return sum(each.reports for each in self.campaign.rounds)

    @property
    def live(self) -> bool:
        """Whether it may change."""
        return self.campaign.state is CampaignState.OPEN

    @property
    def batches(self) -> list[BatchStatus]:
        """How far the batches of a shuffler are."""
        return [each.batch for each in self.campaign.rounds if each.batch is not None]

    @property
    def changing(self) -> bool:
        """Whether its page asks for the counts again: it is live, or waits for a batch, its opening or a search."""
        waits = any(_is_unfinished(each) or each.progress is not None for each in self.campaign.rounds)
        return self.live or waits

    @property
    def closing(self) -> list[str]:
        """What closes each open round, and when that is."""
        if self.campaign.series is not None:
            return [f"Each period closes by itself. Period {self.campaign.series.period} runs."] if self.live else []
        return [
            f"Round {each.index} closes {self._closes(each)}."
            for each in self.campaign.rounds
            if each.state is RoundState.OPEN
        ]

    def _closes(self, each: RoundStatus) -> str:
        said = []
        if each.close_after_reports is not None:
            left = max(0, each.close_after_reports - each.reports)
            soon = f", in about {lasting(left / self.rate)} at this rate" if self.rate and left else ""
            said.append(f"after {quantity(each.close_after_reports, 'report')}, {left:,} more{soon}")
        if each.close_after_s is not None and each.opened_at is not None:
            end = each.opened_at + each.close_after_s
            said.append(f"at {iso_8601(end)}, in {lasting(max(0, end - self.now))}")
        return "; or ".join(said) or "when an operator closes it"

    @property
    def warnings(self) -> list[str]:
        """What an operator should look at, in words."""
        return list(self._warnings()) if self.live else []

    def _warnings(self) -> Iterator[str]:
        ended = [each.reports for each in self.campaign.rounds if each.state is not RoundState.OPEN]
        if self.campaign.series is None:
            yield from participation_warnings(self.first_share, ended)
        yield from self._too_few()
        refused = sum(self.campaign.refusals.values())
        if refused > _MANY_REFUSED * (self.reports + refused):
            reason = max(self.campaign.refusals, key=self.campaign.refusals.__getitem__)
            share = percent(refused / (self.reports + refused), 0)
            yield f"{share} of the reports were refused, most of them as {reason}"
        if self.last_report_at is not None and self.now - self.last_report_at >= _SILENT_S:
            yield f"no report has come for {lasting(self.now - self.last_report_at)}"

    def _too_few(self) -> Iterator[str]:
        """Where a round ends by its time before the number wanted has come, as far as the rate tells."""
        wanted = None if self.campaign.predicted is None else self.campaign.predicted.users_wanted
        for each in self.campaign.rounds:
            timed = each.state is RoundState.OPEN and each.close_after_s is not None and each.opened_at is not None
            if not timed or wanted is None or self.rate is None:
                continue
            left = max(0, (each.opened_at or 0) + (each.close_after_s or 0) - self.now)
            expected = each.reports + self.rate * left
            if expected < wanted:
                few = f"about {figure(expected, 1)} of the {quantity(wanted, 'report')} wanted"
                yield f"at this rate round {each.index} closes with {few}"


def _is_unfinished(each: RoundStatus) -> bool:
    waits = each.batch is not None and each.batch.state in (BatchState.RECEIVING, BatchState.STATED)
    return waits and each.state is RoundState.CLOSED


def lasting(seconds: float) -> str:
    """A length of time in its largest whole unit, such as 3 hours."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    count = round(seconds / size)
    return quantity(count, unit)
