"""What the page of a campaign says while it runs: counts, rate, what closes its rounds when, and warnings."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from time import monotonic

from sordino_analysis.figures import figure
from sordino_analysis.kinds.participation import participation_warnings
from sordino_analysis.percentages import percent
from sordino_server.campaigns.progress import CampaignProgress, progress_of
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.console.inline_lines import plus_minus
from sordino_server.console.refusal_words import reason, refused_share
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


class KeptRates:
    """Reports a second over the last hour by campaign, each looked up again after a minute."""

    def __init__(self, *, most: int = _MOST, tick: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._tick = tick
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[float, float | None]] = OrderedDict()

    def get(self, campaign: str, make: Callable[[], float | None]) -> float | None:
        """The rate; of more than `most` campaigns the one that was made longest ago is forgotten."""
        with self._lock:
            until, rate = self._kept.get(campaign, (float("-inf"), None))
        if self._tick() < until:
            return rate
        rate = make()
        with self._lock:
            self._kept[campaign] = self._tick() + WITHIN_S, rate
            self._kept.move_to_end(campaign)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return rate


@dataclass(frozen=True)
class Fact:
    """A large value under its word, and a note below it."""

    word: str
    value: str
    note: str


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
    hourly: float | None = None

    @property
    def lasting_rate(self) -> float | None:
        """Of the last hour, or of the last minute where the hour has none."""
        return self.rate if self.hourly is None else self.hourly

    @cached_property
    def progress(self) -> CampaignProgress:
        """When it closes at the rate of the last hour, and what more devices leave of the error."""
        return progress_of(self.campaign, self.hourly, self.now)

    @property
    def facts(self) -> list[Fact]:
        """Counted of wanted, the time left, the error now and at the end, and what was refused."""
        found = (self._answered, self._time_left, self._error, self._refused)
        return [fact for each in found if (fact := each()) is not None]

    def _answered(self) -> Fact:
        progress = self.progress
        wanted = "no number is wanted" if progress.wanted is None else f"of {progress.wanted:,} wanted"
        if self.campaign.series is not None:
            newest = self.campaign.rounds[-1].index if self.campaign.rounds else None
            return Fact("Answered", f"{progress.devices:,}", wanted if newest is None else f"in period {newest:,}")
        return Fact("Answered", f"{progress.devices:,}", wanted)

    def _time_left(self) -> Fact | None:
        if not self.live:
            return None
        progress = self.progress
        if progress.closes_about is None:
            return Fact("Closes", self._untimed_end, "no report came in the last hour" if self.hourly == 0 else "")
        word = "Closes in" if progress.closes_about == progress.closes_at else "At this rate"
        word = word if self.campaign.series is None else f"Period {self.campaign.series.period:,} ends in"
        left = lasting(max(0, progress.closes_about - self.now))
        end, today = (datetime.fromtimestamp(each, UTC) for each in (progress.closes_about, self.now))
        moment = end.strftime("%-d %b, %H:%M UTC" if end.year == today.year else "%-d %b %Y, %H:%M UTC")
        return Fact(word, left if word != "At this rate" else f"about {left}", f"on {moment}")

    @property
    def _untimed_end(self) -> str:
        """What closes the open round, where nothing tells when."""
        wanted = next(
            (each.close_after_reports for each in self.campaign.rounds if each.state is RoundState.OPEN), None
        )
        return "when you close it" if wanted is None else f"with {quantity(wanted, 'device')}"

    def _error(self) -> Fact | None:
        progress = self.progress
        at_end = None if progress.band_wanted is None else plus_minus(progress.band_wanted, progress)
        if progress.band_now is None:
            with_wanted = "" if progress.wanted is None else f"with {progress.wanted:,}"
            return None if at_end is None else Fact("Expected error", at_end, with_wanted)
        word = "If it closed now" if self.live else "Error"
        note = "of all answers at once, at most" if at_end is None or not self.live else f"{at_end} at the end"
        return Fact(word, plus_minus(progress.band_now, progress), note)

    def _refused(self) -> Fact | None:
        if self.campaign.state is CampaignState.READY:
            return None
        refused = sum(self.campaign.refusals.values())
        return Fact("Refused", f"{refused:,}", refused_share(self.campaign.refusals, self.reports))

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
            soon = f", in about {lasting(left / self.lasting_rate)} at this rate" if self.lasting_rate and left else ""
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
            slug = max(self.campaign.refusals, key=self.campaign.refusals.__getitem__)
            share = percent(refused / (self.reports + refused), 0)
            yield f"{share} of the reports were refused, most of them because {reason(slug)}"
        if self.last_report_at is not None and self.now - self.last_report_at >= _SILENT_S:
            yield f"no report has come for {lasting(self.now - self.last_report_at)}"

    def _too_few(self) -> Iterator[str]:
        """Where a round ends by its time before the number wanted has come, as far as the rate tells."""
        wanted = None if self.campaign.predicted is None else self.campaign.predicted.users_wanted
        for each in self.campaign.rounds:
            timed = each.state is RoundState.OPEN and each.close_after_s is not None and each.opened_at is not None
            if not timed or wanted is None or self.lasting_rate is None:
                continue
            left = max(0, (each.opened_at or 0) + (each.close_after_s or 0) - self.now)
            expected = each.reports + self.lasting_rate * left
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
