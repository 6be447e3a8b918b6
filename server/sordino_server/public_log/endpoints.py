"""/log (C2SP tlog-tiles), /v1/log, and the proofs that devices read"""

from __future__ import annotations

import re
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response

from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.arriving_body import ArrivingBody
from sordino_server.kit.immutable import MAX_AGE_S
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_server.public_log import repository, service
from sordino_server.public_log.schemas import LogDocument, LogEntries, LogWitnesses
from sordino_server.public_log.standing import LogStanding, entries_page, vouching
from sordino_server.public_log.tree import TILE
from sordino_shared.protocol import Problem

TEXT = "text/plain; charset=utf-8"
# A proof is the same for all between two checkpoints, and an older one holds as well.
_PROOF_AGE_S = 60
_CHECKPOINT_AGE_S = 5
# A checkpoint with 16 signatures and a proof of 63 hashes.
_MOST_OFFER = 16 << 10
_TILE = re.compile(
    r"(?P<level>[0-9]|[1-5][0-9]|entries)/(?P<index>(?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?"
)
_IS_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}}
_OFFER: dict[str, Any] = {"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}}
_IS_BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}

files = APIRouter(prefix="/log", tags=["log"])
router = APIRouter(prefix="/log", tags=["log"])
proofs = APIRouter(prefix="/campaigns", tags=["log"])
witness = APIRouter(prefix="/witness", tags=["log"])


@router.get("")
def get_log(context: Injected) -> LogDocument:
    """The log's verifier key and its newest checkpoint. Public."""
    with context.database.read("get log") as session:
        return LogStanding.of(session, service.the_log(session), context.clock.now()).document()


@router.get("/entries")
def list_log_entries(context: Injected, page: PageQuery) -> LogEntries:
    """The entries of the public log in words, newest first. Public; the bytes that are hashed are in `/log/tile`."""
    with context.database.read("list log entries") as session:
        return entries_page(session, service.the_log(session), page)


@router.get("/witnesses")
def get_log_witnesses(context: Injected) -> LogWitnesses:
    """The witnesses of this log with their last cosignature, and the logs that this server witnesses. Public."""
    with context.database.read("get log witnesses") as session:
        log = repository.current(session)
        standing = None if log is None else LogStanding.of(session, log, context.clock.now())
        return vouching(session, standing, context.settings)


@router.get("/days", response_class=Response, responses=_IS_TEXT)
def get_log_days(context: Injected) -> Response:
    """The first checkpoints of the last 32 days with proofs of consistency to the newest: the same for all devices."""
    with context.database.read("get log days") as session:
        return _text(service.days(session, _quorum(context)), _PROOF_AGE_S)


@proofs.get("/{campaign_id}/log-proof", response_class=Response, responses=_IS_TEXT)
def get_log_proof(context: Injected, campaign_id: DigestPath) -> Response:
    """The proof (C2SP `tlog-proof@v1`) that the campaign's manifest is in the public log."""
    with context.database.read("get log proof") as session:
        return _text(service.proof(session, "campaign", campaign_id, None, _quorum(context)), _PROOF_AGE_S)


@proofs.get("/{campaign_id}/rounds/{index}/log-proof", response_class=Response, responses=_IS_TEXT)
def get_log_proof_of_round(context: Injected, campaign_id: DigestPath, index: RoundPath) -> Response:
    """The proof that the plan of a later round is in the public log."""
    with context.database.read("get log proof") as session:
        return _text(service.proof(session, "plan", campaign_id, index, _quorum(context)), _PROOF_AGE_S)


@files.get("/checkpoint", response_class=Response, responses=_IS_TEXT)
def get_checkpoint(context: Injected) -> Response:
    """The newest checkpoint with the signatures of the log and of witnesses."""
    with context.database.read("get checkpoint") as session:
        return _text(service.newest_note(session), _CHECKPOINT_AGE_S)


@files.get("/tile/{tile:path}", response_class=Response, responses=_IS_BYTES)
def get_tile(context: Injected, tile: str) -> Response:
    """Hashes (`<level>/<number>`) or entries (`entries/<number>`) of the tree, as in C2SP tlog-tiles: immutable."""
    asked = _TILE.fullmatch(tile)
    if asked is None or not 0 < (width := int(asked["width"] or TILE)) <= TILE:
        raise ServerError(Problem.NOT_FOUND, "a tile is named such as 0/x001/067 or entries/000.p/12")
    index = int(asked["index"].replace("x", "").replace("/", ""))
    with context.database.read("get tile") as session:
        if asked["level"] == "entries":
            content = service.bundle(session, index, width)
        else:
            content = service.tile(session, int(asked["level"]), index, width)
    headers = {"Cache-Control": f"public, max-age={MAX_AGE_S}, immutable"}
    return Response(content, headers=headers, media_type="application/octet-stream")


@witness.post("/add-checkpoint", response_class=Response, responses=_IS_TEXT, openapi_extra=_OFFER)
async def add_checkpoint(context: Injected, request: Request) -> Response:
    """Cosign a checkpoint of another log (C2SP tlog-witness): 200 with the line, 409 with the size to build on."""
    async with ArrivingBody.of(request, _MOST_OFFER) as body:
        content = body.content
    assert isinstance(content, bytes)
    return await anyio.to_thread.run_sync(_cosigned, context, content)


@witness.get("/checkpoint", response_class=Response, responses=_IS_TEXT)
def get_witnessed_checkpoint(
    context: Injected, origin: Annotated[str, Query(max_length=200, description="Name of the log.")]
) -> Response:
    """The last checkpoint of another log that this server cosigned, as that log signed it. Public."""
    with context.database.read("get witnessed checkpoint") as session:
        found = repository.last_witnessed(session, origin)
    if found is None:
        raise ServerError(Problem.NOT_FOUND, "this server cosigned no checkpoint of a log of this name")
    return Response(found.note, headers={"Cache-Control": "no-store"}, media_type=TEXT)


def _cosigned(context: Context, content: bytes) -> Response:
    # Most servers witness no log.
    from sordino_server.public_log import setup, witnessing

    settings, database = context.settings, context.database
    signer = setup.witness_of(settings, database)
    try:
        line = witnessing.cosign(database, signer, settings.logs_witnessed, content, context.clock.now())
    except witnessing.OtherSize as error:
        return Response(f"{error.size}\n", 409, media_type="text/x.tlog.size")
    return Response(line, media_type=TEXT)


def _quorum(context: Context) -> int:
    return context.settings.quorum_of_witnesses


def _text(content: str, age_s: int) -> Response:
    return Response(content, headers={"Cache-Control": f"public, max-age={age_s}"}, media_type=TEXT)
