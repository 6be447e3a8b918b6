"""The pictures of pages, each an SVG of its own: a page shows it, and a person downloads it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from sordino_analysis.charts import (
    PlanVariances,
    StepChart,
    StepCurve,
    VarianceChart,
    draw_kernel,
    draw_steps,
    draw_variances,
)
from sordino_server import rounds
from sordino_server.aggregates import counted_over_time
from sordino_server.answers import picture
from sordino_server.answers import stored as estimates
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.status import status_of
from sordino_server.console.console_route import Analyst, ConsoleRoute
from sordino_server.console.shared_texts import SharedTexts
from sordino_server.context import Injected
from sordino_server.errors import ServerError
from sordino_server.kit.path_parameters import DigestPath, RequestPath
from sordino_server.plans import service as plans
from sordino_server.populations import service as populations
from sordino_server.populations.charges import charges_of, history
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import Problem
from sordino_shared.quantities import quantity

router = APIRouter(prefix="/console", route_class=ConsoleRoute)

_PARTS_OF_LOG = 200
_HEADERS = {"Content-Security-Policy": picture.POLICY, "Cache-Control": "no-store"}


def svg(text: str | bytes) -> Response:
    """An SVG file as an answer."""
    return Response(text, headers=_HEADERS, media_type="image/svg+xml")


@router.get("/campaigns/{campaign_id}/estimate.svg")
def draw_estimate(_: Analyst, context: Injected, campaign_id: DigestPath) -> Response:
    """The answers with their intervals and band; 404 for an estimate that is no list of answers."""
    with context.database.read("picture of estimate") as session:
        name = campaigns.get(session, campaign_id).name
        content = estimates.stored_last(session, campaign_id, context.clock.now())
    return svg(picture.draw(content, name))


@router.get("/campaigns/{campaign_id}/reports.svg")
async def draw_reports(_: Analyst, request: Request, context: Injected, campaign_id: DigestPath) -> Response:
    """Reports counted over time in each round, against the number wanted; at most a second old."""
    texts: SharedTexts = request.app.state.live_counts
    return svg(await texts.get(f"{campaign_id}/reports.svg", lambda: _reports(context, campaign_id).encode()))


def _reports(context: Injected, campaign_id: str) -> str:
    with context.database.read("picture of reports") as session:
        now = context.clock.now()
        status = status_of(session, campaigns.get(session, campaign_id), now)
        known = [] if status.series else rounds.of_campaign(session, campaign_id)
        counted = {row.index: counted_over_time(session, row.id, _PARTS_OF_LOG) for row in known}
    kinds = ("estimate", "truth", "other")
    curves = [
        StepCurve(f"round {row.index}", kinds[place % 3], [(row.opened_at or steps[0][0], 0), *steps])
        for place, row in enumerate(known)
        if (steps := counted[row.index])
    ]
    if not curves:
        raise ServerError(Problem.NOT_FOUND, "no report is in the log: none was counted yet, or they were deleted")
    wanted = None if status.predicted is None else status.predicted.users_wanted
    chart = StepChart(
        title=f"Reports of {status.name}",
        subtitle=f"{sum(each.reports for each in status.rounds):,} counted",
        axis="reports counted",
        curves=curves,
        levels=[] if wanted is None else [("wanted", wanted)],
        until=status.closed_at or now,
    )
    return draw_steps(chart)


@router.get("/plans/{request_id}/variances.svg")
def draw_plan_variances(_: Analyst, context: Injected, request_id: RequestPath) -> Response:
    """The variance of the candidates against ε, from all plans of the workload and objective, with the bound."""
    with context.database.read("picture of variances") as session:
        found = plans.comparable(session, plans.get(session, request_id))
    kind = "largest" if found[0].objective == "max" else "mean"
    chart = VarianceChart(
        title=f"Variance of {found[0].workload} against ε",
        subtitle=f"{kind} variance of one report, in the plans of this workload",
        plans=[PlanVariances.of(summary) for summary in found],
    )
    return svg(draw_variances(chart))


@router.get("/plans/{request_id}/kernel.svg")
def draw_plan_kernel(_: Analyst, context: Injected, request_id: RequestPath) -> Response:
    """What a device sends for each type of user; 422 where it has too many different reports."""
    with context.database.read("picture of kernel") as session:
        row = plans.get(session, request_id)
        if row.device_digest is None:
            raise ServerError(Problem.PLAN_NOT_READY, "the plan has no device part yet: wait until its state is ready")
        part = plans.device_part(session, row.device_digest)
    subtitle = f"{part.randomizer.kind}, {part.guarantee}, {part.domain.size:,} types of user"
    return svg(draw_kernel("What a device sends", subtitle, part))


@router.get("/populations/{population_id}/ledger.svg")
def draw_ledger(_: Analyst, context: Injected, population_id: DigestPath) -> Response:
    """ε asked of each device over time, with the caps; 404 before the first campaign opens."""
    with context.database.read("picture of ledger") as session:
        now = context.clock.now()
        population = populations.get(session, population_id)
        shown = populations.document(session, population, now)
        found = history(charges_of(session, population), round(shown.asked * NANO), now)
    if not found:
        raise ServerError(Problem.NOT_FOUND, "no campaign opened for this population yet")
    curves = [StepCurve("ε for life", "truth", [(moment, life / NANO) for moment, _, life in found])]
    levels = [("cap for life", shown.epsilon_lifetime)]
    if shown.period_days is not None:
        steps = [(moment, asked / NANO) for moment, asked, _ in found]
        curves.append(StepCurve(f"ε in {quantity(shown.period_days, 'day')}", "estimate", steps))
        levels.append((f"cap of {quantity(shown.period_days, 'day')}", shown.epsilon_per_period))
    chart = StepChart(
        title=f"ε asked of {shown.name}",
        subtitle="of each device, by the campaigns that opened",
        axis="ε of one device",
        curves=curves,
        levels=[(name, cap) for name, cap in levels if cap is not None],
        until=now,
    )
    return svg(draw_steps(chart))
