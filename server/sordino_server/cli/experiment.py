"""`sordino experiment`: compare versions of an app on a server, with one verdict by the rule that was pinned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_server.cli.campaign_argument import CampaignArgument
from sordino_server.cli.creation import (
    NameOption,
    OpenOption,
    PopulationOption,
    PurposeOption,
    awaited_plan,
    open_new,
    registered,
)
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.experiment_options import ExpectOption, NewLooksOption, share_of, spread_of
from sordino_server.cli.output import console
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Csv, CsvOption, Listing, Shown, remote_command
from sordino_server.cli.shuffler_options import (
    CollectorOption,
    ErrorOption,
    RouteOption,
    WeakEpsilonOption,
    collector_terms,
    route_terms,
)
from sordino_server.cli.statistics import fake_reports
from sordino_server.cli.wait import TIMEOUT_S, Patience, TimeoutOption
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm
from sordino_shared.protocol.experiments import WHOLE_ARM_WEIGHT, check_arms
from sordino_shared.quantities import quantity

# What an experiment is planned for where nobody says: the level that a server pins, and one difference of five missed.
_LEVEL, _POWER = 0.95, 0.8

app = typer.Typer(
    name="experiment",
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Compare versions of an app: create an experiment, look at it by its rule, end it.",
    no_args_is_help=True,
)


@app.command()
@remote_command
def create(
    remote: Remote,
    name: NameOption,
    purpose: PurposeOption,
    population: PopulationOption,
    file: Annotated[Path, typer.Option(metavar="PATH", help="Workload file (YAML or JSON) to plan for.")],
    epsilon: Annotated[str, typer.Option(metavar="E", help="ε of one report, such as 1 or 0.5.")],
    primary: Annotated[str, typer.Option(metavar="LABEL", help="Label of the query that decides.")],
    days: Annotated[int, typer.Option(metavar="N", min=1, max=366, help="The experiment ends after so many days.")],
    daily: Annotated[int, typer.Option(metavar="N", min=1, help="Users who answer each day, in all arms.")],
    arms: Annotated[str, typer.Option(metavar="A:1,B:1", help="Arms and their weights; the first is the base.")] = (
        "A:1,B:1"
    ),
    looks: NewLooksOption = None,
    spread: Annotated[
        str, typer.Option(metavar="X", help="Standard deviation of the values, as a share of the scale.")
    ] = "50%",
    expect: ExpectOption = None,
    collector: CollectorOption = None,
    target_error: ErrorOption = None,
    difference: Annotated[
        str | None,
        typer.Option(metavar="X", help='With --collector: the difference of arms to be found, as 1% or "50 ms".'),
    ] = None,
    weak_epsilon: WeakEpsilonOption = False,
    route: RouteOption = None,
    open_now: OpenOption = False,
    timeout: TimeoutOption = TIMEOUT_S,
) -> Shown:
    """Create an experiment; its rule cannot be changed any more.

    Example:

        sordino experiment create --name faster-start --population app --file starts.yaml --epsilon 1 \\
            --purpose "We ask how long the app took to start." --primary "load_ms ≤ 1000 ms" --days 30 --daily 20000

    The command waits for the plan. `sordino size --difference` says how many days an experiment needs. Behind a
    shuffler (--route, --collector) --epsilon is the most that a device spends, and the experiment has one look, at the
    end; its plan takes the fewest users for --difference with a power of 80 %, or for --target-error of one arm.
    """
    rule: dict[str, Any] = {"primary": primary, "days": days, "users": days * daily, "spread": spread_of(spread)}
    rule |= {} if looks is None else {"looks": looks.value}
    rule |= {} if expect is None else {"expect": share_of("--expect", expect)}
    drawn = arms_of(arms)
    order = {"name": name, "purpose": purpose, "population": population, "arms": drawn, "experiment": rule}
    order |= route_terms(route, collector)
    planning = {"workload": registered(remote, file), "epsilon": epsilon}
    if difference is not None:
        target_error = _target_error(file, difference, collector, target_error, drawn)
    planning |= collector_terms(collector, target_error, epsilon, weak_epsilon)
    order |= {"plan_request": awaited_plan(remote, planning, population, Patience(timeout))}
    status = remote.post("/v1/campaigns", order)
    said = _fake_reports(remote.get(f"/v1/plan-requests/{order['plan_request']}")["summary"], drawn)
    shown = status, lambda: console.print(f"{_created(status)}\n{said}", highlight=False)
    if open_now:
        open_new(remote, status, shown)
    return shown


def _target_error(
    file: Path, difference: str, collector: str | None, target_error: float | None, drawn: Sequence[dict[str, Any]]
) -> float:
    """The error of the smaller arm that a difference takes; raises InvalidValue where another error is given, too."""
    # Other commands about experiments need no numbers.
    from sordino_analysis.experiments.power import error_of_an_arm
    from sordino_analysis.kinds.specifications import load_question
    from sordino_server.cli.size import margin_of

    if collector is None or target_error is not None:
        raise InvalidValue(
            "--difference goes with --collector, in place of --target-error; `sordino size --difference` counts users "
            "without a shuffler",
            difference,
        )
    margin = margin_of(difference, load_question(file), "--difference")
    if not 0 < margin.share < 1:
        raise InvalidValue(f"--difference lies between 0 and 1, such as 1%, not {difference!r}", difference)
    weights = [arm["weight"] for arm in drawn]
    return error_of_an_arm(margin.share, weights, _LEVEL, _POWER) * margin.scale


@app.command("list")
@remote_command
def list_experiments(remote: Remote) -> Shown:
    """List experiments, newest first, with what the last look of each says."""
    found = list(remote.listed("/v1/experiments", "experiments"))
    rows = ((each["campaign"], each["state"], each["name"], each["finding"]) for each in found)
    return {"experiments": found}, Listing(("campaign", "state", "name", "finding"), rows)


@app.command()
@remote_command
def show(remote: Remote, campaign: CampaignArgument) -> Shown:
    """Print what the last look says: one verdict by one rule. Nothing else of an open experiment is shown."""
    found = remote.get(f"/v1/campaigns/{remote.campaign_id(campaign)}/experiment")
    return found, lambda: console.print("\n".join(lines_of(found)), highlight=False)


@app.command()
@remote_command
def arms(remote: Remote, campaign: CampaignArgument, as_csv: CsvOption = False) -> Shown:
    """Print the answers of each arm of a closed experiment; `sordino campaigns compare NAME:A NAME:B` compares them."""
    path = f"/v1/campaigns/{remote.campaign_id(campaign)}/arms"
    document = remote.get(path)
    return document, Csv(remote.text(path, format="csv")) if as_csv else partial(print_estimate, document)


@app.command()
@remote_command
def end(remote: Remote, campaign: CampaignArgument) -> Shown:
    """Close an experiment before its days are over; what its looks found so far stays what it is."""
    status = remote.post(f"/v1/campaigns/{remote.campaign_id(campaign)}/close")
    return status, lambda: console.print(f"{status['name']} is {status['state']}", highlight=False)


def arms_of(text: str) -> list[dict[str, Any]]:
    """Names and weights as `A:1,B:1`, scaled to a sum of 2^16: the largest arm takes what rounding leaves.

    Raises InvalidValue for arms that no device may draw.
    """
    parts = [each.strip().partition(":") for each in text.split(",")]
    try:
        shares = [(name, float(weight or 1)) for name, _, weight in parts]
    except ValueError:
        raise InvalidValue(f"--arms takes names and weights such as A:1,B:1, not {text!r}", text) from None
    if not all(0 < share < math.inf for _, share in shares):
        raise InvalidValue("the weight of each arm is a number above 0", text)
    total = sum(share for _, share in shares)
    weights = [max(1, round(share / total * WHOLE_ARM_WEIGHT)) for _, share in shares]
    weights[weights.index(max(weights))] += WHOLE_ARM_WEIGHT - sum(weights)
    drawn = tuple(Arm(name, weight) for (name, _), weight in zip(shares, weights, strict=True))
    check_arms(drawn)
    return [{"name": arm.name, "weight": arm.weight} for arm in drawn]


def lines_of(found: dict[str, Any]) -> Sequence[str]:
    """The finding, the counts of the last look, and what its few reports leave open."""
    lines = [f"{found['name']} ({found['state']}): {found['finding']}"]
    if found["made"]:
        last = found["made"][-1]
        counts = ", ".join(f"{each['arm']} {each['reports']:,}" for each in last["arms"])
        lines.append(f"primary: {found['primary']}; reports: {counts or 'none'}")
        if found["blanket"]:
            lines.append(f"{quantity(found['blanket'], 'random report')} of a shuffler are left out of each arm")
        # Looks that were stored before have no warnings.
        warned = (warning for each in last["comparisons"] for warning in each.get("warnings", ()))
        lines += [f"warning: {warning}" for warning in dict.fromkeys(warned)]
    return lines


def _fake_reports(plan: dict[str, Any], arms: Sequence[dict[str, Any]]) -> str:
    """How far fake reports, which choose their arm, move a difference of the plan's worst answer."""
    least = min(arms, key=lambda arm: arm["weight"])
    moved = plan["manipulation"] * WHOLE_ARM_WEIGHT / least["weight"]
    return f"{fake_reports('a difference', moved, unit=plan.get('unit'))}, if all of them are in arm {least['name']}"


def _created(status: dict[str, Any]) -> str:
    return f"{status['name']} {status['id']} ({status['state']})"
