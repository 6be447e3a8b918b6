"""/v1/questions: what the console's first page shows"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from sordino_server.context import Injected
from sordino_server.keys.authentication import Analyst
from sordino_server.keys.operator_route import OperatorRoute
from sordino_server.kit.page_parameters import page_of
from sordino_server.kit.pagination import Page
from sordino_server.questions import service
from sordino_server.questions.schemas import QuestionList, Show

router = APIRouter(prefix="/questions", tags=["campaigns"], route_class=OperatorRoute)

# As many tiles as a response of 120 kB has room for.
MOST_TILES = 60


def tiles_of(size: int) -> Callable[..., Page]:
    """Reads the page of tiles that a request names, `size` tiles by default."""

    def read(
        page_size: Annotated[int, Query(ge=1, le=MOST_TILES, description="Largest number of tiles.")] = size,
        page_token: Annotated[
            str | None, Query(max_length=500, description="`next_page_token` of the previous page.")
        ] = None,
    ) -> Page:
        return page_of(page_size, page_token)

    return read


TilesQuery = Annotated[Page, Depends(tiles_of(MOST_TILES))]
ShowQuery = Annotated[Show, Query(description="Questions in these states; default: all.")]


@router.get("")
def list_questions(context: Injected, _: Analyst, page: TilesQuery, show: ShowQuery = "all") -> QuestionList:
    """Questions with what is known of each, newest first: the same as the console's first page."""
    with context.database.read("list questions") as session:
        return service.listed(session, page, show)
