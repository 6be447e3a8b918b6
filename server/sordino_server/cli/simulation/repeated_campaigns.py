"""The same campaign several times with fresh noise: how often intervals and bands hold the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sordino_analysis.figures import amount
from sordino_analysis.percentages import percent
from sordino_server.cli.output import print_table
from sordino_server.cli.remote import Remote
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, Devices, run_campaign
from sordino_server.cli.simulation.progress import Stages
from sordino_shared.quantities import quantity


@dataclass(frozen=True)
class RepeatedResult:
    """The results of campaigns with one plan and the same devices."""

    campaigns: tuple[CampaignResult, ...]

    @property
    def campaign(self) -> str:
        """Id of the first campaign."""
        return self.campaigns[0].campaign

    @property
    def estimates(self) -> Mapping[str, Any]:
        """The estimates of the first campaign."""
        return self.campaigns[0].estimates

    @property
    def interval_coverage(self) -> float:
        """Share of all intervals that hold the truth."""
        return float(np.mean([one.comparison.interval_coverage for one in self.campaigns]))

    @property
    def band_coverage(self) -> float:
        """Share of the campaigns whose band holds all true answers."""
        return float(np.mean([one.comparison.band_holds for one in self.campaigns]))

    @property
    def rms_error(self) -> float:
        """Root of the mean squared error over campaigns and queries."""
        return float(np.sqrt(np.mean([one.comparison.rms_error**2 for one in self.campaigns])))


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
        "users": first.estimates["users"],
        "epsilon": first.estimates["epsilon"],
        "mechanism": first.plan["mechanism"],
        "interval_coverage": result.interval_coverage,
        "band_coverage": result.band_coverage,
        "rms_error": result.rms_error,
        "predicted_max_rmse": first.estimates["predicted_rmse_max"],
        "campaigns": [
            {
                "campaign": one.campaign,
                "interval_coverage": one.comparison.interval_coverage,
                "band_holds": one.comparison.band_holds,
                "rms_error": one.comparison.rms_error,
                "max_abs_error": one.comparison.max_abs_error,
            }
            for one in result.campaigns
        ],
    }


def print_repeated(console: Console, result: RepeatedResult, verbose: bool) -> None:
    """The shares that hold and the error over all campaigns; a row for each with `verbose`."""
    if verbose:
        print_table(_campaigns(result.campaigns))
    first, number = result.campaigns[0], len(result.campaigns)
    level = percent(float(first.estimates["level"]))
    for line in (
        f"{quantity(number, 'campaign')} of {quantity(first.estimates['users'], 'device')}, ε = "
        f"{first.estimates['epsilon']:g}",
        f"intervals  {percent(result.interval_coverage, 1)} contain the true answer, {level} should",
        f"band       in {percent(result.band_coverage, 1)} of campaigns every true answer is inside, {level} should",
        f"error      RMSE {amount(result.rms_error, first.comparison.unit)} "
        f"(predicted: at most {amount(first.estimates['predicted_rmse_max'], first.comparison.unit)})",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def _campaigns(results: Sequence[CampaignResult]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("campaign", "intervals that hold", "band holds", "RMSE", "largest error"):
        table.add_column(heading, justify="right")
    for index, one in enumerate(results, start=1):
        of = one.comparison
        numbers = (amount(of.rms_error, of.unit), amount(of.max_abs_error, of.unit))
        table.add_row(str(index), percent(of.interval_coverage, 1), "yes" if of.band_holds else "[bold]no[/]", *numbers)
    return table
