"""The door for devices alone, in front of a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from sordino_server import aggregates, problem_details
from sordino_server.config import Settings
from sordino_server.context import Context
from sordino_server.kit.clock import ManualClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter, Upload
from sordino_server.reports import repository as reports
from sordino_server.reports.admission import Admission
from sordino_server.reports.endpoints import router
from sordino_server.reports.upload_endpoint import UploadEndpoint
from sordino_server.tokens.redemption import Redemption
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Digest, ReportBatch

BODY_TIMEOUT_S = 0.2


class Door:
    """The front door and the route that describes it, in front of a real store."""

    def __init__(self, database: Database, stored) -> None:
        self.database = database
        self.stored = stored
        self.path = f"/v1/campaigns/{stored.campaign}/rounds/0/reports"
        app = FastAPI()
        app.include_router(router)
        problem_details.install(app)
        app.state.admission = Admission(Context(settings=Settings(), database=database, clock=ManualClock()))
        app.state.redemption = Redemption(database)
        self.writer = app.state.report_writer = ReportWriter(database, ManualClock()).start()
        self._app = UploadEndpoint(app, app.state, BODY_TIMEOUT_S)

    def batch(self, reports: dict[int, int], digest: Digest | None = None) -> bytes:
        ids = b"".join(self.stored.report_id(number) for number in reports)
        payloads = bytes(reports.values())
        return ReportBatch(digest or self.stored.part.digest, ids, payloads).content

    def upload(self, number: int) -> Upload:
        return Upload(self.stored.campaign, 0, ReportBatch.read(self.batch({number: 1})))

    def post(self, body, path: str | None = None, **headers: str) -> httpx.Response:
        return asyncio.run(self.send(body, path, **headers))

    async def send(self, body, path: str | None = None, **headers: str) -> httpx.Response:
        types = {"content-type": CBOR_MEDIA_TYPE} | {key.replace("_", "-"): value for key, value in headers.items()}
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post(path or self.path, content=body, headers=types)

    def refusals(self) -> dict[str, int]:
        with self.database.read() as session:
            return reports.refusals(session, [self.stored.campaign])[self.stored.campaign]

    def count(self) -> int:
        with self.database.read() as session:
            return aggregates.counts_by_round(session, [self.stored.id])[self.stored.id]


@pytest.fixture
def door(migrated_sqlite_url: str, store_round) -> Iterator[Door]:
    database = Database(migrated_sqlite_url)
    door = Door(database, store_round(database))
    yield door
    door.writer.close()
    database.close()
