"""Follow a campaign until its estimates are ready: counts, rate, refusals, and the state of every round."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sordino_analysis.figures import figure
from sordino_analysis.percentages import percent
from sordino_server.cli.remote import Remote
from sordino_shared.protocol import CampaignState, RoundState
from sordino_shared.quantities import quantity

_ENDED = (RoundState.ESTIMATED, RoundState.CANCELLED)


@dataclass(frozen=True)
class Seen:
    """The status of a campaign and when it was read, in seconds of a clock that does not jump."""

    status: Mapping[str, Any]
    at: float

    @property
    def reports(self) -> int:
        """Reports counted over all rounds."""
        return sum(each["reports"] for each in self.status["rounds"])

    @property
    def over(self) -> bool:
        """Whether nothing more happens by itself: cancelled, estimated, or a round that failed."""
        rounds = self.status["rounds"]
        failed = any(each["error"] for each in rounds)
        ended = self.status["state"] in (CampaignState.CLOSED, CampaignState.CANCELLED)
        return failed or (ended and all(each["state"] in _ENDED for each in rounds))

    def rate(self, before: Seen | None) -> float | None:
        """Reports a second since `before`; None without one."""
        if before is None or self.at <= before.at:
            return None
        return (self.reports - before.reports) / (self.at - before.at)


def watch(
    remote: Remote,
    campaign: str,
    console: Console,
    every_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Mapping[str, Any]:
    """Show the campaign every `every_s` seconds until it is over; returns its last status.

    On a terminal the same lines change; elsewhere a line is printed whenever something has changed.
    """
    before: Seen | None = None
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            seen = Seen(remote.get(f"/v1/campaigns/{campaign}/status"), clock())
            if console.is_terminal:
                live.update(_shown(seen, before), refresh=True)
            elif before is None or before.status != seen.status:
                live.console.print(_line(seen), highlight=False, markup=False, soft_wrap=True)
            if seen.over:
                return seen.status
            before = seen
            sleep(every_s)


def _line(seen: Seen) -> str:
    rounds = ", ".join(
        f"round {each['index']} {each['state']}{_search(each)}{_batch(each)}" for each in seen.status["rounds"]
    )
    return f"{seen.status['name']}: {seen.status['state']}, {quantity(seen.reports, 'report')}; {rounds}"


def _shown(seen: Seen, before: Seen | None) -> Group:
    status, rate = seen.status, seen.rate(before)
    speed = "" if rate is None else f", {figure(rate, 2)} a second"
    title = Text(f"{status['name']}: {status['state']}, {quantity(seen.reports, 'report')}{speed}", style="bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("round", "state", "reports", "closes after"):
        table.add_column(heading, justify="left" if heading == "state" else "right")
    for each in status["rounds"]:
        table.add_row(str(each["index"]), each["state"] + _search(each), f"{each['reports']:,}", _closing(each))
    refused = [Text(f"refused, {reason}: {count:,}") for reason, count in status["refusals"].items()]
    failed = [Text(f"round {each['index']} failed: {each['error']}") for each in status["rounds"] if each["error"]]
    batches = [Text(f"round {each['index']}{_batch(each)}") for each in status["rounds"] if each["batch"]]
    return Group(title, table, *batches, *refused, *failed)


def _batch(status: Mapping[str, Any]) -> str:
    return f": {status['batch']['message']}" if status["batch"] else ""


def _search(status: Mapping[str, Any]) -> str:
    return "" if status["progress"] is None else f", searched: {percent(status['progress'], 0)}"


def _closing(status: Mapping[str, Any]) -> str:
    rules = []
    if status["close_after_reports"] is not None:
        rules.append(quantity(status["close_after_reports"], "report"))
    if status["close_after_s"] is not None:
        rules.append(f"{status['close_after_s']:,} s")
    return " or ".join(rules)
