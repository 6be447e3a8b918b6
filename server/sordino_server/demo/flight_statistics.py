"""Pairwise statistics of flights: the workload, what each device holds, and the truth before any binning."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np

from sordino_server.demo.flights import Flights

# 15 edges each, in minutes: fixed, since edges fitted to the data would tell something of it without any ε.
DEPARTURE_EDGES = (-10, -7, -5, -3, -1, 1, 5, 10, 15, 20, 30, 45, 60, 90, 120)
ARRIVAL_EDGES = (-30, -20, -15, -10, -5, 0, 5, 10, 15, 20, 30, 45, 60, 90, 120)
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
# The airlines' own definition of a late arrival.
LATE_AFTER_MIN = 15
_LATE, _ON_TIME = "late", "on time"


class FlightStatistic(StrEnum):
    """What the demo can ask of pairs of flights."""

    KENDALL = "kendall"
    AUC = "auc"
    GINI = "gini"


def statistic_specification(statistic: FlightStatistic) -> dict[str, Any]:
    """The workload, the same as in examples/."""
    departure = _line("departure_delay", DEPARTURE_EDGES)
    match statistic:
        case FlightStatistic.KENDALL:
            domain = [departure, _line("arrival_delay", ARRIVAL_EDGES)]
            names = [line["name"] for line in domain]
            return _workload(
                "Kendall's τ of departure and arrival delay",
                domain,
                {"kind": "kendall", "attributes": names, "variant": "a"},
            )
        case FlightStatistic.AUC:
            arrival = {"name": "arrival", "kind": "categorical", "labels": [_ON_TIME, _LATE]}
            return _workload(
                "AUC of departure delay for arriving more than 15 minutes late",
                [departure, arrival],
                {"kind": "auc", "score": "departure_delay", "label": "arrival", "positive": _LATE},
            )
        case FlightStatistic.GINI:
            carrier = {"name": "carrier", "kind": "categorical", "labels": list(CARRIERS), "other": True}
            return _workload("Gini diversity of carriers", [carrier], {"kind": "gini_diversity"})


def device_values(statistic: FlightStatistic, flights: Flights) -> list[dict[str, Any]]:
    """What the device of each flight holds."""
    departure = flights.departure_delay.tolist()
    match statistic:
        case FlightStatistic.KENDALL:
            arrival = flights.arrival_delay.tolist()
            return [{"departure_delay": d, "arrival_delay": a} for d, a in zip(departure, arrival, strict=True)]
        case FlightStatistic.AUC:
            labels = np.where(flights.arrival_delay > LATE_AFTER_MIN, _LATE, _ON_TIME).tolist()
            return [{"departure_delay": d, "arrival": label} for d, label in zip(departure, labels, strict=True)]
        case FlightStatistic.GINI:
            return [{"carrier": carrier} for carrier in flights.carrier.tolist()]


def raw_truth(statistic: FlightStatistic, flights: Flights) -> float:
    """The statistic over the pairs of different flights, in whole minutes and without bins."""
    # Here, since it takes a second and a demo of the delays does without.
    from scipy.stats import kendalltau, rankdata

    match statistic:
        case FlightStatistic.KENDALL:
            departure, arrival = flights.departure_delay, flights.arrival_delay
            tau_b = float(kendalltau(departure, arrival, variant="b").statistic)
            return tau_b * float(np.sqrt(_differ(departure) * _differ(arrival)))
        case FlightStatistic.AUC:
            late = flights.arrival_delay > LATE_AFTER_MIN
            positive, negative = int(late.sum()), int((~late).sum())
            ranks = float(rankdata(flights.departure_delay)[late].sum())
            return (ranks - positive * (positive + 1) / 2) / (positive * negative)
        case FlightStatistic.GINI:
            return _differ(flights.carrier)


def _differ(values: np.ndarray[Any, Any]) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(float)
    users = len(values)
    return 1 - float((counts * (counts - 1)).sum()) / (users * (users - 1))


def _line(name: str, edges: tuple[int, ...]) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "unit": "min", "edges": [float(edge) for edge in edges]}


def _workload(name: str, domain: list[dict[str, Any]], statistic: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "domain": domain, "statistic": statistic}
