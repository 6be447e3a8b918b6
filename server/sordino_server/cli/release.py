"""`sordino release`: answer a workload from a dataset of a server, once."""

from __future__ import annotations

import uuid
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from sordino_analysis.figures import chosen
from sordino_analysis.guarantees.approximate import Approximate, approximate_of, zcdp_within
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.kinds.release import ReleaseGuarantee, guarantee_text
from sordino_analysis.kinds.specifications import load_question
from sordino_server.cli.candidates import ObjectiveOption
from sordino_server.cli.curator_planning import DeltaOption, delta_of
from sordino_server.cli.datasets import path_of
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.output import JsonOption, fail, say
from sordino_server.cli.remote import Remote
from sordino_server.cli.remote_command import Shown, remote_command
from sordino_server.cli.wait import TIMEOUT_S, Patience, TimeoutOption
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.guarantees import NANO, PureEpsilon, exact_decimal

WorkloadArgument = Annotated[Path, typer.Argument(metavar="WORKLOAD", help="Workload file with linear queries.")]
DatasetOption = Annotated[str, typer.Option(metavar="NAME", help="Name of the dataset.")]
RhoOption = Annotated[str | None, typer.Option(metavar="R", help="ρ that the release spends, such as 0.02.")]
EpsilonOption = Annotated[
    str | None, typer.Option(metavar="E", help="Instead of --rho: the largest ρ that is (ε, δ), with --delta.")
]
RepeatOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Repeat the request of this key: it never spends twice.")
]
_WAITING = {"queued": "the release waits for a worker; is `sordino worker` running?", "spent": None}


@remote_command
def release(
    remote: Remote,
    workload: WorkloadArgument,
    dataset: DatasetOption,
    rho: RhoOption = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    objective: ObjectiveOption = "max",
    idempotency_key: RepeatOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking.")] = False,
    timeout: TimeoutOption = TIMEOUT_S,
    seed: Annotated[str | None, typer.Option(hidden=True)] = None,
    as_json: JsonOption = False,
) -> Shown:
    """Answer a workload from a dataset, with noise: prints the guarantee, asks once, spends ρ, prints the answers.

    Example:

        sordino release cdf.yaml --dataset flights --rho 0.02

    What is spent is spent, also if no result comes. A request that broke off is repeated with --idempotency-key.
    """
    if seed is not None:
        raise InvalidValue("leave out --seed: the noise of a release is drawn from the operating system, once", seed)
    if as_json and not yes:
        fail("--json asks nothing: give --yes to spend ρ", code=2)
    specification = load_question(workload).canonical()
    held = remote.get(path_of(dataset))
    guarantee, shown_at = _guarantee(rho, epsilon, delta, held)
    _confirm(guarantee, shown_at, held, yes)
    order = {
        "workload": remote.post("/v1/workloads", specification)["id"],
        "rho": exact_decimal(guarantee.nano_rho),
        "objective": objective,
    }
    once = idempotency_key or uuid.uuid4().hex
    say(f"if this breaks off, repeat it with --idempotency-key {once}: it spends once")
    asked = remote.post(f"{path_of(dataset)}/releases", order, idempotency_key=once)
    document = _awaited(remote, asked["id"], Patience(timeout))
    return document, partial(print_estimate, document)


def _guarantee(
    rho: str | None, epsilon: str | None, delta: str | None, document: dict[str, Any]
) -> tuple[Zcdp, Fraction]:
    """What is spent, and the δ at which ε is shown."""
    if (rho is None) == (epsilon is None):
        fail("give --rho, or --epsilon and --delta: what the release spends", code=2)
    shown_at = Fraction(str(document["cap"]["delta"])) if delta is None else delta_of(delta)
    if rho is not None:
        return Zcdp.of(rho), shown_at
    return zcdp_within(Approximate(PureEpsilon.at_most(str(epsilon)).nano, shown_at)), shown_at


def _confirm(guarantee: Zcdp, delta: Fraction, document: dict[str, Any], yes: bool) -> None:
    epsilon = approximate_of(guarantee, delta).nano_epsilon / NANO
    kept = {"rho": guarantee.rho, "epsilon": epsilon, "delta": float(delta)}
    told = {name: document[name] for name in ("neighbours", "unit")}
    say(guarantee_text(ReleaseGuarantee.model_validate({"kind": "zcdp", **kept, **told})))
    left = document["cap"]["rho"] - document["cap"]["spent"]
    say(f"dataset {document['name']} has ρ = {chosen(left)} left of {chosen(document['cap']['rho'])}")
    if not yes:
        typer.confirm("Spend it?", abort=True, err=True)


def _awaited(remote: Remote, identifier: str, patience: Patience) -> dict[str, Any]:
    """The answers once they are there; raises SordinoError where there will be none."""
    later = f"read them with `sordino datasets answers {identifier}`"
    path = f"/v1/releases/{quote(identifier, safe='')}"
    while (status := remote.get(path))["state"] in _WAITING:
        patience.pause(_WAITING[status["state"]], later)
    if status["state"] != "released":
        raise SordinoError(f"release {identifier} is {status['state']}: {status['error']}")
    document: dict[str, Any] = remote.get(f"{path}/answers")
    return document
