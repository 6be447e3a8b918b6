"""What becomes of each report of one round: new, replayed, or refused and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_server import rounds
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.reports import repository
from sordino_server.tokens.redemption import ReportTokens
from sordino_server.tokens.repository import spend
from sordino_shared.protocol import Refusal, RefusedReport, ReportId, ReportOutcomes
from sordino_shared.randomizers import AnyRandomizer

HASH_BYTES = 16
_NARROW = 2


class Verdict(IntEnum):
    """One report's fate."""

    ACCEPTED = 0
    REPLAYED = 1
    ID_CONFLICT = 2
    OUTSIDE_ALPHABET = 3
    WRONG_EPOCH = 4
    ROUND_FULL = 5
    TOKEN_INVALID = 6
    TOKEN_SPENT = 7


_REFUSALS = {
    Verdict.ID_CONFLICT: Refusal.ID_CONFLICT,
    Verdict.OUTSIDE_ALPHABET: Refusal.OUTSIDE_ALPHABET,
    Verdict.WRONG_EPOCH: Refusal.WRONG_EPOCH,
    Verdict.ROUND_FULL: Refusal.ROUND_FULL,
    Verdict.TOKEN_INVALID: Refusal.TOKEN_INVALID,
    Verdict.TOKEN_SPENT: Refusal.TOKEN_SPENT,
}


def content_hash(payload: bytes) -> bytes:
    """The first 16 bytes of SHA-256, of a payload or of one and its arm: equal for a replay, another for a conflict."""
    return hashlib.sha256(payload).digest()[:HASH_BYTES]


@lru_cache(maxsize=1 << 16)
def _narrow_hash(payload: bytes) -> bytes:
    """Payloads of a byte or two come again and again, and looking up is ten times as fast as hashing."""
    return content_hash(payload)


@dataclass(frozen=True, eq=False)
class Classified:
    """(n,) verdicts in the order of the reports."""

    verdicts: NDArray[np.int8]

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """(n,) whether a report is new and counts."""
        mask: NDArray[np.bool_] = self.verdicts == Verdict.ACCEPTED
        return mask

    def outcomes(self, start: int, stop: int) -> ReportOutcomes:
        """The answer to the request whose reports are start…stop−1."""
        part = self._codes[start:stop]
        accepted, replayed = part.count(Verdict.ACCEPTED), part.count(Verdict.REPLAYED)
        if accepted + replayed == len(part):
            return _all_held(accepted, replayed)
        refused = (
            RefusedReport(index, _REFUSALS[Verdict(code)]) for index, code in enumerate(part) if code > Verdict.REPLAYED
        )
        return ReportOutcomes(accepted, replayed, tuple(refused))

    @cached_property
    def _codes(self) -> list[int]:
        # Most requests hold one report: slices of a list cost a tenth of an array's.
        codes: list[int] = self.verdicts.tolist()
        return codes

    def refusals(self) -> Counter[Refusal]:
        """How many reports were refused, by reason."""
        codes, counts = np.unique(self.verdicts[self.verdicts > Verdict.REPLAYED], return_counts=True)
        return Counter({_REFUSALS[Verdict(int(code))]: int(count) for code, count in zip(codes, counts, strict=True)})


@lru_cache(maxsize=1024)
def _all_held(accepted: int, replayed: int) -> ReportOutcomes:
    """Cached encoding of the most common answer; encoding it again would cost as much as reading the request."""
    return ReportOutcomes(accepted, replayed, ())


def classify(
    database: Database,
    session: Session,
    row: Round,
    randomizer: AnyRandomizer,
    ids: bytes,
    payloads: NDArray[np.uint8],
    arm: int = 0,
    tokens: ReportTokens | None = None,
) -> Classified:
    """Verdicts of n reports of an arm, whose new ids are inserted: of one id the first wins, here and across requests.

    The ids come end to end, the payloads as (n, width). With `tokens`, one report counts for each.
    """
    verdicts = np.full(len(payloads), Verdict.ACCEPTED, dtype=np.int8)
    if payloads.shape[1] == randomizer.payload_bytes:
        verdicts[~in_alphabet(randomizer, payloads)] = Verdict.OUTSIDE_ALPHABET
    else:
        verdicts[:] = Verdict.OUTSIDE_ALPHABET
    heads = np.frombuffer(ids, dtype=">u2").reshape(-1, ReportId.LENGTH // 2)[:, 0]
    if (heads != row.epoch).any():
        ages = (heads.astype(np.int64) - row.epoch) % rounds.EPOCHS
        verdicts[ages >= rounds.epochs_begun(session, row)] = Verdict.WRONG_EPOCH
    split = [ids[start : start + ReportId.LENGTH] for start in range(0, len(ids), ReportId.LENGTH)]
    if rounds.is_full(session, row):
        known = repository.known_hashes(session, row.id, set(split))
        verdicts[(verdicts == Verdict.ACCEPTED) & [each not in known for each in split]] = Verdict.ROUND_FULL
    if tokens is not None:
        _classify_tokens(database, session, row.id, split, tokens, verdicts)
    _classify_ids(database, session, row.id, split, payloads, verdicts, arm)
    return Classified(verdicts)


def _classify_tokens(
    database: Database,
    session: Session,
    round_id: int,
    ids: list[bytes],
    tokens: ReportTokens,
    verdicts: NDArray[np.int8],
) -> None:
    """Spend the tokens of reports that may count. One that was spent before is a replay's, if its id was counted."""
    verdicts[(verdicts == Verdict.ACCEPTED) & ~np.array(tokens.valid, dtype=bool)] = Verdict.TOKEN_INVALID
    candidates = np.flatnonzero(verdicts == Verdict.ACCEPTED).tolist()
    first: dict[bytes, int] = {}
    for index in candidates:
        first.setdefault(tokens.secrets[index], index)
    new = spend(database, session, round_id, first.keys())
    again = [index for index in candidates if tokens.secrets[index] not in new]
    # Read once the tokens are ours or another transaction's that has ended: its ids are there, too.
    known = repository.known_hashes(session, round_id, {ids[index] for index in again}) if again else {}
    for index in candidates:
        secret = tokens.secrets[index]
        holder = first[secret]
        replayed = ids[index] == ids[holder] if secret in new else ids[index] in known
        if not replayed:
            verdicts[index] = Verdict.TOKEN_SPENT


def _classify_ids(
    database: Database,
    session: Session,
    round_id: int,
    ids: list[bytes],
    payloads: NDArray[np.uint8],
    verdicts: NDArray[np.int8],
    arm: int,
) -> None:
    candidates = np.flatnonzero(verdicts == Verdict.ACCEPTED).tolist()
    rows = payloads.tobytes()
    width = payloads.shape[1]
    hash_of = _narrow_hash if width <= _NARROW else content_hash
    # Of arm 0 as where there are no arms; a byte more is no payload of this width.
    told = bytes([arm]) if arm else b""
    hashes = {index: hash_of(rows[index * width : (index + 1) * width] + told) for index in candidates}
    first: dict[bytes, int] = {}
    for index in candidates:
        first.setdefault(ids[index], index)
    new = repository.insert_new(database, session, round_id, {key: hashes[index] for key, index in first.items()})
    if len(new) == len(candidates):
        return
    known = repository.known_hashes(session, round_id, first.keys() - new)
    for index in candidates:
        key = ids[index]
        if key in new and first[key] == index:
            continue
        original = known[key] if key in known else hashes[first[key]]
        verdicts[index] = Verdict.REPLAYED if hashes[index] == original else Verdict.ID_CONFLICT
