"""The rows of one owner: who it is, what was drawn for it, what it spent; in a caller's transaction."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from sordino_client._accounting import Spending
from sordino_client._arms import drawn_arm
from sordino_client._errors import WrongArgument
from sordino_client._series_rows import SeriesState
from sordino_client.backend._databases import StoreDatabase
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId, Manifest, Rotating
from sordino_shared.randomness import Randomness

KEY_BYTES = 32
_LONGEST_NAME = 200


@dataclass(frozen=True)
class OwnerRow:
    """An owner: the row's number, the highest time of a debit, when it left all campaigns (None: it did not)."""

    number: int
    high_water: int
    left_at: int | None


class OwnerRandomness(Randomness):
    """What is drawn once for an owner in a campaign, from the store's key: it needs no row, and never changes.

    Draw n is the start of SHAKE-256(key ‖ `sordino store draw` ‖ the owner's hash ‖ campaign ‖ n).
    """

    def __init__(self, key: bytes, name_hash: bytes, campaign: CampaignId) -> None:
        self._seed = key + b"sordino store draw" + name_hash + bytes(campaign)
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(self._seed + self._drawn.to_bytes(8, "big")).digest(count)


def hash_of(key: bytes, name: object) -> bytes:
    """HMAC-SHA-256 of an owner's name under the store's key: the database holds no names."""
    if not isinstance(name, str) or not 0 < len(name.encode(errors="surrogatepass")) <= _LONGEST_NAME:
        shown = repr(name) if isinstance(name, str) and len(name) < _LONGEST_NAME else type(name).__name__
        raise WrongArgument(f"an owner's name is text of 1 to {_LONGEST_NAME} bytes in UTF-8, got {shown}")
    return hmac.digest(key, b"owner\0" + name.encode(errors="surrogatepass"), "sha256")


def locked(database: StoreDatabase, name_hash: bytes) -> OwnerRow:
    """The owner's row, made if there is none, and locked to the end of the transaction."""
    found = _found(database, name_hash, database.locking)
    if found is None:
        database.run("INSERT INTO owners (name_hash) VALUES (?) ON CONFLICT DO NOTHING", name_hash)
        found = _found(database, name_hash, database.locking)
    assert found is not None
    return found


def known(database: StoreDatabase, name_hash: bytes, locking: str = "") -> OwnerRow | None:
    """The owner's row, None where there is none; with the database's `locking` nobody answers for it meanwhile."""
    return _found(database, name_hash, locking)


def _found(database: StoreDatabase, name_hash: bytes, locking: str) -> OwnerRow | None:
    rows = database.rows(f"SELECT number, high_water, left_at FROM owners WHERE name_hash = ?{locking}", name_hash)
    return OwnerRow(*rows[0]) if rows else None


def spending(database: StoreDatabase, owner: int, campaign: int | None, since: int) -> Spending:
    """Nano-ε of an owner: in one campaign, after `since`, and for life."""
    [row] = database.rows(
        "SELECT coalesce(sum(CASE WHEN campaign = ? THEN nano ELSE 0 END), 0),"
        " coalesce(sum(CASE WHEN at > ? THEN nano ELSE 0 END), 0), coalesce(sum(nano), 0)"
        " FROM answers WHERE owner = ?",
        campaign if campaign is not None else -1,
        since,
        owner,
    )
    return Spending(*(int(nano) for nano in row))


def left(database: StoreDatabase, owner: OwnerRow, campaign: CampaignId) -> bool:
    """Whether the owner left this campaign, or all."""
    if owner.left_at is not None:
        return True
    # A statement of its own: the one that waits for the owner's row sees this table as it was before the wait.
    return bool(database.rows("SELECT 1 FROM opt_outs WHERE owner = ? AND campaign = ?", owner.number, bytes(campaign)))


def series_state(
    database: StoreDatabase, owner: int, campaign: int, law: Rotating, phase: int, ended: bool
) -> SeriesState:
    """What an owner's next answer in a series waits for, from its answers alone."""
    [row] = database.rows(
        "SELECT count(*), max(round), max(at) FROM answers WHERE owner = ? AND campaign = ?", owner, campaign
    )
    answers, last, at = row
    return SeriesState(
        phase=phase,
        answers=answers,
        next_period=0 if last is None else last + law.slots,
        next_at=0 if at is None else at + law.pause_s - law.late_s,
        ended=ended,
        replaced_by=None,
    )


def arm_of(manifest: Manifest, randomness: OwnerRandomness) -> int | None:
    """The owner's arm; None without arms."""
    return drawn_arm(manifest.arms, randomness) if manifest.arms else None


def row_of(database: StoreDatabase, owner: int, campaign: int, number: int) -> tuple[Any, ...] | None:
    """The answer to a round, None where there is none."""
    rows = database.rows(
        "SELECT nano, at, state FROM answers WHERE owner = ? AND campaign = ? AND round = ?", owner, campaign, number
    )
    return rows[0] if rows else None
