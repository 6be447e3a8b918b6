"""Small crowds, said before a campaign is opened: how far answers may be off, and --anyway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sordino_server.cli.output import console, print_json, print_table, say
from sordino_server.cli.remote import Remote
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_analysis.documents.plan_summary import AnySummary

AnywayOption = Annotated[
    bool, typer.Option("--anyway", help="With --open: open it although the reports are too few to tell.")
]


def check_crowd(
    remote: Remote,
    plan_request: str,
    reports: int | None,
    *,
    open_now: bool,
    anyway: bool,
    closes_after: Sequence[int] | None = None,
) -> None:
    """Say how far the answers of a finished plan may be off, or how many reports they take where nobody said how many.

    With `reports`, else the users that it was planned for, and no more than those after which its round closes. Raises
    InvalidValue where an interval reaches further than a tenth of an answer's scale and the campaign would be opened.
    """
    if anyway and not open_now:
        raise InvalidValue("--anyway goes with --open: without it nothing is opened")
    summary: dict[str, Any] | None = remote.get(f"/v1/plan-requests/{plan_request}")["summary"]
    # A pairwise statistic, and a plan of before, have none; of a plan that is not ready, the server says so.
    if summary is None or summary.get("crowd") is None:
        return
    # Other commands need no numbers and should not wait for their libraries.
    from sordino_analysis.documents.plan_summary import LinearSummary

    plan = LinearSummary.model_validate(summary)
    assert plan.crowd is not None
    most = [each for each in closes_after or () if each] if plan.shares is None else []
    planned = plan.users if reports is None else reports
    expected = min([*most, *([] if planned is None else [planned])], default=None)
    crowd = None if expected is None else plan.crowd_of(expected)
    if crowd is None:
        say(plan.crowd.hint)
        return
    if not crowd.too_few:
        return
    if open_now and not anyway:
        raise InvalidValue(f"{crowd.sentence}. Nothing was created: --anyway opens it all the same", crowd)
    say(f"warning: {crowd.sentence}")


def show_crowds(reports: int, plans: Sequence[AnySummary], as_json: bool) -> None:
    """Print how far answers from so many reports may be off with each plan, one for each ε.

    Raises InvalidValue where so few reports answer nothing.
    """
    from sordino_analysis.documents.crowd_size import ADVICE
    from sordino_analysis.figures import chosen
    from sordino_analysis.percentages import percent

    linear = [each.linear for each in plans]
    rows = [(each, crowd) for each in linear if each is not None and (crowd := each.crowd_of(reports)) is not None]
    if not rows:
        raise InvalidValue(f"{quantity(reports, 'report')} answer nothing: --reports is larger", reports)
    if as_json:
        print_json(
            {
                "reports": reports,
                "level": 0.95,
                "rows": [
                    {
                        "epsilon": summary.epsilon,
                        "mechanism": summary.mechanism,
                        "half_width": crowd.half_width,
                        "too_few": crowd.too_few,
                        "needed": crowd.needed,
                    }
                    for summary, crowd in rows
                ],
            }
        )
        return
    console.print(f"answers of {quantity(reports, 'report')} at 95 %, of the population", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("ε", "one answer", "reports for ± 10 %"):
        table.add_column(heading, justify="right")
    table.add_column("mechanism", no_wrap=True)
    for summary, crowd in rows:
        needed = "none are enough" if crowd.needed is None else f"{crowd.needed:,}"
        width = f"± {percent(crowd.half_width, 1)}"
        table.add_row(chosen(summary.epsilon), width, needed, summary.mechanism)
    print_table(table)
    few = [chosen(summary.epsilon) for summary, crowd in rows if crowd.too_few]
    if few:
        say(f"warning: too few to tell at ε = {', '.join(few)}: {ADVICE}")
