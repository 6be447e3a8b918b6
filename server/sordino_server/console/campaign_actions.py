"""What an operator may do with a campaign, what each action does to ε, and in which state it is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.actions import OF_CAMPAIGN, OF_ROUND, CampaignChange, Target
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.console.rendering import Link
from sordino_server.models import Campaign
from sordino_shared.protocol import CampaignState, RoundState

_KEEPS = "The ledger of the population keeps the ε of this campaign: what was asked of devices is not given back."
_NO_CHANGE = "It changes no ε."


@dataclass(frozen=True, kw_only=True)
class Action:
    """A change as a button; `effect` says what happens, to ε too."""

    change: CampaignChange
    button: str
    effect: str


@dataclass(frozen=True, kw_only=True)
class CampaignAction(Action):
    """On a whole campaign, where it `applies`."""

    applies: Callable[[CampaignStatus], bool]


@dataclass(frozen=True, kw_only=True)
class RoundAction(Action):
    """On a round, where it `applies`."""

    applies: Callable[[CampaignStatus, RoundStatus], bool]


def _delete(session: Session, target: Target, now: int) -> Campaign:
    campaign = campaigns.get(session, target.campaign)
    campaigns.delete(session, target.campaign, now)
    return campaign


ACTIONS: Mapping[str, CampaignAction] = {
    "open": CampaignAction(
        change=OF_CAMPAIGN["open"],
        button="Open",
        effect="Devices may answer from now on. The ledger of the population counts the whole ε that the campaign asks "
        "of a device, now and permanently, also if the campaign is cancelled later.",
        applies=lambda status: status.state is CampaignState.READY,
    ),
    "close": CampaignAction(
        change=OF_CAMPAIGN["close"],
        button="Close",
        effect=f"Later reports are refused, and a worker computes the estimate from the rounds so far. {_KEEPS}",
        applies=lambda status: status.state is CampaignState.OPEN,
    ),
    "cancel": CampaignAction(
        change=OF_CAMPAIGN["cancel"],
        button="Cancel the campaign",
        effect="The campaign ends permanently and without an estimate. Devices that answered have spent their ε. If it "
        "was open, the ledger of the population keeps its ε; a campaign that never opened has asked nothing.",
        applies=lambda status: status.state in (CampaignState.READY, CampaignState.OPEN),
    ),
    "pause": CampaignAction(
        change=OF_CAMPAIGN["pause"],
        button="Pause",
        effect="Devices answer nothing, and reports are refused, until the series is resumed. "
        "Periods that pass meanwhile cost a device nothing.",
        applies=lambda status: _runs(status) and not _paused(status),
    ),
    "resume": CampaignAction(
        change=OF_CAMPAIGN["resume"],
        button="Resume",
        effect="Devices answer again, each at most as often as its terms say.",
        applies=lambda status: _runs(status) and _paused(status),
    ),
    "archive": CampaignAction(
        change=OF_CAMPAIGN["archive"],
        button="Archive",
        effect=f"It is marked as archived, and nothing is deleted. {_NO_CHANGE}",
        applies=lambda status: status.state is not CampaignState.OPEN and status.archived_at is None,
    ),
    "restore": CampaignAction(
        change=OF_CAMPAIGN["restore"],
        button="Restore",
        effect=f"It is no longer marked as archived. {_NO_CHANGE}",
        applies=lambda status: status.archived_at is not None,
    ),
    "delete": CampaignAction(
        change=CampaignChange("delete campaign", "", _delete),
        button="Delete",
        effect="The campaign and its upload tokens are deleted permanently. It never opened, so it has asked no ε.",
        applies=lambda status: status.state is CampaignState.READY,
    ),
}
ROUND_ACTIONS: Mapping[str, RoundAction] = {
    "close": RoundAction(
        change=OF_ROUND["close"],
        button="Close the round",
        effect="The round takes no more reports. A worker opens the next round with the ε that the manifest allows it; "
        f"after the last round it computes the estimate and closes the campaign. {_KEEPS}",
        applies=lambda status, each: each.state is RoundState.OPEN and status.series is None,
    ),
    "retry": RoundAction(
        change=OF_ROUND["retry"],
        button="Retry",
        effect=f"A worker repeats the step that failed after this round was closed. {_NO_CHANGE}",
        applies=lambda status, each: each.error is not None,
    ),
}


def _runs(status: CampaignStatus) -> bool:
    return status.series is not None and status.state is CampaignState.OPEN


def _paused(status: CampaignStatus) -> bool:
    return status.series is not None and status.series.paused


def offered(status: CampaignStatus) -> list[Link]:
    """The pages of the actions that the campaign's state allows."""
    base = f"/console/campaigns/{status.id}"
    whole = [
        Link(f"{base}/actions/{path}", action.button) for path, action in ACTIONS.items() if action.applies(status)
    ]
    return whole + [
        Link(f"{base}/rounds/{each.index}/actions/{path}", f"{action.button}, round {each.index}")
        for each in status.rounds
        for path, action in ROUND_ACTIONS.items()
        if action.applies(status, each)
    ]
