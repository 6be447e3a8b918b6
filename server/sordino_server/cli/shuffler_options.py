"""Options of planning for a shuffler, as `sordino plan` and `sordino size` take them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino_analysis.figures import figure
from sordino_analysis.planning_options import DEFAULT_DEVICE_EPSILON, CollectorTarget
from sordino_server.cli.output import fail
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

CollectorOption = Annotated[
    str | None,
    typer.Option(
        metavar="EPS,DELTA",
        help="Plan for a shuffler: (ε, δ) of one report against the collector, such as 1,1e-6.",
    ),
]
DeviceEpsilonOption = Annotated[
    str | None,
    typer.Option(
        metavar="CAP",
        help=f"With --collector: the most that a device may spend; what holds if shuffler and collector work together. "
        f"Default: {DEFAULT_DEVICE_EPSILON}.",
    ),
]
WeakEpsilonOption = Annotated[
    bool,
    typer.Option(
        "--weak-epsilon",
        help=f"Allow more than ε {DEFAULT_DEVICE_EPSILON} of a report: who gets it, or both operators of a shuffled "
        "campaign together, then learns nearly every answer.",
    ),
]

ErrorOption = Annotated[
    float | None, typer.Option(metavar="RMSE", help="Error that --collector chooses by, in units of the answers.")
]
RouteOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="JSON file with the shuffler that devices report to: name, urls, key, floor, and end (Unix seconds) "
        "but for a series.",
    ),
]

_STRONG = PureEpsilon.of(DEFAULT_DEVICE_EPSILON)
# What plans may have; the server refuses more, with the range.
_MOST = PureEpsilon.of(16)


def check_weak_epsilon(epsilon: str | float | None, weak: bool, shuffled: bool) -> None:
    """Raise InvalidValue for a device's ε above 4 that --weak-epsilon does not allow; one above all ranges passes."""
    if epsilon is None or weak or not _STRONG < (most := PureEpsilon.of(epsilon)) <= _MOST:
        return
    odds = figure(math.exp(most.epsilon), 3)
    together = "if shuffler and collector work together, an answer" if shuffled else "an answer"
    raise InvalidValue(
        f"ε {epsilon} of a device is weak: {together} may be {odds} times as likely with one value as with another. "
        f"Ask for {DEFAULT_DEVICE_EPSILON} or less, or add --weak-epsilon; its devices need caps that allow it",
        epsilon,
    )


def collector_terms(
    collector: str | None, target_error: float | None, epsilon: str | None = None, weak: bool = False
) -> dict[str, Any]:
    """What a plan request says of the collector; nothing where devices report to the server.

    Raises InvalidValue for ε above 4 of a device without --weak-epsilon.
    """
    check_weak_epsilon(epsilon, weak, collector is not None)
    if collector is None and target_error is None:
        return {}
    bound = None if collector is None else CollectorTarget.written(collector).model_dump()
    return {"collector": bound, "target_error": target_error}


def route_terms(file: Path | None, collector: str | None) -> dict[str, Any]:
    """The route that a campaign is created with; raises InvalidValue where the file is none.

    Commands ask for it before they wait for a plan, which a campaign without its shuffler could not use.
    """
    if file is None and collector is not None:
        raise InvalidValue("--collector plans for a shuffler: name it with --route FILE", collector)
    if file is None:
        return {}
    try:
        return {"route": json.loads(file.read_text("utf-8"))}
    except (OSError, ValueError) as error:
        raise InvalidValue(f"--route: {file} cannot be read as JSON: {error}", str(file)) from error


def shuffler_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """`collector`, `target_error` and `epsilon` of the planning options, from the parameters of a command.

    Without --collector a target error is no option of planning.
    """
    if given["collector"] is None:
        if given["device_epsilon"] is not None:
            fail("--device-epsilon goes with --collector; --epsilon is that of a device without a shuffler", code=2)
        return {"collector": None, "target_error": None}
    if given["epsilon"]:
        fail("--collector chooses ε of a device: bound it with --device-epsilon, and leave out --epsilon", code=2)
    check_weak_epsilon(given["device_epsilon"], given["weak_epsilon"], shuffled=True)
    return {
        "collector": CollectorTarget.written(given["collector"]),
        "epsilon": given["device_epsilon"] or DEFAULT_DEVICE_EPSILON,
        "target_error": given["target_error"],
    }
