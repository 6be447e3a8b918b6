"""What operators see of an experiment: its rule, its looks, and the one sentence that they allow."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy.orm import Session

from sordino_analysis.figures import amount, span
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import found
from sordino_server.experiments import repository
from sordino_server.experiments.schemas import ExperimentDocument
from sordino_shared.protocol import Manifest


def finding(session: Session, campaign: str) -> str | None:
    """What the last look says, in one sentence; None for a campaign that is no experiment."""
    row = repository.find(session, campaign)
    return None if row is None else finding_of(_made(session, campaign), row.days)


def document(session: Session, campaign: str) -> ExperimentDocument:
    """The experiment of a campaign; raises `not-found` for any other campaign."""
    shown = campaigns.get(session, campaign)
    row = found(repository.find(session, campaign), "the campaign is no experiment")
    made = _made(session, campaign)
    return ExperimentDocument(
        campaign=shown.id,
        name=shown.name,
        state=shown.state,
        arms=[arm.name for arm in Manifest.read(shown.manifest).arms],
        primary=row.primary_query,
        looks=row.looks,
        days=row.days,
        users=row.users,
        spread=row.spread,
        level=row.level,
        made=made,
        finding=finding_of(made, row.days),
    )


def _made(session: Session, campaign: str) -> list[dict[str, Any]]:
    return [json.loads(each.content) for each in repository.looks(session, campaign)]


def finding_of(made: list[dict[str, Any]], days: int) -> str:
    """What the last of the looks that were `made` says, in one sentence."""
    if not made:
        return "no look was made yet: the first one is made when the first day is over"
    last = made[-1]
    if "error" in last:
        return f"the look of day {last['day']} could not be made: {last['error']}"
    if not last["comparisons"]:
        return f"day {last['day']} of {days}: an arm has no reports yet"
    # Looks that were stored before have no unit.
    told = "; ".join(_compared(each, last.get("unit") or "") for each in last["comparisons"])
    alarm = last["sample_ratio"]["alarm"]
    ratio = "the counts of the arms are not those of their weights: no verdict" if alarm else "sample ratio ok"
    return f"day {last['day']} of {days}: {told}; {ratio}"


def _compared(one: dict[str, Any], unit: str) -> str:
    sides = f"{one['arm']} − {one['compared_to']}"
    if one["boundary"] is None:
        return f"{sides}: nothing to say at this look"
    value = amount(one["value"], unit, one["standard_error"])
    reach = span((one["lower"], one["upper"]), unit, one["standard_error"])
    verdict = {
        "higher": f"{one['arm']} is higher",
        "lower": f"{one['arm']} is lower",
        "withheld": "no verdict",
    }.get(one["verdict"], "no difference found yet")
    if one["note"]:
        # The interval first: what stops early is overstated.
        return f"{verdict}, {sides} is {reach} ({value} now; {one['note']})"
    return f"{verdict}, {sides} = {value} ({reach})"
