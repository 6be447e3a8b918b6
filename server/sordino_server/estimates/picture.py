"""The picture of a stored estimate, the same in the console and from the command line."""

from __future__ import annotations

from sordino_analysis.answers.svg import NoPicture, draw_answers_of
from sordino_analysis.figures import chosen
from sordino_analysis.kinds.registry import kind_named
from sordino_server.errors import ServerError
from sordino_server.estimates.stored_estimate import read_estimate
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity

# A picture is a document of its own: its styles are inside, and it loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def draw(content: bytes, name: str, fewest: int = 0) -> str:
    """The text of an SVG file of the estimate of the campaign `name`; raises `not-found` for one that has none.

    Fewer than `fewest` users are only called so.
    """
    estimate = read_estimate(content)
    few = estimate.users < fewest
    users = f"fewer than {fewest:,} users" if few else quantity(estimate.users, "user")
    epsilon = estimate.terms["epsilon"]
    assert isinstance(epsilon, int | float)
    subtitle = f"{users}, ε = {chosen(epsilon)}"
    try:
        return draw_answers_of(estimate.table, name, subtitle, kind_named(estimate.kind).base(estimate))
    except NoPicture as error:
        raise ServerError(Problem.NOT_FOUND, str(error)) from error
