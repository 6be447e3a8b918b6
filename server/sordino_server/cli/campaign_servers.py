"""`--source`: the servers of a campaign that has several, by name and addresses."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sordino_shared.errors import InvalidValue

SourcesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=URL[,URL]",
        help="A server of the campaign: the first is this one, others collect for it. Repeat it for each. Permanent.",
    ),
]


def server_terms(sources: list[str] | None) -> list[dict[str, Any]]:
    """Names and addresses; raises InvalidValue for text of another form."""
    found = []
    for text in sources or ():
        name, equals, urls = text.partition("=")
        if not equals or not name or not urls:
            raise InvalidValue(f"--source {text}: write NAME=URL, as in eu=https://eu.example", text)
        found.append({"name": name, "urls": urls.split(",")})
    return found
