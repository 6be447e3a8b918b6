"""Options of commands about experiments, whether they plan one or create it. They need no numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from sordino_analysis.experiments.looks import Looks
from sordino_server.cli.unused_options import is_given
from sordino_shared.errors import InvalidValue

LooksOption = Annotated[
    Looks,
    typer.Option(
        metavar="RULE",
        help="When one looks: planned (every day), end (once), any (no end), always (no end, for few reports too).",
    ),
]

NewLooksOption = Annotated[
    Looks | None,
    typer.Option(
        metavar="RULE",
        help="When one looks: planned (every day; the default), end (once; the only rule behind a shuffler), any (no "
        "end), always (no end, for few reports too).",
    ),
]


ExpectOption = Annotated[
    str | None,
    typer.Option(
        metavar="X",
        help="With --looks always: what the answer is expected to be. The nearer, the fewer users; it holds anyway.",
    ),
]


def share_of(option: str, text: str) -> float:
    """A number such as 0.01 or 1%; raises InvalidValue for any other text."""
    number, whole = (text[:-1], 100.0) if text.endswith("%") else (text, 1.0)
    try:
        return float(number) / whole
    except ValueError:
        raise InvalidValue(f"{option} takes a number such as 0.01 or 1%, not {text!r}", text) from None


def spread_of(text: str) -> float:
    """`--spread` of a rule; raises InvalidValue for what no users have."""
    spread = share_of("--spread", text)
    if not 0 < spread <= 0.5:
        raise InvalidValue(
            f"--spread is above 0 and at most 50%, where half of the users are at each end of the scale, not {text}",
            text,
        )
    return spread


def looks_behind_shuffler(context: typer.Context) -> Looks:
    """The one rule behind a shuffler; raises InvalidValue where the command line asks for another."""
    if is_given(context, "looks") and context.params["looks"] is not Looks.END:
        raise InvalidValue(
            "behind a shuffler no report is opened before the end, so that an experiment has one look: say --looks "
            "end, or leave --looks out",
            context.params["looks"],
        )
    return Looks.END
