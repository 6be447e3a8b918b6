"""What campaigns answer: `…/estimates`, `…/answers`, `…/series`; `/v1/estimates` and `/v1/comparisons` of several."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, StringConstraints

from sordino_analysis.answers.columns import ColumnType
from sordino_analysis.answers.csv_text import CSV_TYPE, csv_lines
from sordino_analysis.request_terms import LONGEST_QUESTION, MOST_QUESTIONS
from sordino_server.answers import stored
from sordino_server.answers.arms import arms_document
from sordino_server.answers.comparison import ComparisonTerms, comparison_document
from sordino_server.answers.export import MOST_CAMPAIGNS, Export, export_of
from sordino_server.answers.finding import FindingDocument, finding_document
from sordino_server.answers.on_demand import AnswersKind, answers_document
from sordino_server.answers.schemas import AnyEstimate, AnySeries, schema_of
from sordino_server.answers.series import DEFAULT_SHOWN, MOST_SHOWN, SeriesQuestion, series_document
from sordino_server.answers.views import CSV_RESPONSES, IMMUTABLE, NOT_STORED, Form, as_asked, wants_csv
from sordino_server.context import Injected
from sordino_server.identifiers import MOST_PERIODS, DigestText
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.db import Database
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_shared.errors import InvalidValue

# Rows that are written at once: a few hundred kilobytes.
_ROWS = 500

router = APIRouter(tags=["estimates"], route_class=OperatorRoute)


@router.get("/campaigns/{campaign_id}/estimates", response_model=AnyEstimate, responses=CSV_RESPONSES)
def get_campaign_estimates(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, form: Form = None
) -> Response:
    """The estimate that the rounds of a campaign led to, the same bytes on every read; a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = stored.stored_last(session, campaign_id, context.clock.now())
    return as_asked(request, content, form, NOT_STORED)


@router.get("/campaigns/{campaign_id}/finding")
def get_finding(context: Injected, _: Analyst, campaign_id: DigestPath) -> FindingDocument:
    """What the estimate of a campaign tells, in sentences: what is found, what cannot be told, what would tell it.

    Of an experiment it is the sentence of its last look, also while it runs.
    """
    with context.database.read("get finding") as session:
        return finding_document(session, campaign_id, context.clock.now())


@router.get("/campaigns/{campaign_id}/rounds/{index}/estimates", response_model=AnyEstimate, responses=CSV_RESPONSES)
def get_estimates(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, index: RoundPath, form: Form = None
) -> Response:
    """The estimate of a closed round, the same bytes on every read; as a table with `format=csv`."""
    with context.database.read("get estimates") as session:
        content = stored.stored(session, campaign_id, index, context.clock.now())
    return as_asked(request, content, form, NOT_STORED)


def asked_of_series(
    from_: Annotated[
        int | None,
        Query(alias="from", ge=0, lt=MOST_PERIODS, description=f"First period; default: the last {DEFAULT_SHOWN}."),
    ] = None,
    to: Annotated[
        int | None, Query(ge=0, lt=MOST_PERIODS, description="Last period; default: the last that has begun.")
    ] = None,
    window: Annotated[int, Query(ge=1, le=MOST_SHOWN, description="Periods of a window.")] = 7,
    by: Annotated[Literal["reports", "periods"], Query(description="What weighs the periods of a window.")] = "reports",
    trend: Annotated[bool, Query(description="Whether to add the smoothed line.")] = False,
) -> SeriesQuestion:
    """The question that a request's parameters ask."""
    return SeriesQuestion(first=from_, last=to, window=window, by=by, trend=trend)


SeriesQuery = Annotated[SeriesQuestion, Depends(asked_of_series)]


@router.get("/campaigns/{campaign_id}/series", response_model=AnySeries, responses=CSV_RESPONSES)
async def get_series(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, question: SeriesQuery, form: Form = None
) -> Response:
    """Estimates of a series: its periods, windows of them, changes between windows, a trend; a table with `format=csv`.

    Of at most 1,000 periods; of strings those that each period lists, and how their shares changed.
    What is said of closed periods never changes; `open` ones have the number of their reports so far.
    """
    return as_asked(request, await series_document(context, campaign_id, question), form, NOT_STORED)


@router.get("/campaigns/{campaign_id}/arms", response_model=schema_of("arms"), responses=CSV_RESPONSES)
async def get_arms(
    context: Injected, _: Analyst, request: Request, campaign_id: DigestPath, form: Form = None
) -> Response:
    """The answers of each arm of a closed experiment, one below the other; a table with `format=csv`.

    Whether arms differ is said by `/v1/comparisons` of two of them.
    """
    return as_asked(request, await arms_document(context, campaign_id), form, IMMUTABLE)


_Text = Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]
Texts = list[_Text] | None
# A campaign, one of its arms, or some periods of a series.
ComparedText = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{64}(:[A-Za-z0-9-]{1,24}|@[0-9]{1,9}(-[0-9]{1,9})?)?$")
]


def _asked(description: str) -> Any:
    return Query(max_length=MOST_QUESTIONS, description=description + " May be repeated.")


def asked_questions(
    range_: Annotated[
        Texts, Query(alias="range", max_length=MOST_QUESTIONS, description="As `10..20`, `10..` or `delay:..20`.")
    ] = None,
    rectangle: Annotated[Texts, _asked("Ranges of some attributes, as `delay:10..20,size:..5`.")] = None,
    cell: Annotated[Texts, _asked("A value of every attribute, as `linux`, or `os:linux,wifi:yes`.")] = None,
    marginal: Annotated[Texts, _asked("Values of some attributes, as `os:linux` or `os:linux,wifi:yes`.")] = None,
    quantile: Annotated[Texts, _asked("Between 0 and 1, as `0.5` or `delay:0.5`.")] = None,
    mean: Annotated[Texts, _asked("The name of an attribute, whose numbers' mean is told, as `load_ms`.")] = None,
    rule: Annotated[
        Texts, _asked("One known rule of a plan with `scheme: arrangement`, as `wifi:on,beta:off`.")
    ] = None,
    string: Annotated[Texts, _asked("A string of a campaign that collects strings, as `https://example.org/`.")] = None,
) -> tuple[AnswersKind, tuple[str, ...]]:
    """The kind of the questions and their texts; raises InvalidValue unless they are of one kind."""
    kinds: dict[AnswersKind, Texts] = {
        "range": range_,
        "rectangle": rectangle,
        "cell": cell,
        "marginal": marginal,
        "quantile": quantile,
        "mean": mean,
        "rule": rule,
        "string": string,
    }
    given = [(kind, tuple(texts)) for kind, texts in kinds.items() if texts]
    if len(given) != 1:
        named = " and ".join(kind for kind, _ in given) or "none of them"
        raise InvalidValue(f"/query: ask questions of one kind, {', '.join(kinds)}, and not {named}", given)
    return given[0]


QuestionsQuery = Annotated[tuple[AnswersKind, tuple[str, ...]], Depends(asked_questions)]


Share = Annotated[float, Field(gt=0, lt=1)]
GivenQuery = Annotated[
    _Text | None,
    Query(description="Answer about the users of a group alone, as `country=DE` or `country=DE,delay=10..20`."),
]


@router.get("/campaigns/{campaign_id}/answers", response_model=schema_of("answers"), responses=CSV_RESPONSES)
async def get_answers(
    context: Injected,
    _: Analyst,
    request: Request,
    campaign_id: DigestPath,
    questions: QuestionsQuery,
    given: GivenQuery = None,
    form: Form = None,
) -> Response:
    """Answers to questions about a closed campaign that its workload need not list; a table with `format=csv`."""
    content = await answers_document(context, campaign_id, *questions, given)
    return as_asked(request, content, form, IMMUTABLE)


@router.get("/comparisons", response_model=schema_of("comparison"), responses=CSV_RESPONSES)
async def get_comparison(
    context: Injected,
    _: Analyst,
    request: Request,
    left: Annotated[
        ComparedText, Query(description="Id of a closed campaign, an arm `ID:ARM`, or periods of a series: `ID@3-9`.")
    ],
    right: Annotated[ComparedText, Query(description="Campaign, arm or periods from which `left` is subtracted.")],
    query: Annotated[
        Texts, Query(max_length=MOST_QUESTIONS, description="Label of a query; default: all of both. May be repeated.")
    ] = None,
    level: Annotated[float, Query(gt=0, lt=1, description="Level of intervals and band.")] = 0.95,
    population: Annotated[
        bool, Query(description="Also about the populations that users are samples of; assumes different people.")
    ] = False,
    quantile: Annotated[
        list[Share] | None,
        Query(
            max_length=MOST_QUESTIONS,
            description="How far this quantile of the one ordered attribute is apart, .5 for the median, about the "
            "populations; in place of queries. May be repeated.",
        ),
    ] = None,
    distribution: Annotated[
        _Text | None,
        Query(min_length=1, description="In place of queries all steps of the distribution of an ordered attribute."),
    ] = None,
    form: Form = None,
) -> Response:
    """The answers of a closed campaign less those of another one to the queries that both ask, with a verdict on each.

    The domains must be the same, and a query must be the same row under its label; plans and ε may differ. Arms of one
    experiment are always about the population; the band holds all arms less `left`, and the row of the query that
    decides is that of the last look. `lift` is the difference as a share of the left answer.
    """
    terms = ComparisonTerms(
        level=level,
        queries=tuple(query or ()),
        population=population,
        quantiles=tuple(dict.fromkeys(quantile or ())),
        distribution=distribution,
    )
    return as_asked(request, await comparison_document(context, left, right, terms), form, IMMUTABLE)


Campaigns = Annotated[
    list[DigestText],
    Query(min_length=1, max_length=MOST_CAMPAIGNS, description="Id of a campaign; repeat it for more."),
]
ExportForm = Annotated[Literal["rows", "csv"] | None, Query(alias="format", description="Overrides the Accept header.")]


class ResultColumn(BaseModel):
    """A column of the table."""

    name: str
    type: ColumnType


class ResultDocument(BaseModel):
    """Estimates of several campaigns: a row for each query or statistic."""

    columns: list[ResultColumn]
    rows: list[dict[str, str | int | float | None]] = Field(
        description="Each has every column; a cell that says nothing is null. docs/results.md has the columns."
    )


@router.get("/estimates", response_model=ResultDocument, responses=CSV_RESPONSES)
def export_estimates(
    context: Injected, _: Analyst, request: Request, campaign: Campaigns, form: ExportForm = None
) -> StreamingResponse:
    """The estimates of closed campaigns as one table: a row for each query or statistic, the bounds as numbers."""
    export = export_of(context.database, campaign, context.clock.now())
    if wants_csv(request, form):
        lines = csv_lines(tuple(export.types), export.rows(context.database))
        return StreamingResponse(lines, headers=NOT_STORED, media_type=CSV_TYPE)
    return StreamingResponse(_json(export, context.database), headers=NOT_STORED, media_type="application/json")


def _json(export: Export, database: Database) -> Iterator[str]:
    """A ResultDocument in pieces."""
    yield f'{{"columns": {json.dumps([{"name": name, "type": kind} for name, kind in export.types.items()])}, "rows": ['
    rows = (dict(zip(export.types, row, strict=True)) for row in export.rows(database))
    separator = ""
    while piece := list(islice(rows, _ROWS)):
        yield separator + json.dumps(piece, ensure_ascii=False, allow_nan=False)[1:-1]
        separator = ", "
    yield "]}"
