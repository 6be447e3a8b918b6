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

_KEEPS = "The budget keeps the ε of this question: what was asked of devices is not given back."
_NO_CHANGE = "It changes no ε."


@dataclass(frozen=True)
class OfferedAction(Link):
    """The page of an action; the `first` stand above, what destroys is in red."""

    first: bool
    destroys: bool


@dataclass(frozen=True, kw_only=True)
class Action:
    """A change as a button; `effect` says what happens, to ε too."""

    change: CampaignChange
    button: str
    effect: str
    first: bool = False
    destroys: bool = False

    def offered_at(self, path: str, text: str) -> OfferedAction:
        """The link to its page."""
        return OfferedAction(path, text, self.first, self.destroys)


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
        effect="Devices may answer from now on. The budget counts the whole ε that the question asks of a device, now "
        "and permanently, also if it is cancelled later.",
        first=True,
        applies=lambda status: status.state is CampaignState.READY,
    ),
    "close": CampaignAction(
        change=OF_CAMPAIGN["close"],
        button="Close",
        effect=f"Later reports are refused, and the answer is computed from those so far. {_KEEPS}",
        first=True,
        applies=lambda status: status.state is CampaignState.OPEN,
    ),
    "cancel": CampaignAction(
        change=OF_CAMPAIGN["cancel"],
        button="Cancel the question",
        effect="The question ends permanently and without an answer, and what was told of it is shown no more. Devices "
        "that answered have spent their ε. If it was open, the budget keeps its ε; one that never opened has asked "
        "nothing.",
        destroys=True,
        applies=lambda status: status.state in (CampaignState.READY, CampaignState.OPEN),
    ),
    "pause": CampaignAction(
        change=OF_CAMPAIGN["pause"],
        button="Pause",
        effect="Devices answer nothing, and reports are refused, until the series is resumed. "
        "Periods that pass meanwhile cost a device nothing.",
        first=True,
        applies=lambda status: _runs(status) and not _paused(status),
    ),
    "resume": CampaignAction(
        change=OF_CAMPAIGN["resume"],
        button="Resume",
        effect="Devices answer again, each at most as often as its terms say.",
        first=True,
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
        effect="The question and its upload tokens are deleted permanently. It never opened, so it has asked no ε.",
        destroys=True,
        applies=lambda status: status.state is CampaignState.READY,
    ),
}
ROUND_ACTIONS: Mapping[str, RoundAction] = {
    "close": RoundAction(
        change=OF_ROUND["close"],
        button="Close the round",
        effect="The round takes no more reports. A worker opens the next round with the ε that the manifest allows it; "
        f"after the last round it computes the answer and closes the question. {_KEEPS}",
        applies=lambda status, each: each.state is RoundState.OPEN and status.series is None,
    ),
    "retry": RoundAction(
        change=OF_ROUND["retry"],
        button="Retry",
        effect=f"A worker repeats the step that failed after this round was closed. {_NO_CHANGE}",
        first=True,
        applies=lambda status, each: each.error is not None,
    ),
}


def _runs(status: CampaignStatus) -> bool:
    return status.series is not None and status.state is CampaignState.OPEN


def _paused(status: CampaignStatus) -> bool:
    return status.series is not None and status.series.paused


def offered(status: CampaignStatus) -> list[OfferedAction]:
    """The pages of the actions that the campaign's state allows."""
    base = f"/console/campaigns/{status.id}"
    whole = [
        action.offered_at(f"{base}/actions/{path}", action.button)
        for path, action in ACTIONS.items()
        if action.applies(status)
    ]
    return whole + [
        action.offered_at(f"{base}/rounds/{each.index}/actions/{path}", f"{action.button}, round {each.index}")
        for each in status.rounds
        for path, action in ROUND_ACTIONS.items()
        if action.applies(status, each)
    ]
