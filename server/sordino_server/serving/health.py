"""Whether the process lives, whether it can serve, and which version it is."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from sordino_server import __version__
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.schema_version import check_schema
from sordino_server.public_log.watching import LOOK_WITHIN_S, LogWatch
from sordino_shared.protocol import PROTOCOL_VERSION, Problem

# As much as one process may hold in its queue of uploads.
MIN_FREE_BYTES = 64 << 20
# Load balancers need an answer soon; a hanging database would block much longer.
READY_WITHIN_S = 2.0

probes = APIRouter(tags=["health"])
router = APIRouter(tags=["health"])


class Health(BaseModel):
    """A probe's answer."""

    status: str


class Readiness(Health):
    """The answer of /readyz, with how the public log does where `verbose` is given."""

    log: dict[str, Any] | None = Field(
        None,
        description="`size` of the log, entries `waiting` for `waiting_s` seconds; `ahead`: entries known elsewhere "
        "alone; `witnesses`: of each its `name`, whether it `answers`, else the `problem`, the `size` that it cosigned "
        "last with `cosigned_at`, and the entries `missing`. Null without a log, and where it could not be looked at.",
    )


_Verbose = Annotated[
    str | None, Query(description="Also how the public log and its witnesses do, as in `/readyz?verbose`.")
]


class Version(BaseModel):
    """Which software answers, and which protocol it speaks."""

    version: str
    protocol: int


@probes.head("/livez", include_in_schema=False)
@probes.get("/livez")
async def live() -> Health:
    """The process answers; restart it when this does not."""
    return Health(status="ok")


@probes.head("/readyz", include_in_schema=False)
@probes.get("/readyz", response_model_exclude_unset=True)
async def ready(context: Injected, request: Request, verbose: _Verbose = None) -> Readiness:
    """The database answers with this version's schema, there is room on its disk, and the process is not ending.

    Send no traffic while this fails. How full the disk of a PostgreSQL server is cannot be seen from here. With
    `verbose` the answer has how the public log and its witnesses do, which never makes it fail.
    """
    if request.app.state.draining:
        raise ServerError(Problem.UNAVAILABLE, "the server is shutting down")
    checked = context.readiness.outcome(lambda: _check(context.database))
    try:
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(checked)), READY_WITHIN_S)
    except TimeoutError:
        detail = f"the database does not answer within {READY_WITHIN_S:g} seconds"
        raise ServerError(Problem.UNAVAILABLE, detail) from None
    if verbose is None or verbose == "false":
        return Readiness(status="ok")
    return Readiness(status="ok", log=await _log_health(request.app.state.log_watch))


async def _log_health(watch: LogWatch) -> dict[str, Any] | None:
    try:
        found = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(watch.outcome())), LOOK_WITHIN_S)
    except (TimeoutError, DatabaseError):
        return None
    return None if found is None else asdict(found)


def _check(database: Database) -> None:
    check_schema(database)
    _check_room(database)


def _check_room(database: Database) -> None:
    if not database.is_sqlite:
        return
    free = shutil.disk_usage(Path(database.url.database or "").absolute().parent).free
    if free < MIN_FREE_BYTES:
        raise ServerError(
            Problem.STORAGE_FULL,
            f"{free >> 20} MiB are free on the disk of the database, {MIN_FREE_BYTES >> 20} are needed",
        )


@router.get("/version")
async def get_version() -> Version:
    """Version of the server and of the protocol."""
    return Version(version=__version__, protocol=PROTOCOL_VERSION)
