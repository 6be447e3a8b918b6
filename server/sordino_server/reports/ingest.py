"""One transaction's requests: rounds checked under their locks, new reports told from others, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import itemgetter

import numpy as np
from sqlalchemy.orm import Session

from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.randomizers import IngestSums
from sordino_server import aggregates, rounds
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.reports import repository
from sordino_server.reports.period_admission import PeriodAdmission
from sordino_server.reports.shards import ShardAccumulators, ShardKey, empty_shard, with_reports
from sordino_server.reports.uploads import PlanMismatch, RefusedRequest, ReportedDirectly, RoundNotOpen, Upload
from sordino_server.reports.verdicts import classify
from sordino_server.rounds.known_randomizers import KnownRandomizers
from sordino_server.tokens.redemption import ReportTokens
from sordino_shared.protocol import Problem, ReportOutcomes, RoundState

Request = Upload | RefusedRequest
UploadAnswer = ReportOutcomes | ServerError | None


@dataclass
class Recorded:
    """What holds once the transaction is committed: answers by request, this writer's new shards, refusals to count."""

    answers: dict[Request, UploadAnswer] = field(default_factory=dict)
    shards: dict[ShardKey, Aggregate] = field(default_factory=dict)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)


class Ingest:
    """Records requests in a caller's transaction; device parts, which never change, are read once."""

    def __init__(self, database: Database, shards: ShardAccumulators, sum_on_ingest: IngestSums = "cheap") -> None:
        self._database = database
        self._shards = shards
        self._sum_on_ingest = sum_on_ingest
        self._periods = PeriodAdmission()
        self._randomizers = KnownRandomizers()

    def record(self, session: Session, requests: Sequence[Request], now: int) -> Recorded:
        """Do what the requests ask for, to be committed or dropped together; this writer's memory stays as it is."""
        recorded = Recorded()
        groups: dict[tuple[rounds.RoundName, int, int], list[Upload]] = {}
        for request in requests:
            if isinstance(request, Upload):
                kind = (request.campaign, request.round), request.batch.width, request.batch.arm
                groups.setdefault(kind, []).append(request)
            else:
                recorded.answers[request] = None
                recorded.refusals[request.campaign, request.reason.slug] += 1
        names = {name for name, _, _ in groups}
        refused = self._periods.admit(session, names, now)
        locked = rounds.lock_for_reports(self._database, session, names - refused.keys())
        for (name, _, _), uploads in sorted(groups.items(), key=itemgetter(0)):
            admitted = _admitted(locked.get(name), refused.get(name), uploads, recorded)
            if admitted:
                self._record_reports(session, locked[name], admitted, recorded, now)
        repository.add_refusals(session, recorded.refusals)
        return recorded

    def _record_reports(
        self, session: Session, row: Round, uploads: Sequence[Upload], recorded: Recorded, now: int
    ) -> None:
        randomizer, arm = self._randomizers.of(session, row.device_digest), uploads[0].batch.arm
        ids = b"".join([upload.batch.ids for upload in uploads])
        payloads = np.frombuffer(b"".join([upload.batch.payloads for upload in uploads]), dtype=np.uint8)
        payloads = payloads.reshape(-1, uploads[0].batch.width)
        tokens = _tokens(uploads) if row.with_tokens else None
        classified = classify(self._database, session, row, randomizer, ids, payloads, arm, tokens)
        bounds = pairwise(accumulate((upload.count for upload in uploads), initial=0))
        for upload, (start, stop) in zip(uploads, bounds, strict=True):
            recorded.answers[upload] = classified.outcomes(start, stop)
        for reason, count in classified.refusals().items():
            recorded.refusals[row.campaign_id, reason] += count
        if not classified.accepted.any():
            return
        new = payloads[classified.accepted]
        key = row.id, arm
        before = recorded.shards.get(key) or self._shards.get(key) or empty_shard(randomizer, self._sum_on_ingest)
        share = recorded.shards[key] = with_reports(before, randomizer, new)
        aggregates.add_chunk(session, row.id, len(new), new.tobytes(), now, arm)
        aggregates.put_shard(session, row.id, self._shards.shard, share.count, share.to_bytes(), arm)


def _tokens(uploads: Iterable[Upload]) -> ReportTokens:
    found = (upload.tokens or ReportTokens.none(upload.count) for upload in uploads)
    return sum(found, start=ReportTokens((), ()))


def _admitted(
    row: Round | None, refused: ServerError | None, uploads: Iterable[Upload], recorded: Recorded
) -> list[Upload]:
    """Those that the round takes, unless all are `refused`; the others are answered and counted."""
    admitted = []
    for upload in uploads:
        error = refused or _request_error(row, upload)
        if error is None:
            admitted.append(upload)
            continue
        recorded.answers[upload] = error
        recorded.refusals[upload.campaign, error.counted_as] += upload.count
    return admitted


def _request_error(row: Round | None, upload: Upload) -> ServerError | None:
    if row is None:
        return rounds.RoundNotFound(upload.campaign, upload.round)
    if row.shuffled:
        return ReportedDirectly()
    if row.state != RoundState.OPEN:
        return RoundNotOpen(upload.campaign, upload.round, row.state)
    if upload.batch.arm >= max(1, row.arms):
        return _no_such_arm(upload.batch.arm, row.arms)
    if row.device_digest != str(upload.batch.device_digest):
        return PlanMismatch(row.device_digest, str(upload.batch.device_digest))
    return None


def _no_such_arm(arm: int, arms: int) -> ServerError:
    has = f"its arms are 0 to {arms - 1}, in the order of the manifest" if arms else "send the reports as arm 0"
    return ServerError(Problem.INVALID_REQUEST, f"the campaign has no arm {arm}; {has}")
