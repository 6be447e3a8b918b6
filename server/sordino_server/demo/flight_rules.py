"""Which flights arrive more than 30 minutes late: rules about carrier, hour, month and origin."""

from __future__ import annotations

from typing import Any

from sordino_server.demo.flights import Flights

LATE_MINUTES = 30
# Chosen from what a traveller knows, not from the data: the largest carriers, half-days, holidays, the airports.
_CARRIERS, _MONTHS, _ORIGINS = ("B6", "DL", "EV", "UA"), ("6", "7", "12"), ("EWR", "JFK", "LGA")
_HOURS = (12, 15, 18)
_ALL_CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")


def rule_specification() -> dict[str, Any]:
    """Conjunctions of up to two of thirteen indicators; a late flight that is missed costs five false alarms."""
    return {
        "name": "which flights arrive more than 30 minutes late",
        "domain": [
            {"name": "carrier", "kind": "categorical", "labels": list(_ALL_CARRIERS)},
            {"name": "hour", "kind": "integers", "low": 0, "high": 23},
            {"name": "month", "kind": "integers", "low": 1, "high": 12},
            {"name": "origin", "kind": "categorical", "labels": list(_ORIGINS)},
            {"name": "arrival_delay", "kind": "ordinal", "edges": [float(LATE_MINUTES)], "unit": "min"},
        ],
        "queries": {
            "class": "conjunctions",
            "width": 2,
            "label": {"attribute": "arrival_delay", "from": LATE_MINUTES},
            "over": [
                {"attribute": "carrier", "members": list(_CARRIERS)},
                *({"attribute": "hour", "from": hour} for hour in _HOURS),
                {"attribute": "month", "members": list(_MONTHS)},
                {"attribute": "origin", "members": list(_ORIGINS)},
            ],
            "cost": {"miss": 5.0, "false_alarm": 1.0},
        },
    }


def flight_values(flights: Flights) -> list[dict[str, object]]:
    """What each device holds."""
    columns = {
        "carrier": flights.carrier.tolist(),
        "hour": flights.hour.tolist(),
        "month": flights.month.tolist(),
        "origin": flights.origin.tolist(),
        "arrival_delay": flights.arrival_delay.tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
