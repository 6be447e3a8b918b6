"""Opening a batch: each page is opened, counted and deleted in one transaction, so that kills change nothing.

Only workers import this module. A report that does not open, or opens to no payload, or is
of an arm that the campaign does not have, is refused and counted so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from sordino_server.shuffled.opened_pages import OpenedPage, opened_pages
from sordino_server.shuffled.round_keys import RoundKeys, first_of_span
from sordino_server.shuffled.sentences import KEY_LOST, why_withheld
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, DevicePart, Manifest, Refusal
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.protocol.sealed import opened_plaintext, sealing_info
from sordino_shared.quantities import quantity
from sordino_shared.randomizers import AnyRandomizer

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
        _open_pages(database, row, _key(database, row, route, keys), device, now, processes)
        _check_arms(database, row, route, [arm.name for arm in manifest.arms])
        database.run("end batch", lambda session: _mark(session, row.id, BatchState.COUNTED))
    return batch.blanket


def _key(database: Database, row: Round, route: ShuffledRoute, keys: RoundKeys | None) -> bytes:
    found = None if keys is None else keys.opening(row.campaign_id, first_of_span(route, row.index))
    if found is None:
        database.run("mark unreadable", lambda session: _mark(session, row.id, BatchState.UNREADABLE))
        raise InvalidValue(KEY_LOST, row.index)
    return found


def _open_pages(database: Database, row: Round, key: bytes, device: DevicePart, now: int, processes: int) -> None:
    info = sealing_info(CampaignId.parse(row.campaign_id), row.index, device.digest)
    with database.read("read sealed pages") as session:
        pages = repository.sealed_pages(session, row.id)
    for page in opened_pages(database, row.id, pages, key, info, processes):
        database.run("count page", partial(_count, database, row, page, device, now))


def _count(
    database: Database,
    row: Round,
    page: OpenedPage,
    device: DevicePart,
    now: int,
    session: Session,
) -> None:
    rounds.lock_for_change(database, session, row.id)
    if not repository.take_sealed(session, row.id, page.number):
        # Another worker has counted it.
        return
    refused: Counter[str] = Counter()
    for arm, found in by_arm(page, row.arms, refused).items():
        _count_arm(database, session, row, device.randomizer, arm, found, refused, now)
    reports.add_refusals(session, {(row.campaign_id, reason): n for reason, n in refused.items() if n})
    repository.note_refused(session, row.id, refused.total())


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


def _count_arm(
    database: Database,
    session: Session,
    row: Round,
    randomizer: AnyRandomizer,
    arm: int,
    found: Mapping[bytes, bytes],
    refused: Counter[str],
    now: int,
) -> None:
    payloads = np.frombuffer(b"".join(found.values()), dtype=np.uint8).reshape(-1, randomizer.payload_bytes)
    allowed = in_alphabet(randomizer, payloads)
    refused[Refusal.OUTSIDE_ALPHABET.value] += int((~allowed).sum())
    hashes = {one: content_hash(payload) for (one, payload), ok in zip(found.items(), allowed, strict=True) if ok}
    new = reports.insert_new(database, session, row.id, hashes) if hashes else set()
    counted = payloads[[one in new for one in found]]
    if len(counted):
        before = repository.shard(session, row.id, _SHARD, arm)
        known = empty_shard(randomizer, "cheap") if before is None else Aggregate.from_bytes(*before)
        share = with_reports(known, randomizer, counted)
        aggregates.add_chunk(session, row.id, len(counted), counted.tobytes(), now, arm)
        aggregates.put_shard(session, row.id, _SHARD, share.count, share.to_bytes(), arm)


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
