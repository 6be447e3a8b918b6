"""A simulated campaign from its terms to what the command prints; `demo` and `simulate` share it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sordino_analysis.charts import AnswerChart, draw_answers
from sordino_server.cli.output import console, print_json, progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, run_campaign
from sordino_server.cli.simulation.concept_campaign import run_concept_campaign
from sordino_server.cli.simulation.concept_summary import concept_summary, print_concept_result
from sordino_server.cli.simulation.kept_console import print_link, serve_kept
from sordino_server.cli.simulation.repeated_campaigns import print_repeated, repeated_document, run_campaigns
from sordino_server.cli.simulation.run import RemoteServer, run_simulation
from sordino_server.cli.simulation.statistic_campaign import run_statistic_campaign
from sordino_server.cli.simulation.statistic_summary import print_statistic_result, statistic_document
from sordino_server.cli.simulation.summary import print_result, result_document


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

    def linear(
        self,
        terms: CampaignTerms,
        values: Sequence[object],
        *,
        chart: Path | None,
        chart_of: Callable[[CampaignResult], AnswerChart],
        fields: Mapping[str, object],
    ) -> None:
        """Estimate linear queries, draw `chart_of` the result to the file `chart`, and print the result.

        `fields` are added to the JSON result.
        """
        result, kept = run_simulation(
            run_campaign, terms, values, apps=self.apps, keep=self.keep, console=progress_console, remote=self.remote
        )
        places = {}
        if chart is not None:
            chart.write_text(draw_answers(chart_of(result)), encoding="utf-8")
            places["chart"] = str(chart.resolve())
        if kept is not None:
            places["kept"] = str(kept)
        seconds = time.perf_counter() - self.started
        if self.as_json:
            absent = {"kept": None, "chart": None}
            print_json(result_document(result) | dict(fields) | {"seconds": seconds} | absent | places)
            return
        print_result(console, result, places | {"seconds": f"{seconds:.1f}"}, self.verbose)
        self._show_console(kept)

    def _show_console(self, kept: Path | None) -> None:
        if self.remote is not None and self.console_address is not None:
            with Remote(self.remote.address, self.remote.key) as connection:
                print_link(connection, self.console_address, console)
        elif self.shows_console and kept is not None and self.remote is None:
            serve_kept(kept, console)

    def repeated(
        self, terms: CampaignTerms, values: Sequence[object], repeat: int, *, fields: Mapping[str, object]
    ) -> None:
        """Run `repeat` campaigns of linear queries, and print how often intervals and bands hold the truth."""
        results, _ = run_simulation(
            partial(run_campaigns, repeat=repeat),
            terms,
            values,
            apps=self.apps,
            keep=False,
            console=progress_console,
            remote=self.remote,
        )
        if self.as_json:
            seconds = time.perf_counter() - self.started
            print_json(repeated_document(results) | dict(fields) | {"seconds": seconds})
            return
        print_repeated(console, results, self.verbose)

    def concepts(self, terms: CampaignTerms, values: Sequence[object], *, fields: Mapping[str, object]) -> bool:
        """Find the rule of a class that predicts a label best and print the result; whether its statement is true."""
        result, kept = run_simulation(
            run_concept_campaign,
            terms,
            values,
            apps=self.apps,
            keep=self.keep,
            console=progress_console,
            remote=self.remote,
        )
        if self.as_json:
            place = {"kept": None if kept is None else str(kept)}
            print_json(concept_summary(result) | dict(fields) | place)
        else:
            print_concept_result(console, result)
            self._show_console(kept)
        return result.statement_holds

    def pairwise(
        self,
        terms: CampaignTerms,
        values: Sequence[object],
        *,
        raw_truth: float | None,
        fields: Mapping[str, object],
    ) -> None:
        """Estimate a pairwise statistic and print the result; `raw_truth` is the truth without bins, where known."""
        result, kept = run_simulation(
            run_statistic_campaign,
            terms,
            values,
            apps=self.apps,
            keep=self.keep,
            console=progress_console,
            remote=self.remote,
        )
        if self.as_json:
            place = {"kept": None if kept is None else str(kept)}
            print_json(statistic_document(result, raw_truth) | dict(fields) | place)
            return
        print_statistic_result(console, result, raw_truth, self.verbose)
        self._show_console(kept)
