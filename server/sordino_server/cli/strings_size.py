"""`sordino size --share`: how many users a common string needs to be found, for several ε."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.figures import chosen
from sordino_analysis.percentages import percent
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.requests import request_for
from sordino_server.cli.local_planning import asked_specification
from sordino_server.cli.output import console, print_json, print_table
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.errors import InvalidValue

_EPSILONS = ("1", "2", "4")
_LEAST, _MOST = 1e-9, 0.5
_UNUSED = (
    *("arms", "power", "daily", "spread", "looks", "expect", "level", "two_campaigns", "population", "collector"),
    *("device_epsilon", "weak_epsilon", "objective", "mechanism", "protocol", "target", "effort"),
)

ShareOption = Annotated[
    str | None,
    typer.Option(metavar="X", help="Of `queries: strings`: the share from which on strings are to be found, as 0.5%."),
]


def size_strings(context: typer.Context) -> None:
    """Print for each ε the users with whom strings of a share are found with 90 %; raises InvalidValue."""
    refuse_given(context, _UNUSED, "they do not go with --share, which is about common strings")
    given = context.params
    share = share_of(given["share"])
    asked = asked_specification(given["workload"], given["size"], given["file"])
    rows = []
    for epsilon in given["epsilon"] or _EPSILONS:
        summary = request_for(asked, PlanningOptions.of(epsilon=epsilon)).compile(lambda step: None).summary.strings
        if summary is None:
            raise InvalidValue("--share is of `queries: strings`: give --margin for other questions", asked)
        rows.append(summary)
    if given["as_json"]:
        print_json({"share": share, "power": 0.9, "rows": [_row(each, share) for each in rows]})
        return
    console.print(f"users for strings that {percent(share, 2)} of the devices hold, found with 90 %", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("ε", "users", "error of a share"):
        table.add_column(heading, justify="right")
    for each in rows:
        users = each.users_for(share)
        table.add_row(chosen(each.epsilon), f"{users:,}", f"± {percent(1.96 * each.share_error(users), 2)}")
    print_table(table)


def _row(summary: StringsSummary, share: float) -> dict[str, Any]:
    users = summary.users_for(share)
    return {
        "epsilon": summary.epsilon,
        "mechanism": summary.mechanism,
        "users": users,
        "standard_error": summary.share_error(users),
    }


def share_of(text: str) -> float:
    """A share from a billionth to a half, such as 0.005 or 0.5%; raises InvalidValue."""
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not _LEAST <= share <= _MOST:
        raise InvalidValue(f"--share is from 0.0000001% to 50%, such as 0.005 or 0.5%, not {text!r}", text)
    return share
