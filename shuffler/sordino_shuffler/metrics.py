"""Counters for the shuffler's operator, in Prometheus' text form. None names a campaign, an address or a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sordino_shuffler.store import State


class ShufflerCounts:
    """What one process counted since its start."""

    def __init__(self) -> None:
        self.reports: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def text(self, rounds: Iterable[State], troubles: int, waiting_bytes: int) -> str:
        """The page of metrics, with gauges of the moment."""
        states = Counter(state.value for state in rounds)
        lines = [
            *_metric("reports_total", "counter", "Sealed reports, by what became of them.", "outcome", self.reports),
            *_metric("refused_total", "counter", "Requests refused, by problem.", "problem", self.refused),
            *_metric(
                "rounds",
                "gauge",
                "Rounds by state.",
                "state",
                Counter({each.value: states[each.value] for each in State}),
            ),
            *_number("troubles", "Campaigns and rounds that `sordino-shuffler status` says something of.", troubles),
            *_number("waiting_bytes", "Sealed bytes that wait to be written.", waiting_bytes),
        ]
        return "\n".join([*lines, ""])


def _metric(name: str, kind: str, meaning: str, label: str, values: Counter[str]) -> Iterable[str]:
    yield f"# HELP sordino_shuffler_{name} {meaning}"
    yield f"# TYPE sordino_shuffler_{name} {kind}"
    for value, count in sorted(values.items()):
        yield f'sordino_shuffler_{name}{{{label}="{value}"}} {count}'


def _number(name: str, meaning: str, value: int) -> Iterable[str]:
    yield f"# HELP sordino_shuffler_{name} {meaning}"
    yield f"# TYPE sordino_shuffler_{name} gauge"
    yield f"sordino_shuffler_{name} {value}"
