"""The store that is measured: one campaign with an open round of a finite kernel, and uploads for it."""

import os
from dataclasses import dataclass

import numpy as np
from sqlalchemy import text

from benchmarks.ingest.load import request
from sordino_analysis.vectorized.arrays import array_of
from sordino_server import models, rounds
from sordino_server.kit import migrations
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.reports import ReportWriter, Upload
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    MAX_REPORTS,
    DevicePart,
    EveryRound,
    Manifest,
    PlanReference,
    ReportBatch,
    RoundTerms,
)
from sordino_shared.randomizers import FiniteKernel, RandomizedResponse
from sordino_shared.randomizers.finite_kernel import DenseRows

TYPES = 64
_EPSILON = PureEpsilon(10**9)


@dataclass(frozen=True)
class Store:
    """A migrated database with the round in it."""

    database: Database
    campaign: str
    round: int
    part: DevicePart

    @classmethod
    def create(cls, url: str) -> "Store":
        """All tables, and an open round of the kernel."""
        database, part = Database(url), _part()
        migrations.upgrade(database)
        manifest = _manifest(part)
        campaign = str(manifest.campaign)
        with database.write("create round") as session:
            session.add(
                models.PlanPart(digest=str(part.digest), document="device_part", content=part.content, created_at=0)
            )
            session.add(
                models.Campaign(
                    id=campaign,
                    name=manifest.name,
                    population=manifest.population,
                    manifest=manifest.content,
                    state="open",
                    created_at=0,
                )
            )
            session.flush()
            digest = str(part.digest)
            row = models.Round(campaign_id=campaign, index=0, device_digest=digest, analyst_digest=digest, epoch=7)
            session.add(row)
            session.flush()
            rounds.open_round(database, session, campaign, 0, 0)
        return cls(database, campaign, row.id, part)

    @property
    def path(self) -> str:
        """Where reports go."""
        return f"/v1/campaigns/{self.campaign}/rounds/0/reports"

    def epoch(self) -> int:
        """The epoch of ids that devices make now."""
        with self.database.read() as session:
            return rounds.current_epoch(session, session.get_one(models.Round, self.round))

    def ids(self, count: int) -> bytes:
        """`count` new ids of the current epoch."""
        columns = np.frombuffer(os.urandom(16 * count), dtype=np.uint8).reshape(count, 16).copy()
        columns[:, :2] = np.frombuffer(self.epoch().to_bytes(2, "big"), dtype=np.uint8)
        return columns.tobytes()

    def payloads(self, count: int) -> np.ndarray:
        """(count, 1) payloads of the kernel's alphabet."""
        return np.random.default_rng(count).integers(0, TYPES, (count, 1), dtype=np.uint8)

    def requests(self, count: int, reports: int) -> list[bytes]:
        """`count` uploads of `reports` new reports each."""
        ids, payloads = self.ids(count * reports), self.payloads(count * reports).tobytes()
        batches = (
            ReportBatch(
                self.part.digest,
                ids[16 * start : 16 * (start + reports)],
                payloads[start : start + reports],
            )
            for start in range(0, count * reports, reports)
        )
        return [request(self.path, batch.content) for batch in batches]

    def disk_bytes(self) -> int:
        """The size of the database."""
        sqlite = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        postgres = "SELECT pg_database_size(current_database())"
        with self.database.read() as session:
            return int(session.scalar(text(sqlite if self.database.is_sqlite else postgres)))

    def fill(self, count: int) -> None:
        """Count `count` reports through the writer of this process."""
        writer = ReportWriter(self.database, WallClock()).start()
        for _ in range(-(-count // MAX_REPORTS)):
            batch = ReportBatch(self.part.digest, self.ids(MAX_REPORTS), self.payloads(MAX_REPORTS).tobytes())
            assert writer.submit(Upload(self.campaign, 0, batch)).result().accepted == MAX_REPORTS
        writer.close()


def _manifest(part: DevicePart) -> Manifest:
    """A campaign of one round: uploads are refused where the manifest cannot be read."""
    return Manifest(
        name="load",
        purpose="A benchmark.",
        population="all",
        created_at=0,
        domain=part.domain,
        device_guarantee=part.guarantee,
        rounds=(RoundTerms(part.guarantee, PlanReference(part.digest, part.digest)),),
        assignment=EveryRound(),
    )


def _part() -> DevicePart:
    """Randomised response among the types, as a dense finite kernel."""
    response = RandomizedResponse.for_guarantee(TYPES, _EPSILON)
    table = np.full((TYPES, TYPES), response.other_weight, dtype=np.uint64)
    np.fill_diagonal(table, response.own_weight)
    labels = tuple(str(cell) for cell in range(TYPES))
    kernel = FiniteKernel(response.bits, DenseRows(array_of(table, "<u8")))
    return DevicePart(Domain((Categorical("value", labels),)), _EPSILON, kernel)
