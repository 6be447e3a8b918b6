"""`AsyncClient`: the SDK for asyncio, under the same names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from sordino_client._account import Account
from sordino_client._async_http_transport import AsyncHttpTransport
from sordino_client._background import Background
from sordino_client._client import PATIENCE_S, connection, within
from sordino_client._clock import Clock, SystemClock
from sordino_client._config import (
    DEFAULT_JOINS_PER_PERIOD,
    DEFAULT_LARGEST_PART,
    DEFAULT_SPOOL_LIMIT,
    REQUIRE_LOG,
    AppCall,
    Caps,
    Config,
    pinned_log,
)
from sordino_client._device import Device
from sordino_client._errors import TransportFailed, WrongArgument
from sordino_client._finding import Accept, FoundCampaigns
from sordino_client._flow import Finished, Flow, Pause, advance
from sordino_client._preview import Preview
from sordino_client._results import Answer, Campaign, Flushed, campaign_id
from sordino_client._signatures import listed_keys
from sordino_client._transport import AsyncTransport, Response, check_address
from sordino_shared.errors import OversizedDocument
from sordino_shared.protocol import CampaignId, Period
from sordino_shared.randomness import Randomness, SystemRandomness

T = TypeVar("T")


class AsyncClient:
    """The asyncio twin of `Client`: same arguments, same promises. Steps that touch the ledger run in a thread.

    A task that is cancelled leaves either nothing or a committed answer behind; `account` shows which.
    """

    def __init__(
        self,
        server: str,
        *,
        ledger: str | os.PathLike[str],
        caps: Caps,
        strict: bool = False,
        spool_limit: int = DEFAULT_SPOOL_LIMIT,
        upload_token: str | None = None,
        largest_part: int = DEFAULT_LARGEST_PART,
        dry_run: bool = False,
        background: bool = False,
        joins_per_period: int = DEFAULT_JOINS_PER_PERIOD,
        manifest_keys: Sequence[str] = (),
        log: str | Sequence[str] | None = None,
        witnesses: Sequence[str] = (),
        quorum: int | None = None,
        log_policy: str = REQUIRE_LOG,
        attest: AppCall | None = None,
        issue: AppCall | None = None,
        allow_http: bool = False,
        transport: AsyncTransport | None = None,
        randomness: Randomness | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        origin = check_address(server, allow_http=allow_http or transport is not None)
        config = Config(
            caps=caps,
            strict=strict,
            spool_limit=spool_limit,
            upload_token=upload_token,
            largest_part=largest_part,
            dry_run=dry_run,
            background=background,
            joins_per_period=joins_per_period,
            manifest_keys=listed_keys(manifest_keys),
            log=pinned_log(log, witnesses, quorum),
            log_policy=log_policy,
            attest=attest,
            issue=issue,
        )
        if background and transport is not None:
            raise WrongArgument("the thread of background=True uses the SDK's own transport; leave out `transport`")
        self._ledger, self._allow_http, self._own_transport = ledger, allow_http, transport is not None
        self._transport = transport or AsyncHttpTransport(server, allow_http=allow_http)
        open_device = partial(Device, ledger, origin, config, randomness or SystemRandomness(), clock or SystemClock())
        self._device = open_device()
        self._sleep = sleep
        self._background = None
        if background:
            self._background = Background(open_device, partial(connection, server, allow_http), shared=False)

    async def join(self, campaign: CampaignId | str) -> Campaign:
        """See `Client.join`."""
        return await self._run(self._device.join(campaign_id(campaign)))

    async def find(self, population: str, accept: Accept, *, allow_repeats: bool = False) -> FoundCampaigns:
        """See `Client.find`; `accept` is called in a thread."""
        return await self._run(self._device.find(population, accept, allow_repeats))

    async def answer(self, campaign: Campaign | CampaignId | str, value: object) -> Answer:
        """See `Client.answer`."""
        answered = await self._run(self._device.answer(campaign_id(campaign), value))
        if self._background is not None:
            self._background.wake()
        return answered

    async def arm(self, campaign: Campaign | CampaignId | str) -> str | None:
        """See `Client.arm`."""
        return await asyncio.to_thread(self._device.arm, campaign_id(campaign))

    async def due(self, series: Campaign | CampaignId | str) -> Period | None:
        """See `Client.due`."""
        return await asyncio.to_thread(self._device.due, campaign_id(series))

    async def next_due(self, series: Campaign | CampaignId | str) -> datetime | None:
        """See `Client.next_due`."""
        return await asyncio.to_thread(self._device.next_due, campaign_id(series))

    async def preview(self, campaign: Campaign | CampaignId | str, value: object) -> Preview:
        """See `Client.preview`."""
        return await asyncio.to_thread(self._device.preview, campaign_id(campaign), value)

    async def flush(
        self, patience_s: float = PATIENCE_S, *, deadline_s: float | None = None, now: bool = False
    ) -> Flushed:
        """See `Client.flush`."""
        if deadline_s is None:
            return await self._run(self._device.flush(patience_s, now=now))
        with within(deadline_s):
            return await self._run(self._device.flush(0.0, now=now))

    async def send_detached(self) -> bool:
        """See `Client.send_detached`."""
        from sordino_client.send import start

        if self._own_transport:
            return False
        return await asyncio.to_thread(start, self._ledger, self._device, self._allow_http)

    async def rehome(self, campaign: Campaign | CampaignId | str, address: str) -> Campaign:
        """See `Client.rehome`."""
        return await self._run(self._device.rehome(campaign_id(campaign), address))

    async def account(self) -> Account:
        """See `Client.account`."""
        return await asyncio.to_thread(self._device.account)

    async def opt_out(self, campaign: Campaign | CampaignId | str) -> None:
        """See `Client.opt_out`."""
        await asyncio.to_thread(self._device.opt_out, campaign_id(campaign))

    async def opt_out_all(self) -> None:
        """See `Client.opt_out_all`."""
        await asyncio.to_thread(self._device.opt_out_all)

    async def opt_in(self) -> None:
        """See `Client.opt_in`."""
        await asyncio.to_thread(self._device.opt_in)

    @property
    async def opted_out(self) -> bool:
        """See `Client.opted_out`; write `await client.opted_out`."""
        return await asyncio.to_thread(lambda: self._device.opted_out)

    async def close(self) -> None:
        """See `Client.close`."""
        if self._background is not None:
            await asyncio.to_thread(self._background.close)
        await self._transport.close()
        await asyncio.to_thread(self._device.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        step = await asyncio.to_thread(advance, flow, None)
        while not isinstance(step, Finished):
            reply: Response | Exception | None = None
            if isinstance(step, Pause):
                await self._sleep(step.seconds)
            else:
                try:
                    reply = await self._transport.send(step)
                except (TransportFailed, OversizedDocument) as error:
                    reply = error
            step = await asyncio.to_thread(advance, flow, reply)
        return step.value
