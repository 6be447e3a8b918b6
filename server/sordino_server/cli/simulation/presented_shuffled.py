"""What `sordino demo --shuffler` prints: the estimate beside the truth, the batch, and what trust would buy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sordino_analysis.figures import chosen, figure
from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.output import console, print_json, progress_console
from sordino_server.cli.price_of_locality import price_lines
from sordino_server.cli.simulation.campaign import CampaignTerms, apps_among
from sordino_server.cli.simulation.presented_run import PresentedRun
from sordino_server.cli.simulation.run import run_simulation
from sordino_server.cli.simulation.shuffled_run import NAME, ShuffledResult, run_shuffled
from sordino_server.cli.simulation.shuffler_process import check_installed
from sordino_server.cli.simulation.summary import print_result, result_document
from sordino_server.demo.flights import DelayQueries, delay_specification, draw_delays
from sordino_shared.quantities import quantity

_BINS = 16
_DEVICE_EPSILON, _COLLECTOR = 4, {"epsilon": 1, "delta": 1e-6}
_TARGET_ERROR = 0.01
_PURPOSE = (
    "Your device sends how late its flight arrived, with random noise added and sealed, through another operator. "
    "The airport learns how late flights are overall."
)


def present_shuffled(run: PresentedRun, users: int, seed: int) -> None:
    """Run a campaign behind a shuffler and print it; raises InvalidValue where sordino-shuffler is not installed."""
    check_installed()
    apps = apps_among(users)
    values = draw_delays(users, seed).tolist()
    result, _ = run_simulation(run_shuffled, _terms(seed), values, apps=apps, keep=False, console=progress_console)
    seconds = time.perf_counter() - run.started
    if run.as_json:
        print_json(_document(result) | {"bins": _BINS, "seed": seed, "seconds": seconds})
        return
    print_result(console, result, {"seconds": figure(seconds, 2)}, run.verbose)
    console.print()
    for line in _lines(result):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _terms(seed: int) -> CampaignTerms:
    return CampaignTerms(
        question=parse_specification(delay_specification(DelayQueries.HISTOGRAM, _BINS)),
        plan={
            "epsilon": _DEVICE_EPSILON,
            "collector": _COLLECTOR,
            "target_error": _TARGET_ERROR,
            "objective": "max",
            "seed": seed,
        },
        name="arrival delays",
        purpose=_PURPOSE,
        population="flights from New York in 2013",
    )


def _document(result: ShuffledResult) -> dict[str, Any]:
    return result_document(result) | {
        "workload": DelayQueries.HISTOGRAM.value,
        "batch": dict(result.batch),
        "price_of_locality": result.price.model_dump(mode="json"),
    }


def _lines(result: ShuffledResult) -> Iterator[str]:
    """What the server got, and how many users the error takes by whom they trust."""
    batch, collector = result.batch, result.price
    yield (
        f"batch of {NAME}: {quantity(batch['received'], 'report')} of devices, {batch['blanket']:,} random ones, "
        "in the order of their digests"
    )
    yield (
        f"(ε {chosen(collector.epsilon)}, δ {chosen(collector.delta)}) against the server, even if all other reports "
        f"are fake; ε {chosen(result.estimate.epsilon)} if it works together with {NAME}"
    )
    yield ""
    yield from price_lines(result.price)
