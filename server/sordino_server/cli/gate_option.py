"""The option --gate of commands that create campaigns, and what is shown of a gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sordino_shared.errors import InvalidValue

GateOption = Annotated[
    str | None,
    typer.Option(
        metavar="GATE",
        help="Count one report for each token, which a device gets through this gate: account, hook, or address:N for "
        "N tokens a day and network address. Permanent.",
    ),
]


def gate_terms(given: str | None) -> dict[str, Any]:
    """The gate that a campaign is created with; raises InvalidValue for text that names none."""
    if given is None:
        return {}
    kind, colon, quota = given.partition(":")
    if colon and not (kind == "address" and quota.isascii() and quota.isdecimal()):
        raise InvalidValue(
            f"--gate: write account, hook, or address and a number, such as address:5; got {given!r}", given
        )
    return {"gate": {"kind": kind, "per_day": int(quota) if colon else None}}


def gate_words(gate: Mapping[str, Any]) -> str:
    """Through what a device gets a token."""
    return {
        "account": "one for each account of the app's backend",
        "address": f"{gate['per_day']} a day for each network address",
        "hook": "for whom the program SORDINO_TOKEN_HOOK says yes",
    }[gate["kind"]]
