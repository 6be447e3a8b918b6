"""/console/campaigns: the list, a campaign, and its counts while it is open"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.aggregates import counted_over_time, last_reports
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.campaign_filter import CampaignFilter, CampaignSort
from sordino_server.campaigns.reports_end import reports_end
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.campaigns.status import statuses_of
from sordino_server.console.activity_entries import newest_of
from sordino_server.console.budget_words import date_of
from sordino_server.console.campaign_actions import offered
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.inline_lines import BROAD, PHONE, SMALL, Lines, error_lines, report_lines
from sordino_server.console.live_counts import running_campaign
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.refusal_words import reason, refused_sentence
from sordino_server.console.running_campaign import RunningCampaign
from sordino_server.context import Injected
from sordino_server.experiments import service as experiments
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.kit.times import iso_8601_or_none
from sordino_server.models import Campaign
from sordino_server.questions.service import headline_of, state_of
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, Manifest

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_ROUND_COLUMNS = (
    "index", "state", "reports", "opened", "closed", "purged", "close_after_reports", "close_after_s",
    "device_digest", "analyst_digest", "error",
)  # fmt: skip
_LIST_COLUMNS = (
    "id", "name", "population", "state", "epsilon", "reports", "users_wanted", "refused", "last_report",
    "created", "opened", "closed",
)  # fmt: skip

# What was done last to a question; the page of all has the rest.
_LAST_DONE = 6
_PARTS_OF_LOG = 60
# Whom more devices may still help.
_ASKING = (CampaignState.READY, CampaignState.OPEN)

_Text = Annotated[str | None, Query(max_length=200)]


class ListedCampaign(CampaignStatus):
    """A campaign with the sums of its rounds."""

    last_report_at: int | None

    @property
    def last_report(self) -> str | None:
        """The time of the last report as ISO 8601."""
        return iso_8601_or_none(self.last_report_at)

    @property
    def reports(self) -> int:
        """Reports counted in all rounds."""
        return sum(each.reports for each in self.rounds)

    @property
    def refused(self) -> int:
        """Reports refused for any reason."""
        return sum(self.refusals.values())

    @property
    def users_wanted(self) -> int | None:
        """Reports after which it closes, or that its plan was made for."""
        return None if self.predicted is None else self.predicted.users_wanted


class ListedCampaigns(BaseModel):
    """A page of campaigns with everything that was counted."""

    campaigns: list[ListedCampaign]
    next_page_token: str | None


@page(router, "/campaigns", "campaigns.html", _LIST_COLUMNS)
def list_campaigns(
    _: Analyst,
    context: Injected,
    requested: PageQuery,
    state: _Text = None,
    population: _Text = None,
    name: _Text = None,
    sort: CampaignSort = CampaignSort.NEWEST,
) -> ConsolePage:
    """Campaigns, sorted; an empty field of the filter chooses all."""
    chosen = CampaignFilter(state=_state(state), population=population or None, name=name or None)
    now = context.clock.now()
    with context.database.read("console campaigns") as session:
        rows, token = campaigns.listed(session, requested, chosen, sort)
        last = last_reports(session, [row.id for row in rows])
        found = [
            ListedCampaign(**dict(status), last_report_at=last.get(status.id))
            for status in statuses_of(session, rows, now)
        ]
    values = {
        "filter": {"state": state or "", "population": population or "", "name": name or "", "sort": sort.value},
        "sorts": [each.value for each in CampaignSort],
        "states": [each.value for each in CampaignState],
    }
    document = ListedCampaigns(campaigns=found, next_page_token=token)
    return ConsolePage(title="Campaigns", document=document, rows=found, values=values)


@page(router, "/campaigns/{campaign_id}", "campaign.html", _ROUND_COLUMNS)
def get_campaign(_: Analyst, request: Request, context: Injected, campaign_id: DigestPath) -> ConsolePage:
    """A campaign as `status` of the API has it; the table has a row for each round."""
    with context.database.read("console campaign") as session:
        running = running_campaign(session, campaign_id, request.app.state)
        row, now = campaigns.get(session, campaign_id), context.clock.now()
        manifest, kept = Manifest.read(row.manifest), context.settings.raw_report_retention_days
        status = running.campaign
        values: dict[str, Any] = {
            "manifest": manifest,
            "reports": reports_end(session, row, kept, status.opened_at or now),
            "experiment": experiments.document(session, campaign_id)
            if status.arms and _has_rule(session, row)
            else None,
            "happened": newest_of(session, campaign_id, _LAST_DONE),
            "drawn": _drawn_reports(session, status, running, now),
            "state": _state_of(row, status),
        }
    errors = [each for frame in (SMALL,) if (each := error_lines(running.progress, frame)) is not None]
    values |= {
        "actions": offered(status),
        "campaign": status,
        "running": running,
        "progress": running.progress,
        "errors": errors[0] if errors and status.state in _ASKING else None,
        "refused": refused_sentence(status.refusals, running.reports),
        "reasons": [(reason(slug), slug, count) for slug, count in sorted(status.refusals.items())],
        "answer": _answer_path(row, status),
    }
    return ConsolePage(title=status.name, document=status, rows=status.rounds, values=values)


def _has_rule(session: Session, row: Campaign) -> bool:
    return experiments.finding(session, row.id) is not None


def _state_of(row: Campaign, status: CampaignStatus) -> tuple[str, str]:
    error = next((each.error for each in status.rounds if each.error), None)
    look, state = state_of(row, headline_of(row), error, is_series=status.series is not None)
    if status.state is CampaignState.OPEN and status.series is None and status.opened_at is not None:
        return look, f"{state} since {date_of(status.opened_at)}"
    return look, state


def _answer_path(row: Campaign, status: CampaignStatus) -> str | None:
    """Where the answer is, of a campaign that has one."""
    if headline_of(row) is None:
        return None
    if status.arms:
        return f"/console/experiments/{row.id}"
    return f"/console/campaigns/{row.id}/{'estimate' if status.series is None else 'series'}"


def _drawn_reports(session: Session, status: CampaignStatus, running: RunningCampaign, now: int) -> list[Lines]:
    """Reports of the last round that opened, over time, for a page and for a phone; none where its log is empty."""
    begun = [row for row in rounds.of_campaign(session, status.id) if row.opened_at is not None]
    if status.series is not None or not begun or begun[-1].opened_at is None:
        return []
    last = begun[-1]
    steps = counted_over_time(session, last.id, _PARTS_OF_LOG)
    until = last.closed_at or now
    return (
        [report_lines(steps, begun[-1].opened_at or now, until, running.progress, frame) for frame in (BROAD, PHONE)]
        if steps
        else []
    )


def _state(text: str | None) -> CampaignState | None:
    if text and text not in set(CampaignState):
        raise InvalidValue(f"state is one of {', '.join(CampaignState)}", text)
    return CampaignState(text) if text else None
