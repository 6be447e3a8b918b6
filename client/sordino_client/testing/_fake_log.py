"""The public log of a `FakeServer`: a tree of a few entries, signed by keys that everybody knows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sordino_shared.ed25519 import _L, times_base
from sordino_shared.protocol import Digest, LogEntry
from sordino_shared.protocol.log_days import MAX_DAYS, LogDay, days_text
from sordino_shared.protocol.log_keys import LOG_KIND, WITNESS_KIND, NoteKey, cosigned_message, signature_line
from sordino_shared.protocol.log_notes import checkpoint_text
from sordino_shared.protocol.log_proofs import proof_text
from sordino_shared.protocol.log_tree import leaf_hash, node_hash

DAY_S = 86_400


class PlainSigner:
    """Signs with Ed25519 in plain Python (RFC 8032, section 5.1.6), for keys of tests: nothing here is secret."""

    def __init__(self, name: str, kind: int, seed: bytes) -> None:
        drawn = hashlib.sha512(seed).digest()
        self._secret = int.from_bytes(drawn[:32], "little") & ((1 << 254) - 8) | 1 << 254
        self._prefix = drawn[32:]
        self.key = NoteKey(name, kind, times_base(self._secret))

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        nonce = int.from_bytes(hashlib.sha512(self._prefix + message).digest(), "little") % _L
        first = times_base(nonce)
        k = int.from_bytes(hashlib.sha512(first + self.key.key + message).digest(), "little")
        return first + ((nonce + k * self._secret) % _L).to_bytes(32, "little")


class FakeLog:
    """Entries in the order in which they came, with the first checkpoint of each day, seen by one witness."""

    def __init__(self, address: str) -> None:
        name = address.partition("://")[2]
        self._signer = PlainSigner(f"{name}/log", LOG_KIND, bytes(32))
        self._witness = PlainSigner(f"{name}/witness", WITNESS_KIND, bytes([1]) * 32)
        self._entries: list[bytes] = []
        self._days: list[tuple[int, int]] = []
        self._grown_at = 0

    @property
    def key(self) -> str:
        """The verifier key of the log."""
        return str(self._signer.key)

    @property
    def witness(self) -> str:
        """The verifier key of its witness."""
        return str(self._witness.key)

    def add(self, entry: LogEntry) -> int:
        """The index of an entry, which is written unless it is there."""
        content = entry.content
        if content not in self._entries:
            self._entries.append(content)
            self._grown_at = max(self._grown_at, entry.at)
            day = self._grown_at // DAY_S
            if not self._days or self._days[-1][0] < day:
                self._days.append((day, len(self._entries)))
        return self._entries.index(content)

    def proof(self, index: int) -> str:
        """The proof that the entry of an index is in the log."""
        return proof_text(self._entries[index], index, _inclusion(index, self._leaves()), self._note())

    def days(self) -> str:
        """The list of days."""
        leaves = self._leaves()
        listed = [
            LogDay(day, size, _root(leaves[:size]), tuple(_consistency(size, leaves)))
            for day, size in self._days[-MAX_DAYS:]
        ]
        return days_text(listed, self._note())

    def _leaves(self) -> list[Digest]:
        return [leaf_hash(each) for each in self._entries]

    def _note(self) -> str:
        text = checkpoint_text(self._signer.key.name, len(self._entries), _root(self._leaves()))
        signed = signature_line(self._signer.key, self._signer.sign(text.encode()))
        cosignature = self._witness.sign(cosigned_message(text, self._grown_at))
        time = self._grown_at.to_bytes(8, "big")
        return f"{text}\n{signed}{signature_line(self._witness.key, time + cosignature)}"


def _cut(leaves: Sequence[Digest]) -> int:
    """The largest power of two below the number of leaves."""
    return 1 << (len(leaves) - 1).bit_length() - 1


def _root(leaves: Sequence[Digest]) -> Digest:
    """RFC 6962, section 2.1, by its recursion."""
    if len(leaves) == 1:
        return leaves[0]
    cut = _cut(leaves)
    return node_hash(_root(leaves[:cut]), _root(leaves[cut:]))


def _inclusion(index: int, leaves: Sequence[Digest]) -> list[Digest]:
    """RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    cut = _cut(leaves)
    if index < cut:
        return [*_inclusion(index, leaves[:cut]), _root(leaves[cut:])]
    return [*_inclusion(index - cut, leaves[cut:]), _root(leaves[:cut])]


def _consistency(first: int, leaves: Sequence[Digest], whole: bool = True) -> list[Digest]:
    """RFC 6962, section 2.1.2."""
    if first == len(leaves):
        return [] if whole else [_root(leaves)]
    cut = _cut(leaves)
    if first <= cut:
        return [*_consistency(first, leaves[:cut], whole), _root(leaves[cut:])]
    return [*_consistency(first - cut, leaves[cut:], False), _root(leaves[:cut])]
