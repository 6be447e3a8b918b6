"""What the owner decided, as rows of the ledger: for which campaigns, when, and about which text. It is never sent."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from sordino_client._clock import LATEST_S
from sordino_client._errors import LedgerUnavailable
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
    """What a ledger says: decisions by campaign, when the owner left all, when each question and notice was shown."""

    by_campaign: dict[CampaignId, Decision]
    left_at: int | None
    asked_at: dict[str, int]
    told_at: dict[str, int]

    def was_shown(self, text: str) -> bool:
        """Whether this question or notice was shown."""
        return digest_of(text).hex() in self.asked_at | self.told_at

    def follows_notice(self, decision: Decision) -> bool:
        """Whether a notice was shown in place of a question, in whatever language and words it was."""
        return decision.text.hex() in self.told_at


NOTHING = Decided({}, None, {}, {})
_ASKED, _TOLD = "consent asked ", "consent told "


def read_decisions(ledger: Path | str) -> Decided:
    """What was decided; reads nothing and creates nothing where there is no ledger. Raises `LedgerUnavailable`."""
    if str(ledger) == MEMORY or not Path(ledger).exists():
        return NOTHING
    storage = Storage(ledger)
    try:
        with storage.read() as connection:
            rows = connection.execute("SELECT campaign, decision, at, text FROM consent ORDER BY number").fetchall()
            return Decided(
                {CampaignId(blob(row[0])): Decision(row[1] == "on", whole(row[2]), blob(row[3])) for row in rows},
                left_all_at(connection),
                _shown(connection, _ASKED),
                _shown(connection, _TOLD),
            )
    finally:
        storage.close()


def decide(
    ledger: Path | str, campaigns: Iterable[CampaignId], on: bool, at: int, text: str, told_at: int | None = None
) -> None:
    """Write a decision about campaigns, after `text` was shown; it holds from `at` on.

    `told_at` is when a notice was shown, None where the owner decided.
    """
    word = "on" if on else "off"
    storage = Storage(_with_folder(ledger))
    try:
        with storage.write() as connection:
            connection.executemany(
                "INSERT INTO consent (campaign, decision, at, text) VALUES (?, ?, ?, ?)",
                [(bytes(campaign), word, at, digest_of(text)) for campaign in campaigns],
            )
            if told_at is not None:
                _mark(connection, _TOLD, text, told_at)
    finally:
        storage.close()


def mark_shown(ledger: Path | str, text: str, at: int) -> None:
    """Remember that a question was shown."""
    storage = Storage(_with_folder(ledger))
    try:
        with storage.write() as connection:
            _mark(connection, _ASKED, text, at)
    finally:
        storage.close()


def digest_of(text: str) -> bytes:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).digest()


def _mark(connection: sqlite3.Connection, kind: str, text: str, at: int) -> None:
    connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", (kind + digest_of(text).hex(), at))


def _shown(connection: sqlite3.Connection, kind: str) -> dict[str, int]:
    rows = connection.execute("SELECT name, value FROM marks WHERE name LIKE ?", (f"{kind}%",)).fetchall()
    return {name.removeprefix(kind): whole(value, LATEST_S) for name, value in rows}


def _with_folder(ledger: Path | str) -> Path | str:
    """The ledger's path, its folder made for the owner alone where it is missing. Raises `LedgerUnavailable`."""
    if str(ledger) != MEMORY:
        try:
            Path(ledger).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = f"its folder cannot be made ({error.strerror or error})"
            raise LedgerUnavailable(str(ledger), reason, "give the app a folder that it may write in") from error
    return ledger
