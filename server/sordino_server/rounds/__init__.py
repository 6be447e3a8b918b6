"""Rounds: which of them take reports, and when that ends."""

from sordino_server.rounds.repository import RoundName, count_by_state, find, lock_for_reports, of_campaign
from sordino_server.rounds.service import (
    MAX_ATTEMPTS,
    RoundNotFound,
    cancel_round,
    claim_closed_round,
    close_round,
    give_back,
    mark_estimated,
    mark_failed,
    open_round,
    retry_round,
)

__all__ = [
    "MAX_ATTEMPTS",
    "RoundName",
    "RoundNotFound",
    "cancel_round",
    "claim_closed_round",
    "close_round",
    "count_by_state",
    "find",
    "give_back",
    "lock_for_reports",
    "mark_estimated",
    "mark_failed",
    "of_campaign",
    "open_round",
    "retry_round",
]
