"""/console/campaigns/{id}/answers: questions that somebody picks, answered from the reports of a closed campaign"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import StringConstraints

from sordino_analysis.answers.svg import is_drawable
from sordino_analysis.kinds.registry import kind_of_answers
from sordino_analysis.questions.linear.on_demand import QuestionKind
from sordino_analysis.request_terms import LONGEST_QUESTION, MOST_QUESTIONS
from sordino_server.answers import picture
from sordino_server.answers.on_demand import answering_round, answers_document
from sordino_server.answers.stored import read_estimate
from sordino_server.answers.views import table_text
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.question import Question
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.picked_questions import KINDS, as_curl, as_python, as_yaml, attributes_of, composed
from sordino_server.console.picture_endpoints import svg
from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.kit.path_parameters import DigestPath
from sordino_server.workloads import service as workloads
from sordino_shared.domains import Domain, Number, Ordered
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_Text = Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]
# The domain has up to 255 attributes; more of them are asked for as text.
_MOST_PICKED = 12


@dataclass(frozen=True)
class PickedQuestions:
    """What the form of the page sends: texts of one kind, what is picked of each attribute for another, a group."""

    kind: QuestionKind | None
    question: tuple[str, ...]
    pick: tuple[str, ...]
    given: str | None


def picked_questions(
    kind: QuestionKind | None = None,
    question: Annotated[list[_Text] | None, Query(max_length=MOST_QUESTIONS + 1)] = None,
    pick: Annotated[list[_Text] | None, Query(max_length=_MOST_PICKED)] = None,
    given: _Text = "",
) -> PickedQuestions:
    """The parameters of the form."""
    asked = tuple(each for each in question or () if each.strip())
    return PickedQuestions(kind, asked, tuple(pick or ()), given.strip() or None)


Picked = Annotated[PickedQuestions, Depends(picked_questions)]


@dataclass(frozen=True)
class _Closed:
    """A closed campaign that answers questions, and the specification of its workload."""

    name: str
    domain: Domain
    specification: dict[str, Any]


@page(router, "/campaigns/{campaign_id}/answers", "answers.html")
async def get_answers(
    _: Analyst, request: Request, context: Injected, campaign_id: DigestPath, picked: Picked
) -> ConsolePage:
    """The form, and below it the answers to what it asks; JSON and CSV are those of the API."""
    closed = await anyio.to_thread.run_sync(_closed, context, campaign_id)
    kind, asked = _asked(closed.domain, picked)
    content, error = b"", None
    if asked or not request.url.path.endswith("/answers"):
        try:
            content = await answers_document(context, campaign_id, kind, asked, picked.given)
        except InvalidValue as refused:
            error = _unless_data(request, refused)
        except ServerError as refused:
            if refused.problem is not Problem.INVALID_REQUEST:
                raise
            error = _unless_data(request, refused)
    address = f"{request.base_url}v1/campaigns/{campaign_id}/answers"
    estimate = read_estimate(content) if content else None
    return ConsolePage(
        title=f"Answers of {closed.name}",
        document=content,
        rows=lambda: table_text(content),
        status=200 if error is None else 422,
        values={
            "campaign": campaign_id,
            "kind": kind,
            "kinds": KINDS,
            "attributes": attributes_of(closed.domain, kind, ())[:_MOST_PICKED],
            "questions": asked,
            "given": picked.given or "",
            "room": len(asked) < MOST_QUESTIONS,
            "error": error,
            "tables": () if estimate is None else kind_of_answers(estimate.kind).tables(estimate, None),
            "drawable": estimate is not None and is_drawable(estimate.table),
            "query": _query(kind, asked, picked.given),
            "copies": _copies(closed, address, kind, asked, picked.given) if content else (),
        },
    )


@router.get("/campaigns/{campaign_id}/answers.svg")
async def draw_answers(_: Analyst, context: Injected, campaign_id: DigestPath, picked: Picked) -> Response:
    """The same answers as a picture."""
    closed = await anyio.to_thread.run_sync(_closed, context, campaign_id)
    kind, asked = _asked(closed.domain, picked)
    return svg(picture.draw(await answers_document(context, campaign_id, kind, asked, picked.given), closed.name))


def _closed(context: Context, campaign_id: str) -> _Closed:
    with context.database.read("console answers") as session:
        answering_round(session, campaign_id, context.clock.now())
        row = campaigns.get(session, campaign_id)
        question = None if row.question is None else Question.model_validate_json(row.question)
        workload = None if question is None else workloads.get(session, question.workload)
        specification = {} if workload is None else json.loads(workload.specification)
    return _Closed(row.name, Manifest.read(row.manifest).domain, specification)


def _asked(domain: Domain, picked: PickedQuestions) -> tuple[QuestionKind, tuple[str, ...]]:
    """The kind, or that which fits the domain, and the questions with what is picked."""
    kind = picked.kind or _first_kind(domain)
    new = (each for each in composed(domain, kind, picked.pick) if each not in picked.question)
    return kind, (*picked.question, *new)


def _first_kind(domain: Domain) -> QuestionKind:
    """Means of numbers, else ranges where an attribute is ordered."""
    if any(isinstance(each, Number) for each in domain.attributes):
        return "mean"
    return "range" if any(isinstance(each, Ordered) for each in domain.attributes) else "marginal"


def _unless_data(request: Request, refused: InvalidValue | ServerError) -> str:
    """What the page says beside the form; raises it again for JSON and CSV."""
    if not request.url.path.endswith("/answers"):
        raise refused
    return refused.detail if isinstance(refused, ServerError) else str(refused)


def _query(kind: str, questions: tuple[str, ...], given: str | None) -> list[tuple[str, str]]:
    return [("kind", kind), *(("question", text) for text in questions), *([] if given is None else [("given", given)])]


def _copies(
    closed: _Closed, address: str, kind: QuestionKind, questions: tuple[str, ...], given: str | None
) -> list[tuple[str, str]]:
    """The questions as code, by what the page calls it."""
    found = [("curl", as_curl(address, kind, questions, given)), ("Python", as_python(address, kind, questions, given))]
    if "domain" in closed.specification and given is None:
        yaml = as_yaml(f"questions about {closed.name}", closed.specification, closed.domain, kind, questions)
        found += [("YAML: a workload that asks just this", yaml)] if yaml else []
    return found
