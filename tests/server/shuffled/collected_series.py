"""A collector with a series behind a shuffler, and a test in the place of that shuffler, period by period."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.keys import service as keys
from sordino_server.models import Role
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, Digest, Manifest, Rotating
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.protocol.sealed import BatchEnd, BatchStatement, ShuffledPage, root_of, sealed_id, sealing_info
from sordino_shared.sealing import seal
from tests.patience import PATIENCE_S
from tests.server.conftest import RunningServer, served

PERIOD, LATE = 3600, 600
FLOOR = 50
PLAN = {"epsilon": 4, "collector": {"epsilon": 1, "delta": 1e-6}, "target_error": 0.05, "mechanism": "subset_selection"}


@dataclass
class ShuffledSeries:
    """A running collector, an open series of hours, and the secrets of its shuffler."""

    home: RunningServer
    folder: Path
    id: str
    signing: Ed25519PrivateKey
    key: str

    @property
    def path(self) -> str:
        return f"/v1/campaigns/{self.id}"

    @cached_property
    def manifest(self) -> Manifest:
        """A campaign's manifest never changes, and each sealed report needs it."""
        return Manifest.read(self.home.anonymous.get(self.path).raise_for_status().content)

    @property
    def route(self) -> ShuffledRoute:
        route = self.manifest.route
        assert isinstance(route, ShuffledRoute)
        return route

    @property
    def law(self) -> Rotating:
        law = self.manifest.assignment
        assert isinstance(law, Rotating)
        return law

    def batch(self, number: int, cells: list[int], *, blanket: int | None = None) -> list[bytes]:
        """Sealed reports of devices that hold `cells` in a period, and the random ones."""
        part = self.home.device_part({"id": self.id})
        many = self.route.blanket if blanket is None else blanket
        own = randomize_many(part.randomizer, np.array(cells), SeededRandomness(100 + number))
        random = draw_blanket(part.randomizer, many, SeededRandomness(200 + number))
        info = sealing_info(CampaignId.parse(self.id), number, part.digest)
        return [seal(self.route.key_of(number), info, payload.tobytes()) for payload in (*own, *random)]

    def page(self, number: int, batch: list[bytes]) -> ShuffledPage:
        campaign, ordered = CampaignId.parse(self.id), sorted(batch, key=sealed_id)
        return ShuffledPage(campaign=campaign, round=number, page=0, count=len(batch), sealed=b"".join(ordered))

    def statement(self, number: int, batch: list[bytes], received: int = 40) -> BatchStatement:
        """Of a batch, or of a period that was missed."""
        unsigned = BatchStatement(
            campaign=CampaignId.parse(self.id),
            round=number,
            received=len(batch) - self.route.blanket if batch else received,
            blanket=self.route.blanket if batch else 0,
            reports=len(batch),
            root=root_of(sorted(map(sealed_id, batch))) if batch else Digest(hashlib.sha256(b"").digest()),
            ended=BatchEnd.TIME if batch else BatchEnd.MISSED,
            key=self.signing.public_key().public_bytes_raw(),
            signature=bytes(64),
        )
        return replace(unsigned, signature=self.signing.sign(unsigned.signed_message))

    def push(self, page: ShuffledPage) -> httpx.Response:
        return self._send("post", f"rounds/{page.round}/batch/{page.page}", page.content)

    def state(self, statement: BatchStatement) -> httpx.Response:
        return self._send("put", f"rounds/{statement.round}/batch", statement.content)

    def release(self, number: int, cells: list[int]) -> None:
        """The batch of a period, or that it was missed where nobody answered."""
        batch = self.batch(number, cells) if cells else []
        if batch:
            assert self.push(self.page(number, batch)).status_code == 201
        assert self.state(self.statement(number, batch)).status_code == 201

    def to_end_of(self, number: int) -> None:
        """The clock shows the first second after the acceptance of a period."""
        self.home.clock.advance(self.law.accepted_until(number) - self.home.clock.now())

    def estimates(self, **asked: Any) -> Any:
        return self.home.api.get(f"{self.path}/series", params=asked).raise_for_status().json()

    def states(self) -> list[str]:
        return [each["state"] for each in self.estimates()["extras"]["periods"]]

    def kept_keys(self) -> list[int]:
        return sorted(int(file.stem.removeprefix("round-")) for file in self.folder.glob(f"{self.id}/round-*.key"))

    def _send(self, verb: str, path: str, content: bytes) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": CBOR_MEDIA_TYPE}
        url = f"{self.home.address}{self.path}/{path}"
        return httpx.request(verb, url, content=content, headers=headers, timeout=PATIENCE_S)


def create(home: RunningServer, key: str, plan: dict[str, Any] = PLAN, **changes: Any) -> httpx.Response:
    """A series of hours, whose reports count for ten minutes more."""
    route = {"name": "mix", "urls": ["https://mix.example"], "key": key, "floor": FLOOR, "keys": 3, "key_periods": 2}
    series = {"period_s": PERIOD, "slots": 4, "answers_max": 10, "late_s": LATE, "start": home.clock.now()}
    order = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
    order["plan_request"] = home.ready_plan(**plan)["id"]
    route |= changes.pop("route", {})
    return home.api.post("/v1/campaigns", json=order | {"route": route, "series": series} | changes)


@contextmanager
def shuffled_series(url: str, folder: Path, **route: Any) -> Iterator[ShuffledSeries]:
    """The server on a migrated database, with the folder of its keys, for as long as the block runs.

    `route` changes members of the series' route.
    """
    with served(url, round_keys=folder) as home:
        signing = Ed25519PrivateKey.generate()
        made = create(home, signing.public_key().public_bytes_raw().hex(), route=route)
        assert made.status_code == 201, made.text
        campaign = made.json()["id"]
        home.api.post(f"/v1/campaigns/{campaign}/open").raise_for_status()
        with home.database.write("test key") as session:
            key = keys.create(session, "mix", Role.SHUFFLER, home.clock.now(), campaign).text
        yield ShuffledSeries(home, folder, campaign, signing, key)
