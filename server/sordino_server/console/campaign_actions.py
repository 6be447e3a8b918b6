"""What an operator may do with a campaign, what each action does to ε, and in which state it is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.schemas import CampaignStatus, RoundStatus
from sordino_server.console.rendering import Link
from sordino_server.context import Context
from sordino_shared.protocol import CampaignState, RoundState

_KEEPS = "The ledger of the population keeps the ε of this campaign: what was asked of devices is not given back."
_NO_CHANGE = "It changes no ε."


@dataclass(frozen=True, kw_only=True)
class Target:
    """The campaign, and the round of an action on one, that an operator chose."""

    context: Context
    campaign: str
    index: int = 0


@dataclass(frozen=True, kw_only=True)
class Action:
    """`name` is that of the audit log; `effect` says what happens, to ε too."""

    name: str
    button: str
    effect: str
    change: Callable[[Session, Target, int], object]


@dataclass(frozen=True, kw_only=True)
class CampaignAction(Action):
    """On a whole campaign, where it `applies`."""

    applies: Callable[[CampaignStatus], bool]


@dataclass(frozen=True, kw_only=True)
class RoundAction(Action):
    """On a round, where it `applies`."""

    applies: Callable[[CampaignStatus, RoundStatus], bool]


def _open(session: Session, target: Target, now: int) -> None:
    context = target.context
    campaigns.open_campaign(context.database, session, target.campaign, now, context.settings.population_mode)


ACTIONS: Mapping[str, CampaignAction] = {
    "open": CampaignAction(
        name="open campaign",
        button="Open",
        effect="Devices may answer from now on. The ledger of the population counts the whole ε that the campaign asks "
        "of a device, now and permanently, also if the campaign is cancelled later.",
        change=_open,
        applies=lambda status: status.state is CampaignState.READY,
    ),
    "close": CampaignAction(
        name="close campaign",
        button="Close",
        effect=f"Later reports are refused, and a worker computes the estimate from the rounds so far. {_KEEPS}",
        change=lambda session, target, now: campaigns.close_campaign(
            target.context.database, session, target.campaign, now
        ),
        applies=lambda status: status.state is CampaignState.OPEN,
    ),
    "cancel": CampaignAction(
        name="cancel campaign",
        button="Cancel the campaign",
        effect="The campaign ends permanently and without an estimate. Devices that answered have spent their ε. If it "
        "was open, the ledger of the population keeps its ε; a campaign that never opened has asked nothing.",
        change=lambda session, target, now: campaigns.cancel_campaign(
            target.context.database, session, target.campaign, now
        ),
        applies=lambda status: status.state in (CampaignState.READY, CampaignState.OPEN),
    ),
    "pause": CampaignAction(
        name="pause series",
        button="Pause",
        effect="Devices answer nothing, and reports are refused, until the series is resumed. "
        "Periods that pass meanwhile cost a device nothing.",
        change=lambda session, target, now: campaigns.pause_series(session, target.campaign, now),
        applies=lambda status: _runs(status) and not _paused(status),
    ),
    "resume": CampaignAction(
        name="resume series",
        button="Resume",
        effect="Devices answer again, each at most as often as its terms say.",
        change=lambda session, target, now: campaigns.resume_series(session, target.campaign, now),
        applies=lambda status: _runs(status) and _paused(status),
    ),
    "archive": CampaignAction(
        name="archive campaign",
        button="Archive",
        effect=f"It is marked as archived, and nothing is deleted. {_NO_CHANGE}",
        change=lambda session, target, now: campaigns.archive(session, target.campaign, now),
        applies=lambda status: status.state is not CampaignState.OPEN and status.archived_at is None,
    ),
    "restore": CampaignAction(
        name="restore campaign",
        button="Restore",
        effect=f"It is no longer marked as archived. {_NO_CHANGE}",
        change=lambda session, target, now: campaigns.restore(session, target.campaign),
        applies=lambda status: status.archived_at is not None,
    ),
    "delete": CampaignAction(
        name="delete campaign",
        button="Delete",
        effect="The campaign and its upload tokens are deleted permanently. It never opened, so it has asked no ε.",
        change=lambda session, target, now: campaigns.delete(session, target.campaign),
        applies=lambda status: status.state is CampaignState.READY,
    ),
}
ROUND_ACTIONS: Mapping[str, RoundAction] = {
    "close": RoundAction(
        name="close round",
        button="Close the round",
        effect="The round takes no more reports. A worker opens the next round with the ε that the manifest allows it; "
        f"after the last round it computes the estimate and closes the campaign. {_KEEPS}",
        change=lambda session, target, now: campaigns.close_round(
            target.context.database, session, target.campaign, target.index, now
        ),
        applies=lambda status, each: each.state is RoundState.OPEN and status.series is None,
    ),
    "retry": RoundAction(
        name="retry round",
        button="Retry",
        effect=f"A worker repeats the step that failed after this round was closed. {_NO_CHANGE}",
        change=lambda session, target, now: campaigns.retry_round(
            target.context.database, session, target.campaign, target.index
        ),
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
