"""What a monitor makes of a log's `key` entries: which keys it accepts, and which have to sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sordino_shared._records import replace
from sordino_shared.protocol.log_keys import KEY_OVERLAP_S, MAX_LOG_KEYS, LogPins, NoteKey
from sordino_shared.protocol.log_notes import Checkpoint

# A verifier key, and when its entry named it, in Unix seconds.
Named = tuple[str, int]


def followed(pins: LogPins, named: Sequence[Named]) -> LogPins:
    """The pins with the keys that the log named since, each in a tree that a key before it signed."""
    first, *others = _in_order(pins, named)[-MAX_LOG_KEYS:]
    return replace(pins, log=first, others=tuple(others))


def unsigned(pins: LogPins, named: Sequence[Named], note: Checkpoint, now: int) -> Iterator[str]:
    """Which keys should have signed a checkpoint and did not: the newest, and for 30 days the one before it."""
    order, since = _in_order(pins, named), dict(named)
    if named and not order[-1].signed(note):
        yield f"the log named its next key {order[-1]} and does not sign with it"
    for before, key in pairwise(order):
        if now < since.get(str(key), -KEY_OVERLAP_S) + KEY_OVERLAP_S and not before.signed(note):
            yield f"the log named its next key {key} less than 30 days ago, and {before} signs no more"


def _in_order(pins: LogPins, named: Sequence[Named]) -> list[NoteKey]:
    """Pinned keys that no entry names, then the others by their entries."""
    known = {key for key, _ in named}
    return [*(key for key in pins.keys if str(key) not in known), *(NoteKey.parse(key) for key, _ in named)]
