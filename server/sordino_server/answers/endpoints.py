"""/v1/campaigns/{id}/answers"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import StringConstraints

from sordino_analysis.request_terms import LONGEST_QUESTION, MOST_QUESTIONS
from sordino_server.answers.in_process import computed
from sordino_server.answers.service import AnswersKind
from sordino_server.context import Injected
from sordino_server.estimates.schemas import schema_of
from sordino_server.estimates.views import CSV_RESPONSES, IMMUTABLE, Form, as_asked
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.path_parameters import DigestPath
from sordino_shared.errors import InvalidValue

router = APIRouter(prefix="/campaigns", tags=["estimates"], route_class=OperatorRoute)

_Text = Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]
Texts = list[_Text] | None


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
    rule: Annotated[
        Texts, _asked("One known rule of a plan with `scheme: arrangement`, as `wifi:on,beta:off`.")
    ] = None,
) -> tuple[AnswersKind, tuple[str, ...]]:
    """The kind of the questions and their texts; raises InvalidValue unless they are of one kind."""
    kinds: dict[AnswersKind, Texts] = {
        "range": range_,
        "rectangle": rectangle,
        "cell": cell,
        "marginal": marginal,
        "quantile": quantile,
        "rule": rule,
    }
    given = [(kind, tuple(texts)) for kind, texts in kinds.items() if texts]
    if len(given) != 1:
        named = " and ".join(kind for kind, _ in given) or "none of them"
        raise InvalidValue(f"/query: ask questions of one kind, {', '.join(kinds)}, and not {named}", given)
    return given[0]


QuestionsQuery = Annotated[tuple[AnswersKind, tuple[str, ...]], Depends(asked_questions)]


@router.get("/{campaign_id}/answers", response_model=schema_of("answers"), responses=CSV_RESPONSES)
async def get_answers(
    context: Injected,
    _: Analyst,
    request: Request,
    campaign_id: DigestPath,
    questions: QuestionsQuery,
    form: Form = None,
) -> Response:
    """Answers to questions about a closed campaign that its workload need not list; a table with `format=csv`."""
    content = await computed(context, campaign_id, *questions)
    return as_asked(request, content, form, IMMUTABLE)
