"""The picture of answers of any kind, the same in the console and from the command line."""

from __future__ import annotations

from sordino_analysis.answers.svg import NoPicture, draw_answers_of
from sordino_analysis.kinds.registry import kind_of_answers
from sordino_server.answers.stored import read_estimate
from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity

# A picture is a document of its own: its styles are inside, and it loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def draw(content: bytes, name: str, fewest: int = 0) -> str:
    """The text of an SVG file of answers about the campaign `name`; raises `not-found` for those that have none.

    Fewer than `fewest` users are only called so.
    """
    estimate = read_estimate(content)
    kind, count = kind_of_answers(estimate.kind), estimate.terms.get("users")
    few = isinstance(count, int) and count < fewest
    users = f"fewer than {fewest:,} users" if few else quantity(count, "user") if isinstance(count, int) else ""
    try:
        return draw_answers_of(estimate.table, name, kind.caption(estimate, users), kind.base(estimate))
    except NoPicture as error:
        raise ServerError(Problem.NOT_FOUND, str(error)) from error
