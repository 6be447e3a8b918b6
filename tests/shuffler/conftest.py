"""A shuffler in this process, its clock in the test's hand, with a collector in miniature behind real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sordino_shared.http.address import Address
from sordino_shared.http.senders import NO_PROXY, TrustedProxies
from sordino_shared.protocol import CampaignId
from sordino_shared.randomness import ShakeRandomness
from sordino_shuffler.admission import AddressRates
from sordino_shuffler.app import ShufflerApp
from sordino_shuffler.collector import CollectorLink
from sordino_shuffler.documents import check_claims
from sordino_shuffler.metrics import ShufflerCounts
from sordino_shuffler.mirror import CampaignMirror
from sordino_shuffler.released import Released
from sordino_shuffler.rounds import RoundKeeper
from sordino_shuffler.settings import ShuffledEntry
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.store import Store, StoredRound
from sordino_shuffler.tokens import TokenDesk
from sordino_shuffler.writer import Writer
from tests.shuffler.small_collector import SmallCollector, upload_body

END = 2_000_000_000
START = END - 100


async def prove_here(manifest: bytes, part: bytes) -> str | None:
    """The proof without a process of its own: a law in closed form takes 30 ms."""
    return check_claims(manifest, part)


@dataclass
class Answered:
    """What the application answered."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    content: bytes = b""


@dataclass
class LocalShuffler:
    """The parts of a running shuffler without its process."""

    folder: Path
    key: SigningKey
    writer: Writer
    released: Released
    rounds: RoundKeeper
    app: ShufflerApp
    mirrors: dict[CampaignId, CampaignMirror]
    now: list[float]

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: tuple[tuple[bytes, bytes], ...] = ((b"content-type", b"application/cbor"),),
        receive: Callable[[], Awaitable[dict[str, Any]]] | None = None,
    ) -> Answered:
        """One request to the application."""
        answered = Answered()

        async def whole() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answered.status, answered.headers = message["status"], dict(message["headers"])
            else:
                answered.content += message.get("body", b"")

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": list(headers),
        }
        scope |= {"client": ("192.0.2.1", 1)}
        await self.app(scope, receive or whole, send)
        return answered

    async def upload(self, collector: SmallCollector, *reports: bytes, number: int = 0) -> Answered:
        """Send sealed reports as devices do."""
        path = f"/v1/campaigns/{collector.campaign}/rounds/{number}/sealed"
        return await self.ask("POST", path, upload_body(*reports))

    async def refresh(self) -> None:
        """Read what changed at the collectors."""
        for mirror in self.mirrors.values():
            await mirror.refresh()

    async def tick(self, at: float | None = None) -> None:
        """Do what is due, at a time of the test's clock."""
        if at is not None:
            self.now[0] = at
        await self.rounds.tick(self.mirrors)
        await self.rounds.settled()

    async def round(self, collector: SmallCollector, number: int = 0) -> StoredRound:
        """The stored round."""
        found: StoredRound = await self.writer.run(lambda store: store.round(bytes(collector.campaign), number))
        return found

    def troubles(self, collector: SmallCollector) -> str:
        """What is wrong with the campaign, in one text."""
        return "\n".join(self.mirrors[collector.campaign].troubles.values())

    def add(self, collector: SmallCollector, address: str, key: str | None = None) -> None:
        """Shuffle a campaign of the collector at this address."""
        entry = ShuffledEntry(collector.campaign, Address.parse(address), key or collector.key)
        mirror = CampaignMirror(entry, CollectorLink(entry), self.key, self.writer, prove_here)
        self.mirrors[collector.campaign] = mirror


@contextmanager
def local_shuffler(
    folder: Path, *, key: SigningKey, released: Path | None = None, uploads_per_s: int = 0
) -> Iterator[LocalShuffler]:
    """A shuffler on the folder, closed in the end as a process closes it."""
    folder.mkdir(exist_ok=True)
    writer = Writer(folder / "shuffler.sqlite3", 1)
    now = [float(START)]
    with Released(released or folder.parent / "released") as file:
        mirrors: dict[CampaignId, CampaignMirror] = {}
        app = ShufflerApp(
            mirrors,
            writer,
            AddressRates(uploads_per_s, 2, TrustedProxies.parse(NO_PROXY)),
            ShufflerCounts(),
            TokenDesk(TrustedProxies.parse(NO_PROXY), lambda: now[0]),
            clock=lambda: now[0],
            task_age_s=15,
        )
        rounds = RoundKeeper(writer, file, key, ShakeRandomness(1), lambda: now[0])
        yield LocalShuffler(folder, key, writer, file, rounds, app, mirrors, now)
        writer.close()


@pytest.fixture
def key() -> SigningKey:
    return SigningKey(b"\x07" * 32)


@pytest.fixture
def shuffler(tmp_path: Path, key: SigningKey) -> Iterator[LocalShuffler]:
    with local_shuffler(tmp_path / "folder", key=key) as running:
        yield running


Collecting = Callable[..., Any]


@pytest.fixture
def collecting(shuffler: LocalShuffler) -> Collecting:
    """An asynchronous context of a collector whose campaign the shuffler mirrors."""

    @asynccontextmanager
    async def begin(**terms: Any) -> AsyncIterator[SmallCollector]:
        collector = SmallCollector(shuffler.key.public, **terms)
        with collector.running() as address:
            shuffler.add(collector, address)
            await shuffler.refresh()
            yield collector
            await shuffler.rounds.stop()

    return begin


def stored(path: Path) -> Store:
    """A second connection to a store."""
    return Store(path / "shuffler.sqlite3")
