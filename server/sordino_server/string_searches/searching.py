"""The paths of a wider search: a function of the reports and the plan alone.

Only the process that searches imports this module: it needs the search.
"""

from __future__ import annotations

import json

from sordino_analysis.documents.string_queries import StringQueries
from sordino_analysis.progress import ProgressCallback
from sordino_analysis.strings.labels import kind_of, label_of
from sordino_analysis.strings.levels import LevelPlan
from sordino_analysis.strings.reports import StringReports
from sordino_analysis.strings.search import StringDomain, followed_paths
from sordino_server.aggregates import aggregate, logged_payloads
from sordino_server.kit.db import Database
from sordino_server.models import Round, StringSearch
from sordino_server.plans import service as plans
from sordino_shared.errors import SordinoError
from sordino_shared.randomizers import Coarsened

# Sums in another order, on another machine.
_DIGITS = 3


def paths_at(url: str, number: int, progress: ProgressCallback) -> tuple[bytes | None, str]:
    """The JSON of the paths of the search with this row number, or None and why there is none."""
    database = Database(url, connections=1)
    try:
        return paths(database, number, progress), ""
    except SordinoError as error:
        return None, str(error)
    finally:
        database.close()


def paths(database: Database, number: int, progress: ProgressCallback) -> bytes:
    """The JSON of the paths; raises LogPurged, AggregateMismatch and InvalidValue."""
    with database.read("read string search") as session:
        search = session.get_one(StringSearch, number)
        row = session.get_one(Round, search.round_id)
        device = plans.device_part(session, row.device_digest)
        queries = plans.analyst_part(session, row.analyst_digest).queries
    assert isinstance(device.randomizer, Coarsened), "as every plan of strings"
    assert isinstance(queries, StringQueries), "checked when the search began"
    strings = StringDomain(device.domain, device.randomizer)
    total = aggregate(database, row.id, device.randomizer)
    pages = logged_payloads(database, row.id, device.randomizer.payload_bytes, total.count)
    reports = StringReports.of(device.randomizer, pages)
    sought = LevelPlan(strings.text.depth, search.beam, queries.error, len(queries.watched)).sought
    *_, leaves = followed_paths(strings, reports, search.beam, sought, progress)
    listed = [
        {"kind": kind_of(read), "label": label_of(read), "log_odds": round(odds, _DIGITS)}
        for read, odds in zip(leaves.reads, leaves.odds.tolist(), strict=True)
    ]
    return json.dumps({"users": reports.count, "paths": listed}, ensure_ascii=False, separators=(",", ":")).encode()
