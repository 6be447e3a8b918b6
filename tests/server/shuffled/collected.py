"""A collector with a shuffled campaign that is open, and a test in the place of its shuffler."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_analysis.vectorized.randomizers import draw_blanket, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.keys import service as keys
from sordino_server.models import Role
from sordino_shared.protocol import CBOR_MEDIA_TYPE, CampaignId, Digest, Manifest
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.protocol.sealed import BatchEnd, BatchStatement, ShuffledPage, root_of, sealed_id, sealing_info
from sordino_shared.sealing import seal as seal_for
from tests.patience import PATIENCE_S
from tests.server.conftest import RunningServer, served

# Where the engines' transactions differ, the gate runs a test on both.
BOTH_ENGINES = pytest.mark.parametrize("shuffled", ["sqlite", "postgres"], indirect=True)
HOUR = 3600
USERS, FLOOR, PAGE = 300, 50, 128
PLAN = {"epsilon": 4, "collector": {"epsilon": 1, "delta": 1e-6}, "target_error": 0.05, "mechanism": "subset_selection"}


@dataclass
class Shuffled:
    """A running collector, a shuffled campaign of it that is open, and the shuffler in the shape of this test."""

    home: RunningServer
    folder: Path
    campaign: dict[str, Any]
    signing: Ed25519PrivateKey
    key: str
    own: list[bytes] = field(default_factory=list)

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
    def path(self) -> str:
        return f"/v1/campaigns/{self.campaign['id']}"

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.home.api.get(f"{self.path}/status").raise_for_status().json()
        return found

    def sealed(self, cells: list[int], seed: int = 5, arm: int | None = None) -> list[bytes]:
        """Reports of devices that hold `cells`, sealed as they are, of an arm where the campaign has arms."""
        part = self.home.device_part(self.campaign)
        payloads = randomize_many(part.randomizer, np.array(cells), SeededRandomness(seed))
        return [self.seal(_of_arm(arm) + payload.tobytes(), part.digest) for payload in payloads]

    def blanket(self, seed: int = 6, arm: int | None = None) -> list[bytes]:
        part = self.home.device_part(self.campaign)
        payloads = draw_blanket(part.randomizer, self.route.blanket, SeededRandomness(seed))
        return [self.seal(_of_arm(arm) + payload.tobytes(), part.digest) for payload in payloads]

    def seal(self, payload: bytes, device: Digest) -> bytes:
        return seal_for(self.route.key_of(0), sealing_info(CampaignId.parse(self.campaign["id"]), 0, device), payload)

    def pages(self, reports: list[bytes]) -> list[ShuffledPage]:
        ordered = sorted(reports, key=sealed_id)
        parts = [ordered[start : start + PAGE] for start in range(0, len(ordered), PAGE)]
        campaign = CampaignId.parse(self.campaign["id"])
        return [
            ShuffledPage(campaign=campaign, round=0, page=number, count=len(part), sealed=b"".join(part))
            for number, part in enumerate(parts)
        ]

    def statement(self, batch: list[bytes], ended: BatchEnd = BatchEnd.TIME, **changes: Any) -> BatchStatement:
        time = ended is BatchEnd.TIME
        blanket = self.manifest.blanket if time else 0
        terms: dict[str, Any] = {
            "campaign": CampaignId.parse(self.campaign["id"]),
            "round": 0,
            "received": len(batch) - blanket if time else 40,
            "blanket": blanket,
            "reports": len(batch) if time else 0,
            "root": root_of(sorted(map(sealed_id, batch))) if time else Digest(hashlib.sha256(b"").digest()),
            "ended": ended,
            "key": self.signing.public_key().public_bytes_raw(),
            "signature": bytes(64),
        }
        unsigned = BatchStatement(**terms | changes)
        return replace(unsigned, signature=self.signing.sign(unsigned.signed_message))

    def push(self, page: ShuffledPage, key: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}", "Content-Type": CBOR_MEDIA_TYPE}
        path = f"{self.home.address}{self.path}/rounds/0/batch/{page.page}"
        return httpx.post(path, content=page.content, headers=headers, timeout=PATIENCE_S)

    def state(self, statement: BatchStatement, key: str | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}", "Content-Type": CBOR_MEDIA_TYPE}
        path = f"{self.home.address}{self.path}/rounds/0/batch"
        return httpx.put(path, content=statement.content, headers=headers, timeout=PATIENCE_S)

    def release(self, reports: list[bytes]) -> None:
        """All pages, then the statement."""
        self.release_rest(reports)
        assert self.state(self.statement(reports)).status_code == 201

    def release_rest(self, reports: list[bytes]) -> None:
        """All pages, some of which may be there."""
        for page in self.pages(reports):
            assert self.push(page).status_code in (200, 201)

    def end(self, after_s: int = HOUR) -> None:
        """The round ends by its time, and the worker does what there is to do."""
        self.home.clock.advance(after_s)
        self.home.work()


@contextmanager
def shuffled_campaign(url: str, folder: Path, **terms: Any) -> Iterator[Shuffled]:
    """The server on a migrated database, with the folder of its keys, for as long as the block runs.

    `terms` are those of the campaign and its route that differ from `create`'s.
    """
    with served(url, round_keys=folder) as home:
        signing = Ed25519PrivateKey.generate()
        made = create(home, signing.public_key().public_bytes_raw().hex(), **terms)
        assert made.status_code == 201, made.text
        campaign = made.json()
        home.api.post(f"/v1/campaigns/{campaign['id']}/open").raise_for_status()
        with home.database.write("test key") as session:
            key = keys.create(session, "mix", Role.SHUFFLER, home.clock.now(), campaign["id"]).text
        yield Shuffled(home, folder, campaign, signing, key)


def _of_arm(arm: int | None) -> bytes:
    return b"" if arm is None else bytes([arm])


def create(
    home: RunningServer,
    key: str,
    plan: dict[str, Any] = PLAN,
    changes: Mapping[str, Any] = MappingProxyType({}),
    **route: Any,
) -> httpx.Response:
    """A campaign of an hour; `changes` of its order, the others of its route."""
    terms = {"name": "mix", "urls": ["https://mix.example"], "key": key, "floor": FLOOR}
    order = {"name": "delays", "purpose": "We ask how late you were.", "population": "travellers"}
    order["plan_request"] = home.ready_plan(**plan)["id"]
    end = {"end": home.clock.now() + HOUR}
    return home.api.post("/v1/campaigns", json=order | {"route": terms | end | route} | changes)
