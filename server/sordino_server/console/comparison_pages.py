"""/console/compare: two closed campaigns, their differences with a band, and a verdict on each answer"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field, StringConstraints

from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.kinds.registry import kind_of_answers
from sordino_analysis.kinds.two_campaigns import ComparisonExtras
from sordino_analysis.request_terms import LONGEST_QUESTION, MOST_QUESTIONS
from sordino_server.answers import picture
from sordino_server.answers.compared_window import MARK
from sordino_server.answers.comparison import ComparisonTerms, comparison_document
from sordino_server.answers.stored import read_estimate, stored_last
from sordino_server.answers.views import table_text
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.campaign_filter import CampaignFilter, CampaignSort
from sordino_server.console.compared_pictures import NamedCurves, differences, two_curves
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.estimate_pages import SHOWN_ROWS
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.picture_endpoints import svg
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.pagination import MAX_PAGE, Page
from sordino_server.kit.times import iso_8601_or_none
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_ID_LENGTH = 64
_LEVELS = (0.9, 0.95, 0.99)
# What is wrong with the question is said beside the form; other errors have a page of their own.
_BESIDE_FORM = (Problem.INVALID_REQUEST, Problem.NOT_FOUND, Problem.ESTIMATE_NOT_READY, Problem.ILLEGAL_TRANSITION)

# As the API has it, or empty where nothing is chosen.
_Compared = Annotated[str, Query(pattern=r"^([0-9a-f]{64}(:[A-Za-z0-9-]{1,24}|@[0-9]{1,9}(-[0-9]{1,9})?)?)?$")]
_Periods = Annotated[str, Query(pattern=r"^([0-9]{1,9}(-[0-9]{1,9})?)?$")]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Label = Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]


@dataclass(frozen=True, kw_only=True)
class ChosenPair:
    """What the form sends: two campaigns, or "" for one that is not chosen, and what is asked about them."""

    left: str
    right: str
    terms: ComparisonTerms

    @property
    def is_whole(self) -> bool:
        """Whether both campaigns are chosen."""
        return bool(self.left and self.right)

    @property
    def query(self) -> list[tuple[str, str]]:
        """The parameters of an address that asks the same."""
        terms = self.terms
        found = [("left", self.left), ("right", self.right), *(("query", label) for label in terms.queries)]
        found += [("quantile", str(share)) for share in terms.quantiles]
        found += [] if terms.distribution is None else [("distribution", terms.distribution)]
        return [*found, ("level", str(terms.level)), *([("population", "true")] if terms.population else [])]

    @property
    def sides(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Of each side what is picked from the list, and the periods of a series beside it."""
        (left, _, first), (right, _, second) = self.left.partition(MARK), self.right.partition(MARK)
        return (left, first), (right, second)


def chosen_pair(
    left: _Compared = "",
    right: _Compared = "",
    left_periods: _Periods = "",
    right_periods: _Periods = "",
    query: Annotated[list[_Label] | None, Query(max_length=MOST_QUESTIONS + 1)] = None,
    quantile: Annotated[list[_Share | Literal[""]] | None, Query(max_length=MOST_QUESTIONS + 1)] = None,
    distribution: Annotated[_Label, Query()] = "",
    level: Annotated[float, Query(gt=0, lt=1)] = 0.95,
    population: bool = False,
) -> ChosenPair:
    """The parameters of the form."""
    terms = ComparisonTerms(
        level=level,
        queries=tuple(dict.fromkeys(label for label in query or () if label.strip())),
        population=population,
        quantiles=tuple(dict.fromkeys(share for share in quantile or () if share != "")),
        distribution=distribution.strip() or None,
    )
    return ChosenPair(left=_with(left, left_periods), right=_with(right, right_periods), terms=terms)


def _with(side: str, periods: str) -> str:
    """A side with the periods that stand beside it, in place of those that it has."""
    return f"{side.partition(MARK)[0]}{MARK}{periods}" if side and periods else side


Chosen = Annotated[ChosenPair, Depends(chosen_pair)]


@dataclass(frozen=True)
class ListedOption:
    """A campaign of the form."""

    id: str
    text: str


@page(router, "/compare", "compare.html")
async def compare(_: Analyst, request: Request, context: Injected, chosen: Chosen) -> ConsolePage:
    """The form, and below it the differences; JSON and CSV are those of the API."""
    in_html = request.url.path.endswith("/compare")
    content, error, status = b"", None, 200
    if chosen.is_whole or not in_html:
        try:
            content = await _document(context, chosen)
        except (InvalidValue, ServerError) as refused:
            if not in_html:
                raise
            error, status = _beside_form(refused)
    picked = [side for side, _ in chosen.sides]
    curves = await anyio.to_thread.run_sync(_curves, context, chosen, content) if content and in_html else []
    options = await anyio.to_thread.run_sync(_options, context, picked) if in_html else []
    return ConsolePage(
        title="Compare two questions",
        document=content,
        rows=lambda: table_text(content),
        status=status,
        values={
            "chosen": chosen,
            "options": options,
            "levels": _LEVELS,
            "room": len(chosen.terms.queries) < MOST_QUESTIONS,
            "error": error,
            "curves": curves,
            **(_found(request, chosen, content) if content and in_html else {"tables": ()}),
        },
    )


@router.get("/compare.svg")
async def draw_comparison(_: Analyst, context: Injected, chosen: Chosen) -> Response:
    """The differences around zero with their band, those in grey that cannot be told from it."""
    return svg(picture.draw(await _document(context, chosen), "Differences"))


async def _document(context: Context, chosen: ChosenPair) -> bytes:
    if not chosen.is_whole:
        raise InvalidValue("/query/left: choose two campaigns, left and right", (chosen.left, chosen.right))
    return await comparison_document(context, chosen.left, chosen.right, chosen.terms)


def _beside_form(refused: InvalidValue | ServerError) -> tuple[str, int]:
    """What the page says, and its status; raises it again where the question is not what is wrong."""
    if isinstance(refused, InvalidValue):
        return str(refused).removeprefix("/query/right: "), 422
    if refused.problem not in _BESIDE_FORM:
        raise refused
    return refused.detail, refused.problem.status


def _options(context: Context, chosen: Sequence[str]) -> list[ListedOption]:
    """The newest closed campaigns and the newest series, and those that are chosen."""
    wanted = {
        "": CampaignFilter(state=CampaignState.CLOSED, archived=False, series=False),
        ", a series": CampaignFilter(archived=False, series=True),
    }
    found = []
    with context.database.read("console comparison") as session:
        for kind, each in wanted.items():
            rows, _ = campaigns.listed(session, Page(MAX_PAGE, None), each, CampaignSort.NEWEST)
            dated = ((row, (iso_8601_or_none(row.created_at) or "")[:10]) for row in rows)
            found += [ListedOption(row.id, f"{row.name}, {day}{kind}") for row, day in dated]
    known = {each.id for each in found}
    others = [text for text in dict.fromkeys(chosen) if text and text not in known]
    return [*found, *(ListedOption(text, _shortened(text)) for text in others)]


def _shortened(text: str) -> str:
    """The first digits of the id with the arm or the periods, which follow its 64 digits."""
    return f"{text[:12]}{text[64:]}"


def _curves(context: Context, chosen: ChosenPair, content: bytes) -> list[NamedCurves]:
    """Both stored results, the right one first, where each is of one distribution; none of arms, series and others."""
    sides, extras = (chosen.right, chosen.left), read_estimate(content).extras
    if not isinstance(extras, ComparisonExtras) or any(len(each) != _ID_LENGTH for each in sides):
        return []
    try:
        with context.database.read("console compared results") as session:
            stored = [stored_last(session, each, context.clock.now()) for each in sides]
    except ServerError:
        # The differences were computed from reports: a result of its own may still be to come.
        return []
    return two_curves([read_estimate(each).table for each in stored], (extras.right.name, extras.left.name))


def _found(request: Request, chosen: ChosenPair, content: bytes) -> dict[str, Any]:
    estimate = read_estimate(content)
    kind = kind_of_answers(estimate.kind)
    return {
        "statements": kind.statements(estimate),
        "tables": kind.tables(estimate, SHOWN_ROWS),
        "count": len(estimate.table),
        "labels": [str(label) for label in estimate.table.cells("label")[:SHOWN_ROWS]],
        "drawable": is_drawable(estimate.table),
        "differences": differences(estimate.table),
        "query": chosen.query,
        "copies": _copies(str(request.base_url), chosen),
    }


def _copies(address: str, chosen: ChosenPair) -> list[tuple[str, str]]:
    """The comparison as code, by what the page calls it; keys stay in the environment."""
    url = f"{address}v1/comparisons?{urlencode(chosen.query)}"
    curl = f'curl {shlex.quote(url)} \\\n  -H "Authorization: Bearer $SORDINO_KEY"'
    terms = chosen.terms
    options = [f"--query {shlex.quote(label)}" for label in terms.queries] + [f"--level {terms.level}"]
    options += [f"--quantile {share}" for share in terms.quantiles]
    options += [] if terms.distribution is None else [f"--distribution {shlex.quote(terms.distribution)}"]
    options += ["--population"] if terms.population else []
    command = f"sordino campaigns compare {chosen.left} {chosen.right} \\\n  {' '.join(options)}"
    return [("curl", curl), ("A command", command)]
