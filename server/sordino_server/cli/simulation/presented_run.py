"""A simulated campaign of any kind, from its terms to what the command prints; `demo` and `simulate` share it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console

from sordino_analysis.charts import AnswerChart, draw_answers
from sordino_analysis.figures import figure
from sordino_server.cli.output import console, print_json, progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, run_campaign
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.repeated_campaigns import print_repeated, repeated_document, run_campaigns
from sordino_server.cli.simulation.run import RemoteServer, run_simulation
from sordino_server.cli.simulation.server_process import create_key, local_server
from sordino_server.cli.simulation.summary import print_result, result_document


@dataclass(frozen=True, kw_only=True)
class ChartOfResult:
    """The file of a chart, and what it shows of the result."""

    path: Path
    drawn: Callable[[CampaignResult], AnswerChart]


@dataclass(frozen=True, kw_only=True)
class PresentedRun:
    """Where a simulated campaign runs, how many devices are apps, and how its result is printed.

    With `shows_console` a campaign that is kept can be looked at in a browser afterwards; `console_address` is where
    browsers reach the console of the server `remote`.
    """

    apps: int
    keep: bool
    remote: RemoteServer | None
    verbose: bool
    as_json: bool
    shows_console: bool = False
    console_address: str | None = None
    started: float = field(default_factory=time.perf_counter)

    def once(
        self,
        terms: CampaignTerms,
        values: Sequence[object],
        *,
        fields: Mapping[str, object],
        chart: ChartOfResult | None = None,
        remarks: Callable[[CampaignResult], Sequence[str]] = lambda _: (),
    ) -> bool:
        """Run one campaign and print its result; whether its statements are true.

        `fields` are added to the JSON result, `remarks` to what people read.
        """
        result, kept = run_simulation(
            run_campaign, terms, values, apps=self.apps, keep=self.keep, console=progress_console, remote=self.remote
        )
        places = {} if kept is None else {"kept": str(kept)}
        if chart is not None:
            chart.path.write_text(draw_answers(chart.drawn(result)), encoding="utf-8")
            places = {"chart": str(chart.path.resolve()), **places}
        seconds = time.perf_counter() - self.started
        if self.as_json:
            absent = {"kept": None, "chart": None}
            print_json(result_document(result) | dict(fields) | {"seconds": seconds} | absent | places)
        else:
            print_result(console, result, places | {"seconds": figure(seconds, 2)}, self.verbose)
            for line in remarks(result):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
            self._show_console(kept)
        return result.judgement.holds

    def _show_console(self, kept: Path | None) -> None:
        if self.remote is not None and self.console_address is not None:
            with Remote(self.remote.address, self.remote.key) as connection:
                print_link(connection, self.console_address, console)
        elif self.shows_console and kept is not None and self.remote is None:
            serve_kept(kept, console)

    def repeated(
        self, terms: CampaignTerms, values: Sequence[object], repeat: int, *, fields: Mapping[str, object]
    ) -> None:
        """Run `repeat` campaigns, and print how often intervals and bands hold the truth."""
        run = partial(run_campaigns, repeat=repeat)
        results, _ = run_simulation(
            run, terms, values, apps=self.apps, keep=False, console=progress_console, remote=self.remote
        )
        if self.as_json:
            seconds = time.perf_counter() - self.started
            print_json(repeated_document(results) | dict(fields) | {"seconds": seconds})
            return
        print_repeated(console, results, self.verbose)


def print_link(connection: Remote, address: str, console: Console) -> None:
    """Print a link that signs a browser in to the console at `address`, which is the server of the connection."""
    made = connection.post("/console/sign-in-links")
    _say(console, f"console: {address.rstrip('/')}{made['path']}")
    _say(console, "         (signs in once, within 60 seconds, on this machine)")


def serve_kept(folder: Path, console: Console, ask: Callable[[], object] = input) -> None:
    """Serve the database that a simulation kept, with a link at the start and after every Enter, until Ctrl-C.

    Where nobody can press a key, print the command that serves it instead.
    """
    if ask is input and not sys.stdin.isatty():
        _say(console, f"console: SORDINO_DATABASE_URL=sqlite:///{folder / 'sordino.sqlite3'} sordino serve")
        return
    with local_server(folder, Stages(console)) as address, Remote(address, create_key(folder)) as connection:
        try:
            while True:
                print_link(connection, address, console)
                _say(console, "         Enter prints another link, Ctrl-C ends")
                ask()
        except (KeyboardInterrupt, EOFError):
            return


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
