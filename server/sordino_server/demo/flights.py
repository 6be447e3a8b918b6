"""Real values for simulated devices: flights from New York in 2013, and questions about their arrival delays.

flights.txt has the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_shared.errors import InvalidValue

DATA = Path(__file__).with_name("flights.npz")
ATTRIBUTE = "arrival_delay"
MOST_BINS = 240

# 64 bins need 63 edges, in minutes: every second minute from −38 to 20, where most flights arrive, and ever
# wider steps on both sides. They are fixed: edges fitted to the data would tell something of it without any ε.
EDGES = (
    *(-60.0, -55.0, -50.0, -45.0, -40.0),
    *(float(edge) for edge in range(-38, 21, 2)),
    *(25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0),
    *(70.0, 80.0, 90.0, 100.0, 110.0, 120.0, 135.0, 150.0, 165.0, 180.0),
    *(210.0, 240.0, 270.0, 300.0, 360.0, 420.0, 480.0, 600.0, 720.0, 900.0),
)


class DelayQueries(StrEnum):
    """What the demo can ask of delays."""

    HISTOGRAM = "histogram"
    PREFIX = "prefix"
    RANGES = "ranges"


@dataclass(frozen=True, kw_only=True)
class Flights:
    """Columns of equal length: delays in whole minutes (negative: early), codes of airline and airport, and when.

    `month` is 1 to 12 and `hour` that of the scheduled departure, 5 to 23.
    """

    arrival_delay: NDArray[np.int16]
    departure_delay: NDArray[np.int16]
    carrier: NDArray[np.str_]
    origin: NDArray[np.str_]
    month: NDArray[np.uint8]
    hour: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.arrival_delay)


def load_flights() -> Flights:
    """The 327,346 flights of 2013 whose two delays are known, sorted by airline and delay."""
    with np.load(DATA, allow_pickle=False) as columns:
        return Flights(
            arrival_delay=columns["arrival_delay"].astype(np.int16),
            departure_delay=columns["departure_delay"].astype(np.int16),
            carrier=columns["carriers"][columns["carrier"]],
            origin=columns["origins"][columns["origin"]],
            month=columns["month"],
            hour=columns["hour"],
        )


def draw_delays(users: int, seed: int) -> NDArray[np.int16]:
    """(users,) arrival delays of different flights in random order; flights are drawn repeatedly above 327,346."""
    delays = load_flights().arrival_delay
    generator = np.random.default_rng(seed)
    return generator.choice(delays, size=users, replace=users > len(delays))


def draw_flights(users: int, seed: int) -> Flights:
    """`users` different flights in random order; flights are drawn repeatedly above 327,346."""
    flights = load_flights()
    drawn = np.random.default_rng(seed).choice(len(flights), size=users, replace=users > len(flights))
    return Flights(**{name: column[drawn] for name, column in vars(flights).items()})


def delay_edges(bins: int) -> tuple[float, ...]:
    """bins − 1 edges spread like the 63 of `EDGES`: whole minutes up to 64 bins, half minutes above."""
    if not 2 <= bins <= MOST_BINS:
        raise InvalidValue(f"the demo cuts delays into 2 to {MOST_BINS} bins, not {bins}", bins)
    last = len(EDGES) - 1
    places = np.linspace(0, last, bins - 1) if bins > 2 else np.array([last / 2])
    grain = 1 if bins <= len(EDGES) + 1 else 2
    edges = np.floor(np.interp(places, np.arange(last + 1), EDGES) * grain + 0.5) / grain
    return tuple(edges.tolist())


def delay_specification(kind: DelayQueries, bins: int) -> dict[str, Any]:
    """The workload of the demo: one exhaustive ordinal attribute, since every number has a bin."""
    line = {"name": ATTRIBUTE, "kind": "ordinal", "unit": "min", "edges": list(delay_edges(bins))}
    return {"name": f"arrival delays of flights, {kind} over {bins} bins", "domain": [line], "queries": kind.value}


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
