"""One running shuffler: its folder locked, its campaigns mirrored, rounds ended by the clock, devices served."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable

import uvicorn
import uvloop

from sordino_shared.http.device_origins import DeviceDoor
from sordino_shared.protocol import CampaignId
from sordino_shared.randomness import SystemRandomness
from sordino_shuffler.admission import AddressRates
from sordino_shuffler.app import ShufflerApp
from sordino_shuffler.clock import Clock, wall_clock
from sordino_shuffler.collector import CollectorLink
from sordino_shuffler.errors import ShufflerError, WrongSetting
from sordino_shuffler.metrics import ShufflerCounts
from sordino_shuffler.mirror import CampaignMirror, prove_apart
from sordino_shuffler.released import Released
from sordino_shuffler.rounds import RoundKeeper
from sordino_shuffler.settings import ShuffledEntry, ShufflerSettings, read_campaigns
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.tokens import TokenDesk
from sordino_shuffler.writer import Writer

_LOG = logging.getLogger("sordino_shuffler")
_TICK_S = 1.0
# The write-ahead log shows the order of arrival for so long at most.
_CLEAN_S = 60.0
_CONNECTIONS_WAITING = 2048


class ShufflerService:
    """Everything of one process; `run` serves until it is told to stop."""

    def __init__(self, settings: ShufflerSettings, clock: Clock = wall_clock) -> None:
        """Open folder, key and campaigns; raises WrongSetting, StoreInUse or StoreOfAnotherVersion."""
        self._settings = settings
        self._clock = clock
        self._mirrors: dict[CampaignId, CampaignMirror] = {}
        self._entries: tuple[ShuffledEntry, ...] = ()
        self._counts = ShufflerCounts()
        self._key = SigningKey.read(settings.signing_key)
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._released = Released(settings.released)
        self._writer = Writer(settings.store, settings.least_free_mb)
        self._rounds = RoundKeeper(self._writer, self._released, self._key, SystemRandomness(), clock)
        self.app = ShufflerApp(
            self._mirrors,
            self._writer,
            AddressRates(settings.uploads_per_s, settings.uploads_burst, settings.proxies),
            self._counts,
            TokenDesk(settings.proxies, clock),
            clock=clock,
            task_age_s=settings.refresh_s,
        )

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C."""
        try:
            self._entries = read_campaigns(self._settings.campaigns)
            for number in (signal.SIGTERM, signal.SIGINT):
                # uvicorn raises its stop signal again when it has ended, which must not end the process: the
                # write-ahead log, which has the order of arrival, is emptied after that.
                signal.signal(number, _go_on)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        finally:
            self._writer.close()
            self._released.close()

    async def _serve(self) -> None:
        settings = self._settings
        listener = _listen(settings.host, settings.port)
        config = uvicorn.Config(
            DeviceDoor(self.app, settings.origins) if settings.origins else self.app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_CONNECTIONS_WAITING,
            timeout_graceful_shutdown=settings.shutdown_s,
        )
        metrics = await self._serve_metrics()
        loops = [
            asyncio.create_task(_every(settings.refresh_s, self.refresh)),
            asyncio.create_task(_every(_TICK_S, self.tick)),
            asyncio.create_task(_every(_CLEAN_S, self._rounds.clean)),
        ]
        _LOG.info("serving %d campaigns on %s:%d", len(self._entries), settings.host, settings.port)
        try:
            await uvicorn.Server(config).serve(sockets=[listener])
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._rounds.stop()
            if metrics is not None:
                metrics.close()

    async def refresh(self) -> None:
        """Read the file of campaigns, and what changed at their collectors."""
        try:
            self._entries = read_campaigns(self._settings.campaigns)
        except WrongSetting as error:
            _LOG.warning("%s; the campaigns of before are served on", error)
        for entry in self._entries:
            known = self._mirrors.get(entry.campaign)
            if known is None or known.entry != entry:
                link = CollectorLink(entry)
                self._mirrors[entry.campaign] = CampaignMirror(entry, link, self._key, self._writer, prove_apart)
        for campaign in self._mirrors.keys() - {entry.campaign for entry in self._entries}:
            del self._mirrors[campaign]
        await asyncio.gather(*(mirror.refresh() for mirror in self._mirrors.values()))

    async def tick(self) -> None:
        """Do what is due of the rounds."""
        await self._rounds.tick(self._mirrors)

    async def _serve_metrics(self) -> asyncio.Server | None:
        host, port = self._settings.metrics_host, self._settings.metrics_port
        if not port:
            return None
        try:
            return await asyncio.start_server(self._answer_metrics, host, port)
        except OSError as error:
            raise WrongSetting(f"metrics cannot be served on {host}:{port}: {error.strerror or error}") from error

    async def _answer_metrics(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The page of metrics to any request, for a Prometheus in the operator's own network."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(_TICK_S * 10):
                await reader.readuntil(b"\r\n\r\n")
                states = await self._writer.run(lambda store: [row.state for row in store.rounds()])
                troubles = sum(len(mirror.troubles) for mirror in self._mirrors.values())
                content = self._counts.text(states, troubles, self._writer.waiting_bytes).encode()
                head = (
                    f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(content)}\r\n"
                )
                writer.write(head.encode() + b"Connection: close\r\n\r\n" + content)
                await writer.drain()
        writer.close()


async def _every(seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    """Act now and then every so many seconds; what goes wrong is logged, and the next time comes."""
    while True:
        try:
            await act()
        except ShufflerError as error:
            _LOG.error("%s", error)
        except Exception:
            _LOG.exception("a mistake of this program; it goes on")
        await asyncio.sleep(seconds)


def _go_on(_number: int, _frame: object) -> None:
    """Take a signal and do nothing."""


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise WrongSetting(f"{host}:{port} cannot be used: {error.strerror or error}") from error
    listener.listen(_CONNECTIONS_WAITING)
    listener.set_inheritable(True)
    return listener
