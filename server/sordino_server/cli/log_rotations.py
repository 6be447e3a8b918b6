"""What a monitor makes of a log's `key` entries: which keys it accepts, and which have to sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sordino_shared._records import replace
from sordino_shared.ed25519 import is_point
from sordino_shared.protocol import LogEntry
from sordino_shared.protocol.log_entries import LoggedKey
from sordino_shared.protocol.log_keys import KEY_OVERLAP_S, LOG_KIND, MAX_LOG_KEYS, LogPins, NoteKey
from sordino_shared.protocol.log_notes import Checkpoint

# A verifier key, and when its entry named it, in Unix seconds.
Named = tuple[str, int]


def followed(pins: LogPins, named: Sequence[Named]) -> LogPins:
    """The pins with the keys that the log named since, each in a tree that the key before it signed."""
    known = {key for key, _ in named}
    order = [*(key for key in pins.keys if str(key) not in known), *map(_key, named)]
    first, *others = order[-MAX_LOG_KEYS:]
    return replace(pins, log=first, others=tuple(others))


def usable(named: Sequence[Named], entries: Sequence[LogEntry], origin: str) -> list[Named]:
    """The next keys of new entries, without those that are none and those that were named before."""
    found: dict[str, int] = {}
    for each in _key_entries(entries):
        if is_point(each.subject):
            found.setdefault(str(NoteKey(origin, LOG_KIND, each.subject)), each.at)
    return [each for each in found.items() if each[0] not in dict(named)]


def misnamed(pins: LogPins, named: Sequence[Named], entries: Sequence[LogEntry], note: Checkpoint) -> Iterator[str]:
    """What is wrong with the next keys of new entries; `named` are the keys of earlier ones.

    The key before signs the tree with the entry, also where the entry says that this is long ago: else a thief of
    an older key could name the next one. A monitor that was away for the 30 days is given the new key by a person.
    """
    fresh = usable(named, entries, note.origin)
    if len(fresh) < len(_key_entries(entries)):
        yield "the log names a next key that is no Ed25519 key, or that it named before"
    before = _key(named[-1]) if named else pins.log
    given = {str(key) for key in pins.keys}
    if fresh and not given & {key for key, _ in fresh} and not before.signed(note):
        yield f"the log names its next key {fresh[-1][0]} in a tree that {before}, the key before, does not sign"


def unsigned(pins: LogPins, named: Sequence[Named], note: Checkpoint, now: int) -> Iterator[str]:
    """Which keys should have signed a checkpoint and did not: the newest, and for 30 days the one before it."""
    since, order = dict(named), list(map(_key, named))
    if named and not order[-1].signed(note):
        yield f"the log named its next key {order[-1]} and does not sign with it"
    # The log's first key is named by no entry. Other pinned keys that are not named are yet to come.
    first = [] if str(pins.log) in since else [pins.log]
    for before, key in pairwise([*first, *order]):
        if now < since[str(key)] + KEY_OVERLAP_S and not before.signed(note):
            yield f"the log named its next key {key} less than 30 days ago, and {before} signs no more"


def _key_entries(entries: Sequence[LogEntry]) -> list[LogEntry]:
    return [each for each in entries if isinstance(each.event, LoggedKey)]


def _key(named: Named) -> NoteKey:
    return NoteKey.parse(named[0])
