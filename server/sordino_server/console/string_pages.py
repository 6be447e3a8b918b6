"""/console/campaigns/{id}/strings: wider searches of a campaign of strings, and a question about what it found"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from sordino_analysis.documents.string_queries import MAX_BEAM
from sordino_analysis.figures import chosen
from sordino_analysis.planning_options import DEFAULT_DEVICE_EPSILON
from sordino_server.campaigns import service as campaigns
from sordino_server.console.console_route import Analyst, ConsoleRoute, Form, Visitor
from sordino_server.console.form_once import FormOnce, redirect
from sordino_server.console.pages import ConsolePage, page, table_of
from sordino_server.console.rendering import HEADERS, fragment, render
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys.idempotency import PostAnswer
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.string_searches import service
from sordino_server.string_searches.follow_up import document_of
from sordino_server.string_searches.schemas import UNFINISHED, SearchDocument, SearchList
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem

router = APIRouter(prefix="/console/campaigns/{campaign_id}", route_class=ConsoleRoute)

# More paths are read by nobody; CSV and JSON have all.
SHOWN_PATHS = 500
# What the form suggests, times the beam of the estimate.
_WIDER = 3
_PATH_COLUMNS = ("kind", "label", "log_odds")
_SEARCH_COLUMNS = ("beam", "state", "progress", "error")
# What a form gets back with the reason, instead of a page of its own.
_SHOWN = (Problem.INVALID_REQUEST, Problem.ILLEGAL_TRANSITION)
_Beam = Annotated[int, Query(ge=2, le=MAX_BEAM, description="Of the search.")]


@page(router, "/strings", "strings.html")
def get_strings(
    _: Analyst,
    context: Injected,
    campaign_id: DigestPath,
    beam: Annotated[int | None, Query(ge=2, le=MAX_BEAM, description="Of a search.")] = None,
) -> ConsolePage:
    """The searches of a campaign and a form for another one; with `beam` what that search found."""
    name, known = _known(context, campaign_id)
    search = None if beam is None else _search(context, campaign_id, beam)
    if search is None:
        rows, columns = known.searches, _SEARCH_COLUMNS
        return ConsolePage(
            title=_title(name),
            document=known,
            rows=lambda: table_of(rows, columns),
            values=_values(campaign_id, known),
        )
    return ConsolePage(
        title=_title(name),
        document=search,
        rows=lambda: table_of(search.paths or (), _PATH_COLUMNS),
        values=_values(campaign_id, known, search),
    )


@router.post("/strings")
def begin(visitor: Analyst, context: Injected, once: FormOnce, campaign_id: DigestPath, form: Form) -> Response:
    """Begin a search, or go to the one with this beam; a form that does not fit is shown again with the reason."""

    def act(session: Session) -> PostAnswer:
        service.order(session, campaign_id, beam, once.context.clock.now())
        page = f"/console/campaigns/{campaign_id}/strings?beam={beam}"
        return PostAnswer(303, {}, location=page, changed=f"/v1/campaigns/{campaign_id}/strings", after={"beam": beam})

    try:
        beam = _beam(form)
        return redirect(once.answer("search strings", act))
    except InvalidValue as error:
        return _again(visitor, context, campaign_id, form, str(error), 422)
    except ServerError as error:
        if error.problem not in _SHOWN:
            raise
        return _again(visitor, context, campaign_id, form, error.detail, error.problem.status)


@router.get("/strings/progress")
def get_progress(_: Analyst, context: Injected, campaign_id: DigestPath, beam: _Beam) -> Response:
    """The part of the page that changes; once the search has ended, the browser loads the whole page again."""
    search = _search(context, campaign_id, beam)
    running = search.state in UNFINISHED
    headers = HEADERS if running else {**HEADERS, "HX-Refresh": "true"}
    text = fragment("string_progress.html", campaign=campaign_id, search=search, running=running)
    return HTMLResponse(text, headers=headers)


@page(router, "/strings/follow-up", "follow_up.html", ("label", "reason"))
def get_follow_up(_: Analyst, context: Injected, campaign_id: DigestPath) -> ConsolePage:
    """The closed question about the strings of the list, as a form that requests its plan; rows: what it leaves out."""
    with context.database.read("console follow-up") as session:
        row = campaigns.get(session, campaign_id)
        document = document_of(session, campaign_id, context.clock.now())
        epsilon = Manifest.read(row.manifest).device_guarantee.epsilon
    return ConsolePage(
        title=f"Ask for the strings of {row.name}",
        document=document,
        rows=document.left_out,
        values={"campaign": campaign_id, "epsilon": chosen(epsilon), "weak": epsilon > DEFAULT_DEVICE_EPSILON},
    )


def _known(context: Context, campaign_id: str) -> tuple[str, SearchList]:
    with context.database.read("console string searches") as session:
        return campaigns.get(session, campaign_id).name, service.listed(session, campaign_id, context.clock.now())


def _search(context: Context, campaign_id: str, beam: int) -> SearchDocument:
    now = context.clock.now()
    with context.database.read("console string search") as session:
        return SearchDocument.of(service.get(session, campaign_id, beam, now), now)


def _beam(form: Mapping[str, str]) -> int:
    text = form.get("beam", "").strip()
    if not (text.isascii() and text.isdigit() and 2 <= int(text[:9]) <= MAX_BEAM):
        raise InvalidValue(f"a beam is a whole number from 2 to {MAX_BEAM:,}, such as 3000", text)
    return int(text)


def _again(
    visitor: Visitor, context: Context, campaign_id: str, form: Mapping[str, str], error: str, status: int
) -> Response:
    name, known = _known(context, campaign_id)
    values = _values(campaign_id, known) | {"error": error, "given": form.get("beam", "")}
    return render("strings.html", _title(name), visitor=visitor, status=status, data=None, **values)


def _values(campaign_id: str, known: SearchList, search: SearchDocument | None = None) -> dict[str, Any]:
    paths = () if search is None else search.paths or ()
    return {
        "campaign": campaign_id,
        "known": known,
        "search": search,
        "running": search is not None and search.state in UNFINISHED,
        "paths": paths[:SHOWN_PATHS],
        "most": MAX_BEAM,
        "given": min(MAX_BEAM, _WIDER * known.beam),
        "error": None,
    }


def _title(name: str) -> str:
    return f"Wider searches of {name}"
