"""`sordino questions`: what is known, as the console's first page shows it."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

import typer

from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Listing, Shown, remote_command

# As many as the server lists at most.
_AT_ONCE = 60


@remote_command
def questions(
    remote: Remote,
    show: Annotated[
        Literal["all", "answered", "collecting", "drafts", "cancelled"],
        typer.Option(help="Print the questions in these states."),
    ] = "all",
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Print at most the N newest questions.")] = 60,
) -> Shown:
    """Print what is known: each question with its state, one number with its error, and a sentence. Newest first.

    Example:

        sordino questions --show answered --json

    --json also prints the stored sentences and the points of the small picture. No estimate is read, however large it
    is: `sordino campaigns estimates` prints one.
    """
    pages = remote.listed("/v1/questions", "questions", show=show, page_size=_AT_ONCE)
    found = list(islice(pages, limit))
    return {"questions": found}, Listing(
        ("name", "state", "number", "what is known"),
        [(each["name"], each["state"], _number(each), each["says"]) for each in found],
    )


def _number(tile: dict[str, Any]) -> str:
    return f"{tile['number']} {tile['error']}".strip()
