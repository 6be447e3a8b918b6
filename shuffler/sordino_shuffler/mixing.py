"""The end of a round: floor, blanket and statement in one transaction, and one batch and no second."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from sordino_shuffler.errors import ReleasedBefore
from sordino_shuffler.released import Released
from sordino_shuffler.store import State, Store, StoredRound, id_of

# Devices resend a report for at most this long after its round; until then its id is known here.
KEEP_IDS_S = 30 * 86400
# A round that missed its floor tells how many took part only roughly: the statement is public.
_ROUNDED_TO = 10
# Of a large round so many reports are forgotten at once: uploads wait for a tenth of a second.
SLICE = 1 << 15
EMPTY_ROOT = hashlib.sha256(b"").digest()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a statement says of an ended round; `root` is SHA-256 of all ids in order."""

    received: int
    blanket: int
    root: bytes
    ended: str

    @property
    def reports(self) -> int:
        """Reports of the batch."""
        return 0 if self.ended != "time" else self.received + self.blanket


# The signed statement of a round with this outcome, as bytes.
Sign = Callable[[StoredRound, Outcome], bytes]


@dataclass(frozen=True)
class MixedCount:
    """The reports of devices in a round, and the root that they have with its blanket.

    `added` is what the writer's store had added to the round before they were counted.
    """

    received: int
    root: bytes
    added: int


def counted(store: Store, row: StoredRound, blanket: Iterable[bytes], added: int) -> MixedCount:
    """Count a round as it is now: about a microsecond a report, so beside the thread that writes."""
    digest, total, own = hashlib.sha256(), 0, sorted(map(id_of, blanket))
    for identity in merge(store.ids(row), own):
        digest.update(identity)
        total += 1
    return MixedCount(total - len(own), digest.digest(), added)


def root_of(ids: Iterable[bytes]) -> bytes:
    """SHA-256 of ids in ascending order."""
    digest = hashlib.sha256()
    for identity in ids:
        digest.update(identity)
    return digest.digest()


def mix(
    store: Store,
    released: Released,
    row: StoredRound,
    floor: int,
    blanket: Sequence[bytes],
    sign: Sign,
    known: MixedCount | None = None,
) -> StoredRound:
    """End a round that is collecting: `mixed` with its blanket and statement, or `missed` without.

    `known` was counted before, with this blanket; where a report came since, the round is counted again.

    `blanket` holds sealed reports that were drawn and sealed for this round as a device's are. A round that was
    released before, by a shuffler whose folder this is a copy of, is missed: a second batch would tell the blanket from
    the devices.
    """
    with store.transaction():
        row = store.round(row.campaign, row.number)
        if row.state is not State.COLLECTING:
            # An operator gave it up meanwhile.
            return row
        if known is None or known.added != store.added(row):
            known = counted(store, row, blanket, store.added(row))
        received = known.received
        if received >= floor and not blanket:
            # What came last met the floor after the blanket was found to be needless: once more, with one.
            return row
        if released.root(row.campaign, row.number) is not None or received < floor:
            _miss(store, row, received, "missed", sign)
        else:
            added = store.add(row, blanket)
            assert added.replayed == 0, "a blanket report was here before: its randomness is broken"
            outcome = Outcome(received=received, blanket=added.accepted, root=known.root, ended="time")
            store.move(row, State.MIXED, received=received, statement=sign(row, outcome))
    store.truncate_log()
    return store.round(row.campaign, row.number)


def give_up(store: Store, row: StoredRound, ended: str, sign: Sign) -> StoredRound:
    """End a round without a batch, `missed` or `abandoned`: its sealed reports are to be deleted (`forget_missed`)."""
    with store.transaction():
        row = store.round(row.campaign, row.number)
        received = store.count(row) if row.received is None else row.received
        _miss(store, row, received, ended, sign)
    return store.round(row.campaign, row.number)


def may_leave(store: Store, released: Released, row: StoredRound, sign: Sign) -> bool:
    """Whether pages of a mixed round may be sent; written down, and synced, before the first one is.

    A round with another batch than the one that was released is missed.
    """
    try:
        released.claim(row.campaign, row.number, root_of(store.ids(row)))
    except ReleasedBefore:
        give_up(store, row, "missed", sign)
        return False
    return True


def _miss(store: Store, row: StoredRound, received: int, ended: str, sign: Sign) -> None:
    rounded = received // _ROUNDED_TO * _ROUNDED_TO
    outcome = Outcome(received=rounded, blanket=0, root=EMPTY_ROOT, ended=ended)
    store.move(row, State.MISSED, received=rounded, statement=sign(row, outcome))


def forget_missed(store: Store, row: StoredRound) -> bool:
    """Delete some sealed reports of a missed round unopened; returns whether there may be more."""
    assert row.state is State.MISSED
    with store.transaction():
        return store.forget(row, SLICE) == SLICE


def deliver(store: Store, row: StoredRound, now: int) -> None:
    """The collector has the whole batch and its bodies are forgotten; ids stay for devices that ask again."""
    store.move(row, State.DELIVERED, stated=True, delete_at=now + KEEP_IDS_S)
    store.truncate_log()


def stated(store: Store, row: StoredRound, now: int) -> None:
    """The collector has the statement of a round that released nothing."""
    store.note_stated(row, now + KEEP_IDS_S)


def purge(store: Store, now: int) -> bool:
    """Delete some reports of a missed round, or ids of one whose time is over; returns whether there may be more."""
    for row in store.rounds():
        if row.state is State.MISSED and store.page(row, None, 1):
            # What missed it died before all were deleted.
            forget_missed(store, row)
            return True
        if row.state in (State.DELIVERED, State.MISSED) and row.delete_at is not None and row.delete_at <= now:
            with store.transaction():
                # Another program may have deleted them meanwhile: an operator's `purge`, say.
                row = store.round(row.campaign, row.number)
                if row.state is not State.DELETED and not store.forget(row, SLICE):
                    store.move(row, State.DELETED)
            return True
    store.truncate_log()
    return False
