"""Opening a batch: each page is opened, counted and deleted in one transaction, so that kills change nothing.

Only workers import this module. A report that does not open, or opens to no payload, or is
of an arm that the campaign does not have, is refused and counted so. Where reports have tokens one counts for each,
which is spent in the same transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sqlalchemy.orm import Session

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.vectorized.randomizers import in_alphabet
from sordino_server import aggregates, reports, rounds
from sordino_server.kit.db import Database
from sordino_server.models import BatchState, Campaign, Round
from sordino_server.plans import service as plans
from sordino_server.reports.shards import empty_shard, with_reports
from sordino_server.reports.verdicts import content_hash
from sordino_server.shuffled import repository
from sordino_server.shuffled.opened_pages import OpenedPage, RoundOpening, opened_pages
from sordino_server.shuffled.round_keys import RoundKeys, first_of_span
from sordino_server.shuffled.sentences import ISSUER_LOST, KEY_LOST, why_withheld
from sordino_server.tokens.issuer import issuer_key
from sordino_server.tokens.repository import spend
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, DevicePart, Manifest, Refusal
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.protocol.sealed import opened_plaintext, sealing_info
from sordino_shared.protocol.tokens import SECRET_BYTES, TOKEN_BYTES, coin_of
from sordino_shared.quantities import quantity

UNOPENABLE = "unopenable"
NO_SUCH_ARM = "no-such-arm"
_SHARD = "shuffled"


def open_batch(database: Database, row: Round, keys: RoundKeys | None, now: int, processes: int = 1) -> int:
    """Count the reports of a closed round's batch, if they are not yet; how many of them are random.

    Up to so many `processes` open a large batch.

    Raises InvalidValue, which the round keeps as its error, where nothing was released, the key is lost, or an arm has
    fewer reports than its random ones.
    """
    with database.read("read batch") as session:
        batch, campaign = repository.find(session, row.id), session.get_one(Campaign, row.campaign_id)
        assert batch is not None, "a round without a batch is not claimed"
        device = plans.device_part(session, row.device_digest)
    manifest = Manifest.read(campaign.manifest)
    route = manifest.route
    assert isinstance(route, ShuffledRoute)
    if batch.state == BatchState.WITHHELD:
        raise InvalidValue(why_withheld(route, batch.statement), row.index)
    if batch.state != BatchState.COUNTED:
        opening = _opening(database, row, _key(database, row, route, keys), device)
        _open_pages(database, row, opening, device, now, processes)
        _check_arms(database, row, route, [arm.name for arm in manifest.arms])
        database.run("end batch", lambda session: _mark(session, row.id, BatchState.COUNTED))
    return batch.blanket


def _key(database: Database, row: Round, route: ShuffledRoute, keys: RoundKeys | None) -> bytes:
    found = None if keys is None else keys.opening(row.campaign_id, first_of_span(route, row.index))
    if found is None:
        database.run("mark unreadable", lambda session: _mark(session, row.id, BatchState.UNREADABLE))
        raise InvalidValue(KEY_LOST, row.index)
    return found


def _opening(database: Database, row: Round, key: bytes, device: DevicePart) -> RoundOpening:
    with database.read("find issuer") as session:
        issuer = issuer_key(session, row.campaign_id, row.index) if row.with_tokens else None
    if row.with_tokens and issuer is None:
        raise InvalidValue(ISSUER_LOST, row.index)
    return RoundOpening(key, sealing_info(CampaignId.parse(row.campaign_id), row.index, device.digest), issuer)


def _open_pages(
    database: Database, row: Round, opening: RoundOpening, device: DevicePart, now: int, processes: int
) -> None:
    with database.read("read sealed pages") as session:
        pages = repository.sealed_pages(session, row.id)
    counting = _Counting(database, row, device, now)
    for page in opened_pages(database, row.id, pages, opening, processes):
        database.run("count page", partial(counting.count, page, fitting(row, device, page)))


def fitting(row: Round, device: DevicePart, page: OpenedPage) -> frozenset[bytes]:
    """Ids of the reports whose token is the round's, and whose public part is the one that the token's coin gives."""
    randomizer = device.randomizer
    if not page.valid or not randomizer.has_coin:
        return page.valid
    campaign, payloads = CampaignId.parse(row.campaign_id), by_arm(page, row.arms, Counter()).values()
    return frozenset(
        one
        for found in payloads
        for one, told in found.items()
        if one in page.valid
        and randomizer.agrees(told[:-TOKEN_BYTES], coin_of(campaign, row.index, device.digest, told[-TOKEN_BYTES:]))
    )


def by_arm(page: OpenedPage, arms: int, refused: Counter[str]) -> dict[int, dict[bytes, bytes]]:
    """Payloads by id of each arm that has some, of 0 where there are no arms; others are counted as `refused`."""
    found: dict[int, dict[bytes, bytes]] = {}
    for one, opened in zip(page.ids, page.opened, strict=True):
        if opened is None:
            refused[UNOPENABLE] += 1
        elif (told := opened_plaintext(opened, arms)) is None:
            refused[NO_SUCH_ARM] += 1
        else:
            arm, payload = told
            found.setdefault(arm, {})[one] = payload
    return found


@dataclass(frozen=True)
class _Counting:
    """What counts the pages of a round."""

    database: Database
    row: Round
    device: DevicePart
    now: int

    def count(self, page: OpenedPage, fits: frozenset[bytes], session: Session) -> None:
        """Take a page in the caller's transaction; `fits` has the reports whose tokens count."""
        row = self.row
        rounds.lock_for_change(self.database, session, row.id)
        if not repository.take_sealed(session, row.id, page.number):
            # Another worker has counted it.
            return
        refused: Counter[str] = Counter()
        for arm, found in by_arm(page, row.arms, refused).items():
            self._count_arm(session, arm, found, fits, refused)
        reports.add_refusals(session, {(row.campaign_id, reason): n for reason, n in refused.items() if n})
        repository.note_refused(session, row.id, refused.total())

    def _count_arm(
        self, session: Session, arm: int, found: Mapping[bytes, bytes], fits: frozenset[bytes], refused: Counter[str]
    ) -> None:
        randomizer, row = self.device.randomizer, self.row
        told = np.frombuffer(b"".join(found.values()), dtype=np.uint8).reshape(len(found), -1)
        payloads = told[:, : randomizer.payload_bytes]
        allowed = in_alphabet(randomizer, payloads)
        refused[Refusal.OUTSIDE_ALPHABET.value] += int((~allowed).sum())
        if row.with_tokens:
            holds = {
                one: plaintext[-TOKEN_BYTES:] for (one, plaintext), ok in zip(found.items(), allowed, strict=True) if ok
            }
            spends = self._spend(session, holds, fits, refused)
            allowed = np.array([one in spends for one in found])
        hashes = {
            one: content_hash(each.tobytes()) for one, each, ok in zip(found, payloads, allowed, strict=True) if ok
        }
        new = reports.insert_new(self.database, session, row.id, hashes) if hashes else set()
        counted = payloads[[one in new for one in found]]
        if len(counted):
            before = repository.shard(session, row.id, _SHARD, arm)
            known = empty_shard(randomizer, "cheap") if before is None else Aggregate.from_bytes(*before)
            share = with_reports(known, randomizer, counted)
            aggregates.add_chunk(session, row.id, len(counted), counted.tobytes(), self.now, arm)
            aggregates.put_shard(session, row.id, _SHARD, share.count, share.to_bytes(), arm)

    def _spend(
        self, session: Session, holds: Mapping[bytes, bytes], fits: frozenset[bytes], refused: Counter[str]
    ) -> set[bytes]:
        """Of reports and their tokens, those that count: a token that fits, for the first report that has it."""
        first: dict[bytes, bytes] = {}
        for one, token in holds.items():
            if one in fits:
                first.setdefault(token[:SECRET_BYTES], one)
        new = spend(self.database, session, self.row.id, first.keys())
        counted = {one for secret, one in first.items() if secret in new}
        valid = len(fits & holds.keys())
        refused[Refusal.TOKEN_INVALID.value] += len(holds) - valid
        refused[Refusal.TOKEN_SPENT.value] += valid - len(counted)
        return counted


def _check_arms(database: Database, row: Round, route: ShuffledRoute, names: Sequence[str]) -> None:
    """Raise InvalidValue where an arm has fewer reports than the random ones that were stated."""
    with database.read("count opened arms") as session:
        counts = aggregates.counts_by_arm(session, [row.id])[row.id]
    for place, name in enumerate(names):
        if counts.get(place, 0) < route.blanket:
            raise InvalidValue(
                f"{route.shuffler.name} signed that it mixed in {quantity(route.blanket, 'random report')} for each "
                f"arm, and arm {name} has {quantity(counts.get(place, 0), 'report')}: its blanket is of other arms, so "
                "nothing is estimated; cancel the campaign, and have its operator check the shuffler",
                row.index,
            )


def _mark(session: Session, round_id: int, state: BatchState) -> None:
    batch = repository.find(session, round_id)
    assert batch is not None
    batch.state = state
