"""States of campaigns and rounds, and the only transitions there are."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from sordino_shared.errors import SordinoError


class CampaignState(StrEnum):
    """A campaign is ready once its plan is published; cancelled and closed are final."""

    READY = "ready"
    OPEN = "open"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class RoundState(StrEnum):
    """A round takes reports while open; once estimated, what came of it never changes.

    That is the estimate after the last round, and the plan of the next round after any other.
    """

    PENDING = "pending"
    OPEN = "open"
    CLOSED = "closed"
    ESTIMATED = "estimated"
    CANCELLED = "cancelled"


CAMPAIGN_TRANSITIONS: Mapping[CampaignState, frozenset[CampaignState]] = {
    CampaignState.READY: frozenset({CampaignState.OPEN, CampaignState.CANCELLED}),
    CampaignState.OPEN: frozenset({CampaignState.CLOSED, CampaignState.CANCELLED}),
    CampaignState.CLOSED: frozenset(),
    CampaignState.CANCELLED: frozenset(),
}

ROUND_TRANSITIONS: Mapping[RoundState, frozenset[RoundState]] = {
    RoundState.PENDING: frozenset({RoundState.OPEN, RoundState.CANCELLED}),
    RoundState.OPEN: frozenset({RoundState.CLOSED, RoundState.CANCELLED}),
    RoundState.CLOSED: frozenset({RoundState.ESTIMATED, RoundState.CANCELLED}),
    RoundState.ESTIMATED: frozenset(),
    RoundState.CANCELLED: frozenset(),
}


class IllegalTransition(SordinoError):
    """A state change that the table does not list; `current` and `wanted` are the states."""

    code = "illegal-transition"
    advice = "read the state again, and ask for a change that it allows"

    def __init__(self, current: StrEnum, wanted: StrEnum) -> None:
        super().__init__(f"cannot go from {current.value} to {wanted.value}")
        self.current = current
        self.wanted = wanted


def check_campaign_transition(current: CampaignState, wanted: CampaignState) -> None:
    """Raise `IllegalTransition` unless the table lists the change."""
    if wanted not in CAMPAIGN_TRANSITIONS[current]:
        raise IllegalTransition(current, wanted)


def check_round_transition(current: RoundState, wanted: RoundState) -> None:
    """Raise `IllegalTransition` unless the table lists the change."""
    if wanted not in ROUND_TRANSITIONS[current]:
        raise IllegalTransition(current, wanted)
