"""The parameters of a URL that name a `Page`, apart from it: a worker, which has no URLs, lists pages too."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from sordino_server.kit.pagination import MAX_PAGE, Page, Position


def page_of(
    page_size: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Largest number of rows in a response.")] = 50,
    page_token: Annotated[
        str | None, Query(max_length=500, description="`next_page_token` of the previous page.")
    ] = None,
) -> Page:
    """The page that a request names."""
    return Page(page_size, None if page_token is None else Position.parse(page_token))


PageQuery = Annotated[Page, Depends(page_of)]
