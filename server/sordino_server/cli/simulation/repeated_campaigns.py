"""The same campaign several times with fresh noise: how often intervals and bands hold the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.figures import amount, chosen
from sordino_analysis.percentages import percent
from sordino_server.cli.output import print_table
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, Devices, run_campaign
from sordino_server.cli.simulation.progress import Stages
from sordino_shared.quantities import quantity

_FIGURES = ("interval_coverage", "band_holds", "rms_error", "best_rms_error", "max_abs_error")


@dataclass(frozen=True)
class RepeatedResult:
    """The results of campaigns with one plan and the same devices; each figure is None where the kind has none."""

    campaigns: tuple[CampaignResult, ...]

    @property
    def campaign(self) -> str:
        """Id of the first campaign."""
        return self.campaigns[0].campaign

    @property
    def document(self) -> Mapping[str, Any]:
        """The estimate of the first campaign, as the server has it."""
        return self.campaigns[0].document

    @property
    def estimate(self) -> EstimateDocument:
        """The estimate of the first campaign."""
        return self.campaigns[0].estimate

    @property
    def interval_coverage(self) -> float | None:
        """Share of all intervals that hold the truth."""
        return _mean(one.comparison.interval_coverage for one in self.campaigns)

    @property
    def band_coverage(self) -> float | None:
        """Share of the campaigns whose band holds all true answers."""
        return _mean(one.comparison.band_holds for one in self.campaigns)

    @property
    def rms_error(self) -> float | None:
        """Root of the mean squared error over campaigns and answers."""
        return _root_mean_square(one.comparison.rms_error for one in self.campaigns)

    @property
    def best_rms_error(self) -> float | None:
        """The same of the best guesses."""
        return _root_mean_square(one.comparison.best_rms_error for one in self.campaigns)


def _root_mean_square(errors: Iterable[float | None]) -> float | None:
    squared = _mean(None if error is None else error**2 for error in errors)
    return None if squared is None else float(np.sqrt(squared))


def _mean(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return float(np.mean(known)) if known else None


def run_campaigns(
    remote: Remote, address: str, terms: CampaignTerms, devices: Devices, stages: Stages, *, repeat: int
) -> RepeatedResult:
    """`repeat` campaigns that differ in their name and in the noise of the devices; the plan is computed once."""
    results = []
    for index in range(repeat):
        ledgers = devices.ledgers / str(index)
        ledgers.mkdir()
        named = replace(terms, name=f"{terms.name[:180]}, {index + 1} of {repeat}")
        results.append(run_campaign(remote, address, named, replace(devices, ledgers=ledgers), stages, noise=index))
    return RepeatedResult(tuple(results))


def repeated_document(result: RepeatedResult) -> dict[str, Any]:
    """The results under the names that `--json` documents."""
    first = result.campaigns[0]
    return {
        "repeat": len(result.campaigns),
        "kind": first.estimate.kind,
        **{name: first.estimate.terms[name] for name in ("users", "epsilon", "level", "mechanism")},
        "interval_coverage": result.interval_coverage,
        "band_coverage": result.band_coverage,
        "rms_error": result.rms_error,
        "best_rms_error": result.best_rms_error,
        "predicted_error": first.kind.predicted_error(first.estimate),
        "campaigns": [
            {"campaign": one.campaign, **{name: getattr(one.comparison, name) for name in _FIGURES}}
            for one in result.campaigns
        ],
    }


def print_repeated(console: Console, result: RepeatedResult, verbose: bool) -> None:
    """The shares that hold and the error over all campaigns; a row for each with `verbose`."""
    if verbose:
        print_table(_campaigns(result))
    first, level = result.campaigns[0], percent(result.estimate.table.level)
    unit, predicted = first.comparison.unit, first.kind.predicted_error(first.estimate)
    users = quantity(result.estimate.users, "device")
    lines = [f"{quantity(len(result.campaigns), 'campaign')} of {users}, ε = {chosen(result.estimate.epsilon)}"]
    if result.interval_coverage is not None:
        lines.append(f"intervals  {percent(result.interval_coverage, 1)} contain the true answer, {level} should")
    if result.band_coverage is not None:
        held = f"in {percent(result.band_coverage, 1)} of campaigns every true answer is inside"
        lines.append(f"band       {held}, {level} should")
    if result.rms_error is not None:
        promised = "" if predicted is None else f" (predicted: at most {amount(predicted, unit)})"
        best = result.best_rms_error
        guessed = "" if best is None else f", of best guesses {amount(best, unit)}"
        lines.append(f"error      RMSE {amount(result.rms_error, unit)}{promised}{guessed}")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _campaigns(result: RepeatedResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("campaign", "intervals that hold", "band holds", "RMSE", "largest error"):
        table.add_column(heading, justify="right")
    for index, one in enumerate(result.campaigns, start=1):
        of = one.comparison
        intervals = "" if of.interval_coverage is None else percent(of.interval_coverage, 1)
        band = {None: "", True: "yes", False: "[bold]no[/]"}[of.band_holds]
        errors = ("none" if error is None else amount(error, of.unit) for error in (of.rms_error, of.max_abs_error))
        table.add_row(str(index), intervals, band, *errors)
    return table
