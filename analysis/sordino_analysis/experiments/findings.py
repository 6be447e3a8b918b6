"""What the looks at an experiment say, in one sentence. Servers and commands import this: it needs no estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sordino_analysis.experiments.looks import Looks
from sordino_analysis.figures import amount, span


def finding_of(made: Sequence[Mapping[str, Any]], looks: Looks, days: int) -> str:
    """What the last of the looks that were `made` says, in one sentence; `looks` is the rule."""
    if not made:
        return f"no look was made yet: {_first_look(looks)}"
    last = made[-1]
    if "error" in last:
        return f"the look of day {last['day']} could not be made: {last['error']}"
    if not last["comparisons"]:
        return f"day {last['day']} of {days}: {_without_reports(last)}"
    # Looks that were stored before have no unit.
    told = "; ".join(_compared(each, last.get("unit") or "") for each in last["comparisons"])
    alarm = last["sample_ratio"]["alarm"]
    ratio = "the counts of the arms are not those of their weights: no verdict" if alarm else "sample ratio ok"
    return f"day {last['day']} of {days}: {told}; {ratio}"


def _without_reports(look: Mapping[str, Any]) -> str:
    """Which arms have no reports, and whether some may still come."""
    names = [each["arm"] for each in look["arms"] if not each["reports"]]
    arms = f"arm {names[0]} has" if len(names) == 1 else f"arms {', '.join(names)} have"
    if look["ended"] or look.get("closed"):
        return f"{arms} no reports, and the experiment is closed: there is nothing to compare"
    return f"{arms} no reports yet"


def _first_look(looks: Looks) -> str:
    if looks is Looks.END:
        return "the only one is made when the experiment is closed"
    return "the first one is made when the first day is over"


def _compared(one: Mapping[str, Any], unit: str) -> str:
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
