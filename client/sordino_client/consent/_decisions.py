"""What the owner decided, as rows of the ledger: for which campaigns, when, and about which text. It is never sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from sordino_client._clock import LATEST_S
from sordino_client._marks import left_all_at
from sordino_client._storage import MEMORY, Storage, blob, whole
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId


@dataclass(frozen=True)
class Decision:
    """The last decision about a campaign: whether it is on, from when, and the SHA-256 of the text that was shown."""

    on: bool
    at: int
    text: bytes


@dataclass(frozen=True)
class Decided:
    """What a ledger says: decisions by campaign, when the owner left all, when each text was shown."""

    by_campaign: dict[CampaignId, Decision]
    left_at: int | None
    shown_at: dict[str, int]


NOTHING = Decided({}, None, {})
_SHOWN = "consent asked "


def read_decisions(ledger: Path | str) -> Decided:
    """What was decided; reads nothing and creates nothing where there is no ledger. Raises `LedgerUnavailable`."""
    if str(ledger) == MEMORY or not Path(ledger).exists():
        return NOTHING
    storage = Storage(ledger)
    try:
        with storage.read() as connection:
            rows = connection.execute("SELECT campaign, decision, at, text FROM consent ORDER BY number").fetchall()
            marks = connection.execute("SELECT name, value FROM marks WHERE name LIKE ?", (f"{_SHOWN}%",)).fetchall()
            return Decided(
                {CampaignId(blob(row[0])): Decision(row[1] == "on", whole(row[2]), blob(row[3])) for row in rows},
                left_all_at(connection),
                {name.removeprefix(_SHOWN): whole(value, LATEST_S) for name, value in marks},
            )
    finally:
        storage.close()


def decide(ledger: Path | str, campaigns: Iterable[CampaignId], on: bool, at: int, text: str) -> None:
    """Write a decision about campaigns, after `text` was shown; it holds from `at` on."""
    word = "on" if on else "off"
    storage = Storage(_with_folder(ledger))
    try:
        with storage.write() as connection:
            connection.executemany(
                "INSERT INTO consent (campaign, decision, at, text) VALUES (?, ?, ?, ?)",
                [(bytes(campaign), word, at, digest_of(text)) for campaign in campaigns],
            )
    finally:
        storage.close()


def mark_shown(ledger: Path | str, text: str, at: int) -> None:
    """Remember that a text was shown."""
    storage = Storage(_with_folder(ledger))
    try:
        with storage.write() as connection:
            connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (_SHOWN + digest_of(text).hex(), at))
    finally:
        storage.close()


def digest_of(text: str) -> bytes:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).digest()


def _with_folder(ledger: Path | str) -> Path | str:
    """The ledger's path, its folder made for the owner alone where it is missing."""
    if str(ledger) != MEMORY:
        Path(ledger).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return ledger
