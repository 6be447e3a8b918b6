"""`sordino size --share`: how many users a common string needs to be found, for several ε."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Self

import typer
from rich.table import Table

from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.figures import chosen, figure
from sordino_analysis.guarantees.shuffled import FAKE_SHARE, Shuffled
from sordino_analysis.percentages import percent
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.requests import kind_of_question, request_for
from sordino_analysis.strings.crowd import shuffled_strings
from sordino_server.cli.local_planning import asked_specification
from sordino_server.cli.output import console, print_json, print_table
from sordino_server.cli.shuffler_options import shuffler_options
from sordino_server.cli.unused_options import refuse_given
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity

_EPSILONS = ("1", "2", "4")
_LEAST, _MOST = 1e-9, 0.5
_UNUSED = (
    *("arms", "power", "daily", "spread", "looks", "expect", "level", "two_campaigns", "population"),
    *("objective", "mechanism", "protocol", "target", "effort"),
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
    if kind_of_question(asked).name != "strings":
        raise InvalidValue("--share is of `queries: strings`: give --margin for other questions", asked)
    shuffled = shuffler_options(given | {"target_error": None})
    epsilons = given["epsilon"] or ([shuffled["epsilon"]] if given["collector"] else _EPSILONS)
    rows = [_Size.of(asked, PlanningOptions.of(**{"epsilon": each} | shuffled), share) for each in epsilons]
    if given["as_json"]:
        print_json({"share": share, "power": 0.9, "rows": [each.document() for each in rows]})
        return
    console.print(f"users for strings that {percent(share, 2)} of the devices hold, found with 90 %", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("ε", "users", "error of a share"):
        table.add_column(heading, justify="right")
    for each in rows:
        error = percent(1.96 * each.summary.share_error(each.users), 2)
        table.add_row(chosen(each.summary.epsilon), f"{each.users:,}", f"± {error}")
    print_table(table)
    for line in (line for each in rows for line in each.behind_a_shuffler()):
        console.print(line, highlight=False)


@dataclass(frozen=True, kw_only=True)
class _Size:
    """How many users find a share, by the `summary` of a plan.

    `crowd` is what the reports of so many users hide of each other; None of a plan without a shuffler.
    """

    summary: StringsSummary
    users: int
    crowd: Shuffled | None

    @classmethod
    def of(cls, asked: WrittenQuestion, options: PlanningOptions, share: float) -> Self:
        plan = request_for(asked, options).compile(lambda step: None)
        summary = plan.summary.strings
        assert summary is not None, "as of every plan of strings"
        users, collector = summary.users_for(share), options.collector
        crowd = None if collector is None else shuffled_strings(plan.device, users, FAKE_SHARE, collector.bound.delta)
        return cls(summary=summary, users=users, crowd=crowd)

    def document(self) -> dict[str, Any]:
        """The row as JSON."""
        found = {
            "epsilon": self.summary.epsilon,
            "mechanism": self.summary.mechanism,
            "users": self.users,
            "standard_error": self.summary.share_error(self.users),
        }
        blanket = self.summary.blanket
        if blanket is None or self.crowd is None:
            return found
        behind = {"random_reports": blanket.reports, "collector_epsilon": blanket.epsilon, "delta": blanket.delta}
        alone = {"users_without": self.summary.users_without(self.users), "crowd_epsilon": self.crowd.epsilon}
        return found | behind | alone | {"crowd_fake": float(FAKE_SHARE)}

    def behind_a_shuffler(self) -> Iterator[str]:
        """Who hides an answer from the collector, and at what price."""
        blanket = self.summary.blanket
        if blanket is None or self.crowd is None:
            return
        hidden = f"ε = {figure(blanket.epsilon)} at δ = {chosen(blanket.delta)}"
        yield f"  {quantity(blanket.reports, 'random report')} of the shuffler: {hidden}, even if all others are fake"
        fake = percent(float(FAKE_SHARE), 0)
        yield (
            f"  the other devices hide it, too: ε = {figure(self.crowd.epsilon)} at the same δ, if at most {fake} of "
            "all reports are fake"
        )
        without = self.summary.users_without(self.users)
        if without is not None:
            yield f"  without a shuffler, at ε = {chosen(blanket.epsilon)} of a device, it takes {without:,} users"


def share_of(text: str) -> float:
    """A share from a billionth to a half, such as 0.005 or 0.5%; raises InvalidValue."""
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not _LEAST <= share <= _MOST:
        raise InvalidValue(f"--share is from 0.0000001% to 50%, such as 0.005 or 0.5%, not {text!r}", text)
    return share
