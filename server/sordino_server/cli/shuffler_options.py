"""Options of planning for a shuffler, as `sordino plan` and `sordino size` take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sordino_analysis.planning_options import DEFAULT_DEVICE_EPSILON, CollectorTarget
from sordino_server.cli.output import fail

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
    return {
        "collector": CollectorTarget.written(given["collector"]),
        "epsilon": given["device_epsilon"] or DEFAULT_DEVICE_EPSILON,
        "target_error": given["target_error"],
    }
