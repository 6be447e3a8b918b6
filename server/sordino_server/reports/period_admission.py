"""The periods of series that take reports now; their rounds are made by the first report."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from sqlalchemy.orm import Session

from sordino_server.errors import ServerError
from sordino_server.kit.clock import iso_8601
from sordino_server.models import Campaign
from sordino_server.reports.uploads import PeriodNotOpen, ReportedDirectly, RoundNotOpen
from sordino_server.rounds import RoundName, RoundNotFound, periods
from sordino_shared.protocol import CampaignState, Manifest, Rotating
from sordino_shared.protocol.routes import ShuffledRoute

_KNOWN_CAMPAIGNS = 1024
_YEAR_10000 = 253_402_300_800


class PeriodAdmission:
    """Judges uploads to series by the server's clock; what manifests say never changes and is read once."""

    def __init__(self) -> None:
        self._manifests: OrderedDict[str, Manifest | None] = OrderedDict()

    def admit(self, session: Session, names: Iterable[RoundName], now: int) -> dict[RoundName, ServerError]:
        """Make the rounds of periods that take reports at `now`; why the others of these take none."""
        refused: dict[RoundName, ServerError] = {}
        for campaign, number in sorted(names):
            manifest = self._series(session, campaign)
            if manifest is None or not isinstance(manifest.assignment, Rotating):
                continue
            error = (
                ReportedDirectly()
                if isinstance(manifest.route, ShuffledRoute)
                else _refusal(session, campaign, manifest.assignment, number, now)
            )
            if error is None:
                periods.open_period(session, manifest, manifest.assignment, number, now)
            else:
                refused[campaign, number] = error
        return refused

    def _series(self, session: Session, campaign: str) -> Manifest | None:
        """The manifest of a series; None for any other campaign."""
        if campaign not in self._manifests:
            row = session.get(Campaign, campaign)
            if row is None:
                # Anybody can think of ids, so that nothing is remembered of those that name nothing.
                return None
            manifest = Manifest.read(row.manifest)
            self._manifests[campaign] = manifest if isinstance(manifest.assignment, Rotating) else None
            if len(self._manifests) > _KNOWN_CAMPAIGNS:
                self._manifests.popitem(last=False)
        return self._manifests[campaign]


def _refusal(session: Session, campaign: str, series: Rotating, number: int, now: int) -> ServerError | None:
    row = session.get(Campaign, campaign, populate_existing=True)
    if row is None:
        return RoundNotFound(campaign, number)
    if row.state != CampaignState.OPEN:
        return RoundNotOpen(campaign, number, row.state)
    if periods.is_paused(session, campaign):
        return PeriodNotOpen(campaign, number, "paused", "the series is paused")
    if now < series.accepted_from(number):
        return PeriodNotOpen(
            campaign, number, "early", f"its reports count from {_written(series.accepted_from(number))} on"
        )
    row_of = periods.find_series(session, campaign)
    assert row_of is not None
    if number < row_of.closed_periods or not series.accepts(number, now):
        return PeriodNotOpen(
            campaign, number, "late", f"its reports counted until before {_written(series.accepted_until(number))}"
        )
    return None


def _written(unix: int) -> str:
    """A time for people; a calendar ends with the year 9999, and the last periods lie beyond."""
    return iso_8601(unix) if unix < _YEAR_10000 else f"Unix time {unix}"
