"""/console/experiments: all experiments; an experiment with its one verdict, by the rule that was pinned"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from sordino_analysis.charts import DifferenceChart, DifferenceRow, draw_differences
from sordino_analysis.charts.differences import MOST_ROWS
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.figures import amount, span
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.pages import ConsolePage, page
from sordino_server.console.picture_endpoints import svg
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.experiments import listing, service
from sordino_server.experiments.schemas import ExperimentDocument
from sordino_server.kit.page_parameters import PageQuery
from sordino_server.kit.path_parameters import DigestPath
from sordino_shared.protocol import CampaignState, Problem
from sordino_shared.quantities import quantity

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_LIST_COLUMNS = ("campaign", "name", "state", "primary", "looks", "day", "days", "users", "finding", "created_at")
_LOOK_COLUMNS = (
    "day", "arm", "compared_to", "unit", "value", "lower", "upper", "boundary", "information_share", "verdict", "note",
    "reports", "sample_ratio_alarm",
)  # fmt: skip
RULES = {
    Looks.PLANNED: "planned looks: every day, all days together at the level",
    Looks.END: "one look, on the last day",
    Looks.ANY: "looks at any time, without a planned end",
    Looks.ALWAYS: "looks at any time, without a planned end, which hold for any number of reports",
}


class LookLine(BaseModel):
    """One arm against the first at one look, by the boundary of the rule; `reports` are of all arms so far."""

    day: int
    arm: str
    compared_to: str
    value: float
    lower: float | None
    upper: float | None
    boundary: float | None
    information_share: float
    verdict: str
    note: str | None
    reports: int
    sample_ratio_alarm: bool
    standard_error: float
    unit: str

    @property
    def difference(self) -> str:
        """The difference now, with its unit."""
        return amount(self.value, self.unit, self.standard_error)

    @property
    def interval(self) -> str:
        """The interval of the rule, or a dash at a look that spends nothing."""
        if self.lower is None or self.upper is None:
            return "–"
        return span((self.lower, self.upper), self.unit, self.standard_error)

    @property
    def sides(self) -> str:
        """What is subtracted from what."""
        return f"{self.arm} − {self.compared_to}"


@page(router, "/experiments", "experiments.html", _LIST_COLUMNS)
def list_experiments(_: Analyst, context: Injected, requested: PageQuery) -> ConsolePage:
    """Experiments, newest first, with what the last look of each says."""
    with context.database.read("console experiments") as session:
        found = listing.listed(session, requested)
    return ConsolePage(title="Experiments", document=found, rows=found.experiments)


@page(router, "/experiments/{campaign_id}", "experiment.html", _LOOK_COLUMNS)
def get_experiment(_: Analyst, context: Injected, campaign_id: DigestPath) -> ConsolePage:
    """An experiment: one verdict by one rule; the table has a row for each arm after the first at each look."""
    found = _document(context, campaign_id)
    lines = list(_lines(found))
    last = found.made[-1] if found.made else None
    arms = found.arms
    values = {
        "pairs": [(arms[0], arm) for arm in arms[1:]] if found.state == CampaignState.CLOSED else [],
        "rule": RULES[Looks(found.looks)],
        "last": last,
        "warnings": [] if last is None else _warnings(last),
        "drawable": any(line.boundary is not None for line in lines),
    }
    return ConsolePage(title=found.name, document=found, rows=lines, values=values)


@router.get("/experiments/{campaign_id}/looks.svg")
def draw_looks(_: Analyst, context: Injected, campaign_id: DigestPath) -> Response:
    """The difference at each look with the interval of the rule; 404 before the first look that has one."""
    found = _document(context, campaign_id)
    lines = list(_lines(found))
    rows = [
        DifferenceRow(
            f"day {line.day}: {line.sides}",
            line.value,
            (line.lower, line.upper),
            line.verdict,
        )
        for line in lines
        if line.lower is not None and line.upper is not None
    ]
    if not rows:
        raise ServerError(Problem.NOT_FOUND, "no look of the experiment has an interval yet")
    chart = DifferenceChart(
        title=f"Looks at {found.name}",
        subtitle=f"{found.primary}, {quantity(len(found.made), 'look')} of {quantity(found.days, 'day')}",
        axis="difference",
        band="interval of the rule",
        unit=lines[-1].unit,
        rows=rows[-MOST_ROWS:],
    )
    return svg(draw_differences(chart))


def _document(context: Injected, campaign_id: str) -> ExperimentDocument:
    with context.database.read("console experiment") as session:
        return service.document(session, campaign_id)


def _lines(found: ExperimentDocument) -> Iterator[LookLine]:
    for look in found.made:
        common = {
            "day": look["day"],
            "reports": sum(arm["reports"] for arm in look["arms"]),
            "sample_ratio_alarm": look.get("sample_ratio", {}).get("alarm", False),
            # Looks that were stored before have no unit.
            "unit": look.get("unit") or "",
        }
        for each in look["comparisons"]:
            yield LookLine.model_validate({name: each[name] for name in LookLine.model_fields if name in each} | common)


def _warnings(look: dict[str, Any]) -> list[str]:
    # Looks that were stored before have no warnings.
    return list(dict.fromkeys(warning for each in look["comparisons"] for warning in each.get("warnings", ())))
