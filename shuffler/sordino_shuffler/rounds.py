"""The life of rounds: pinned while they are asked about, ended by time alone, mixed once, and handed on until taken."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from sordino_shared.protocol import CampaignId, Digest, Rotating, ShuffledPage
from sordino_shared.protocol.sealed import sealed_plaintext, sealing_info
from sordino_shared.protocol.tokens import coin_of
from sordino_shared.randomness import Randomness
from sordino_shared.sealing import seal
from sordino_shared.shuffling.blanket import draw_blanket_report
from sordino_shuffler.clock import Clock
from sordino_shuffler.documents import CheckedCampaign
from sordino_shuffler.errors import CollectorTrouble, StoreInUse, StoreOfAnotherVersion, TokensRefused
from sordino_shuffler.mirror import CampaignMirror
from sordino_shuffler.mixing import SLICE, counted, deliver, forget_missed, give_up, may_leave, mix, purge, stated
from sordino_shuffler.released import Released
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.store import State, Store, StoredRound, apart
from sordino_shuffler.tokens import blanket_tokens
from sordino_shuffler.writer import Writer

_LOG = logging.getLogger("sordino_shuffler")
T = TypeVar("T")

_PAGE_BYTES = 4 << 20
_PAGE_ROOM = 1 << 10
_MOST_OF_PAGE = 4096
_LEAST_WAIT_S, _MOST_WAIT_S = 1.0, 600.0
# Another batch of the round at the collector does not go away by itself.
_CONFLICT_WAIT_S = 3600.0
# A disk that is full stays so for a while, and each try draws a blanket.
_WRITE_WAIT_S = 60.0
# Periods of a series are pinned so much before they begin, that no early device is refused.
_AHEAD_S = 60
# Periods that passed while the shuffler was not running, each of which gets its statement.
_MOST_PASSED = 10_000


def page_size(width: int) -> int:
    """Reports of a page: as many as fit; it is the same in every version, so that pages sent again are the same."""
    return min(_MOST_OF_PAGE, (_PAGE_BYTES - _PAGE_ROOM) // width)


@dataclass
class _Retry:
    """When a round is handed on again."""

    at: float = 0.0
    failures: int = 0


class RoundKeeper:
    """What is due of all rounds. `tick` is called every second; a campaign is in one hand at a time."""

    def __init__(
        self, writer: Writer, released: Released, key: SigningKey, randomness: Randomness, clock: Clock
    ) -> None:
        self._writer = writer
        self._released = released
        self._key = key
        self._randomness = randomness
        self._clock = clock
        self._retries: dict[int, _Retry] = {}
        self._at_work: dict[bytes, asyncio.Task[None]] = {}

    async def tick(self, mirrors: Mapping[CampaignId, CampaignMirror]) -> None:
        """Pin, end and hand on what is due; campaigns without their documents wait."""
        ready = {bytes(campaign): mirror for campaign, mirror in mirrors.items() if mirror.documents is not None}
        for mirror in ready.values():
            await self._pin_periods(mirror)
        due: dict[bytes, list[StoredRound]] = {}
        for row in await self._writer.run(lambda store: store.rounds_to_do()):
            if row.campaign in ready and self._is_due(row):
                due.setdefault(row.campaign, []).append(row)
        for campaign, rows in due.items():
            # One that waits for its collector keeps no other from ending.
            if campaign not in self._at_work:
                work = asyncio.create_task(self._of_campaign(ready[campaign], rows))
                self._at_work[campaign] = work
                work.add_done_callback(partial(self._done, campaign))

    async def settled(self) -> None:
        """Return when nothing that `tick` began is at work."""
        while self._at_work:
            await asyncio.wait(list(self._at_work.values()))
            await asyncio.sleep(0)

    async def stop(self) -> None:
        """Cancel what is at work; it goes on where it was when it begins again."""
        for work in self._at_work.values():
            work.cancel()
        await self.settled()

    def _done(self, campaign: bytes, work: asyncio.Task[None]) -> None:
        del self._at_work[campaign]
        if not work.cancelled() and work.exception() is not None:
            _LOG.error(
                "campaign %s: its rounds met a mistake of this program", campaign.hex(), exc_info=work.exception()
            )

    def _is_due(self, row: StoredRound) -> bool:
        now, retry = self._clock(), self._retries.get(row.round_id, _Retry())
        # A clock that was set back must not make a round wait for as long.
        waits = 0 < retry.at - now <= _CONFLICT_WAIT_S
        return not waits and (row.state is not State.COLLECTING or now >= row.ends_at)

    async def clean(self) -> None:
        """Empty the write-ahead log, which has the order of arrival, and delete ids whose time is over."""
        now = int(self._clock())
        while await self._writer.run(lambda store: purge(store, now)):
            pass

    async def _pin_periods(self, mirror: CampaignMirror) -> None:
        documents, task = mirror.documents, mirror.task
        if documents is None or documents.series is None or task is None or task.round is None:
            return
        campaign, plan, now = bytes(mirror.entry.campaign), bytes(documents.plan), int(self._clock())
        await self._writer.run(partial(_pin_periods, campaign=campaign, plan=plan, law=documents.series, now=now))

    async def _of_campaign(self, mirror: CampaignMirror, rows: Iterable[StoredRound]) -> None:
        for row in rows:
            about = f"round {row.number}"
            try:
                await self._hand_on(mirror, await self._end(mirror, row) if row.state is State.COLLECTING else row)
            except CollectorTrouble as error:
                self._later(row, _CONFLICT_WAIT_S if error.conflict else error.after_s or 0.0)
                await mirror.note_trouble(about, f"{about} is not handed on: {error}")
            except (sqlite3.Error, OSError, StoreInUse, StoreOfAnotherVersion) as error:
                # The disk is full, say: nothing can be written down, not even that.
                self._later(row, _WRITE_WAIT_S)
                _LOG.error(
                    "campaign %s: %s waits, since nothing can be written: %s", mirror.entry.campaign, about, error
                )
            else:
                self._retries.pop(row.round_id, None)
                await mirror.note_trouble(about, None)

    def _later(self, row: StoredRound, least_s: float) -> None:
        retry = self._retries.setdefault(row.round_id, _Retry())
        retry.failures += 1
        backoff = min(_LEAST_WAIT_S * 2.0 ** min(retry.failures - 1, 20), _MOST_WAIT_S)
        retry.at = self._clock() + max(backoff, least_s)

    async def _end(self, mirror: CampaignMirror, row: StoredRound) -> StoredRound:
        """Draw the blanket where the floor is met, and mix."""
        documents, campaign = mirror.documents, mirror.entry.campaign
        assert documents is not None
        route = documents.route
        blanket: list[bytes] = []
        if await self._apart(lambda store: store.count(row)) >= route.floor:
            try:
                tokens = await asyncio.to_thread(self._tokens, mirror, documents, row.number)
            except TokensRefused as error:
                # A smaller blanket, or one that can be told, hides nobody.
                _LOG.error("campaign %s: round %d is given up: %s", campaign, row.number, error)
                return await self._writer.run(lambda store: give_up(store, row, "missed", self._key.sign))
            blanket = await asyncio.to_thread(draw_blanket, documents, campaign, row.number, self._randomness, tokens)
        added = await self._writer.run(lambda store: store.added(row))
        known = await self._apart(lambda store: counted(store, row, blanket, added))
        ended = await self._writer.run(
            lambda store: mix(store, self._released, row, route.floor, blanket, self._key.sign, known)
        )
        _LOG.info("campaign %s: round %d ended, %s", campaign, row.number, ended.state.value)
        return ended

    def _tokens(self, mirror: CampaignMirror, documents: CheckedCampaign, number: int) -> list[bytes]:
        """One for each random report; none where reports have none."""
        issuer, count = documents.manifest.issuer, documents.manifest.blanket
        if issuer is None:
            return []
        return blanket_tokens(mirror.link, issuer, mirror.entry.campaign, number, count, self._randomness)

    async def _apart(self, act: Callable[[Store], T]) -> T:
        """What reads a whole round does so beside uploads, which wait for the thread that writes."""
        return await asyncio.to_thread(apart, self._writer.path, act)

    async def _hand_on(self, mirror: CampaignMirror, row: StoredRound) -> None:
        """Pages and statement, or the statement alone."""
        if row.state is State.MIXED:
            row = await self._send_batch(mirror, row)
        if row.state is State.MISSED:
            while await self._writer.run(partial(forget_missed, row=row)):
                pass
            try:
                await self._send_statement(mirror, row)
            except CollectorTrouble as error:
                # That nothing comes of the round is known there.
                if not error.over:
                    raise
            now = int(self._clock())
            await self._writer.run(lambda store: stated(store, row, now))

    async def _send_batch(self, mirror: CampaignMirror, row: StoredRound) -> StoredRound:
        """Send what is left of a batch, and nothing where another batch of the round was released before.

        A batch that the collector will never take, since its round was cancelled there, is deleted.
        """
        try:
            return await self._deliver_batch(mirror, row)
        except CollectorTrouble as error:
            if not error.over:
                raise
            _LOG.warning("campaign %s: round %d is given up: %s", mirror.entry.campaign, row.number, error)
            return await self._writer.run(lambda store: give_up(store, row, "abandoned", self._key.sign))

    async def _deliver_batch(self, mirror: CampaignMirror, row: StoredRound) -> StoredRound:
        if not await self._apart(lambda store: may_leave(store, self._released, row, self._key.sign)):
            _LOG.error(
                "campaign %s: round %d was released before with another batch", mirror.entry.campaign, row.number
            )
            return await self._writer.run(lambda store: store.round(row.campaign, row.number))
        await self._send_pages(mirror, row)
        await self._send_statement(mirror, row)
        # Bodies go before the state changes: a process that dies meanwhile states the batch again and goes on.
        after: bytes | None = b""
        while after is not None:
            after = await self._writer.run(partial(Store.forget_bodies, row=row, after=after, size=SLICE))
        now = int(self._clock())
        if await self._writer.run(lambda store: _deliver(store, row, now)):
            _LOG.info("campaign %s: round %d is delivered", mirror.entry.campaign, row.number)
        return await self._writer.run(lambda store: store.round(row.campaign, row.number))

    async def _send_pages(self, mirror: CampaignMirror, row: StoredRound) -> None:
        assert mirror.documents is not None
        size, after = page_size(mirror.documents.width), row.sent_to
        number = await self._writer.run(lambda store: store.count_up_to(row, row.sent_to or b"")) // size
        while found := await self._writer.run(partial(_page, row=row, after=after, size=size)):
            page = ShuffledPage(
                campaign=mirror.entry.campaign,
                round=row.number,
                page=number,
                count=len(found),
                sealed=b"".join(body for _, body in found),
            )
            await asyncio.to_thread(mirror.link.push_page, page)
            after, number = found[-1][0], number + 1
            await self._writer.run(partial(_note_sent, row=row, last=after))

    async def _send_statement(self, mirror: CampaignMirror, row: StoredRound) -> None:
        statement = row.statement
        assert statement is not None
        await asyncio.to_thread(mirror.link.push_statement, mirror.entry.campaign, row.number, statement)


def _pin_periods(store: Store, campaign: bytes, plan: bytes, law: Rotating, now: int) -> None:
    """Pin the periods that take reports, those that begin soon, and those that passed since the last one."""
    numbers = set(law.accepted_numbers(now)) | set(law.accepted_numbers(now + min(_AHEAD_S, law.period_s)))
    known = store.last_number(campaign)
    if known is not None and numbers:
        numbers |= set(range(max(known + 1, min(numbers) - _MOST_PASSED), min(numbers)))
    new = sorted(number for number in numbers if known is None or number > known)
    if new:
        with store.transaction():
            for number in new:
                store.pin(campaign, number, plan, law.accepted_until(number))


def _note_sent(store: Store, row: StoredRound, last: bytes) -> None:
    store.note_sent(row, last)


def _page(store: Store, row: StoredRound, after: bytes | None, size: int) -> list[tuple[bytes, bytes]]:
    """The next page; raises CollectorTrouble where an operator gave the round up meanwhile."""
    if store.round(row.campaign, row.number).state is not State.MIXED:
        raise CollectorTrouble("the round was given up while its batch was on the way")
    return store.page(row, after, size)


def _deliver(store: Store, row: StoredRound, now: int) -> bool:
    if store.round(row.campaign, row.number).state is not State.MIXED:
        return False
    deliver(store, row, now)
    return True


def draw_blanket(
    documents: CheckedCampaign,
    campaign: CampaignId,
    number: int,
    randomness: Randomness,
    tokens: Sequence[bytes] = (),
) -> list[bytes]:
    """`blanket` sealed reports of each arm, which nothing but the collector's key tells from those of devices.

    Where reports have tokens each has one of these `tokens` behind its payload, whose public part is the token's coin.

    The collector reads the arm of each report. So the number of each arm is fixed: with drawn arms a device of a rare
    one would have fewer to hide among. One report takes about 100 µs.
    """
    route, part, arms = documents.route, documents.part, len(documents.manifest.arms)
    info = sealing_info(campaign, number, Digest.of(part.content))
    key = route.key_of(number)
    plan, blanket = documents.plan, list[bytes]()
    of_arms = [arm for arm in range(max(1, arms)) for _ in range(route.blanket)]
    for arm, token in zip(of_arms, tokens or [b""] * len(of_arms), strict=True):
        coin = coin_of(campaign, number, plan, token) if token else None
        payload = draw_blanket_report(part.randomizer, randomness, coin)
        blanket.append(seal(key, info, sealed_plaintext(arm, arms, payload + token)))
    return blanket
