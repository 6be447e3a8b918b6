"""`--collect-for` and `--source` of `sordino serve`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

CollectForOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOME",
        help="Only collect reports for the server at this address, with the keys of the settings; default: "
        "SORDINO_COLLECT_FOR.",
    ),
]
CollectorSourceOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --collect-for: this server's name in manifests; default: SORDINO_SOURCE."),
]


def set_collector(collect_for: str | None, source: str | None) -> None:
    """Make the options settings of this process and of those that it starts."""
    for setting, value in (("SORDINO_COLLECT_FOR", collect_for), ("SORDINO_SOURCE", source)):
        if value is not None:
            os.environ[setting] = value
