"""Whether the process lives, whether it can serve, and which version it is."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from sordino_server import __version__
from sordino_server.context import Injected
from sordino_server.kit.migrations import check_schema
from sordino_shared.protocol import PROTOCOL_VERSION

probes = APIRouter(tags=["health"])
router = APIRouter(tags=["health"])


class Health(BaseModel):
    """A probe's answer."""

    status: str


class Version(BaseModel):
    """Which software answers, and which protocol it speaks."""

    version: str
    protocol: int


@probes.get("/livez")
async def live() -> Health:
    """The process answers; restart it when this does not."""
    return Health(status="ok")


@probes.get("/readyz")
def ready(context: Injected) -> Health:
    """The database answers and has the schema of this version; send no traffic while this fails."""
    check_schema(context.database)
    return Health(status="ok")


@router.get("/version")
async def get_version() -> Version:
    """Version of the server and of the protocol."""
    return Version(version=__version__, protocol=PROTOCOL_VERSION)
