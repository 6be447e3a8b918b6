"""Rounds: which of them take reports, when that ends and what comes of them."""

from sordino_server.rounds.repository import (
    EPOCHS,
    REPORTS_PER_EPOCH,
    RoundName,
    count_by_state,
    current_epoch,
    epochs_begun,
    find,
    lock_for_reports,
    of_campaign,
    oldest_waiting,
)
from sordino_server.rounds.round_lifecycle import (
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
    "EPOCHS",
    "MAX_ATTEMPTS",
    "REPORTS_PER_EPOCH",
    "RoundName",
    "RoundNotFound",
    "cancel_round",
    "claim_closed_round",
    "close_round",
    "count_by_state",
    "current_epoch",
    "epochs_begun",
    "find",
    "give_back",
    "lock_for_reports",
    "mark_estimated",
    "mark_failed",
    "of_campaign",
    "oldest_waiting",
    "open_round",
    "retry_round",
]
