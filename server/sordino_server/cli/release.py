"""`sordino release`: answer a workload from a dataset of a server, once."""

from __future__ import annotations

import uuid
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from sordino_analysis.documents.curator_summary import promise_of
from sordino_analysis.figures import chosen
from sordino_analysis.guarantees import ConcentratedComposition, Guarantee, nano_of
from sordino_analysis.guarantees.approximate import Approximate, zcdp_within
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.kinds.release import ReleaseGuarantee, guarantee_text
from sordino_analysis.kinds.specifications import load_question
from sordino_server.cli.candidates import CURATOR_MECHANISMS, ObjectiveOption
from sordino_server.cli.curator_planning import asked_of, delta_of
from sordino_server.cli.datasets import path_of, symbol_of
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
    str | None,
    typer.Option(metavar="E", help="Instead of --rho: pure ε, or with --delta the largest ρ that implies (ε, δ)."),
]
ShownDeltaOption = Annotated[
    str | None,
    typer.Option(
        metavar="D",
        help="With --epsilon: (ε, δ), kept by Gaussian noise; without it ε is pure. With --rho: the δ at which ε is "
        "shown, the dataset's if left out.",
    ),
]
ReleaseMechanismOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"Use this mechanism, not the best: {', '.join(CURATOR_MECHANISMS)}."),
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
    delta: ShownDeltaOption = None,
    objective: ObjectiveOption = "max",
    mechanism: ReleaseMechanismOption = None,
    idempotency_key: RepeatOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking.")] = False,
    timeout: TimeoutOption = TIMEOUT_S,
    seed: Annotated[str | None, typer.Option(hidden=True)] = None,
    as_json: JsonOption = False,
) -> Shown:
    """Answer a workload from a dataset, with noise: prints the guarantee, asks once, spends it, prints the answers.

    Examples:

        sordino release cdf.yaml --dataset flights --rho 0.02
        sordino release cdf.yaml --dataset flights --epsilon 1

    A dataset with a cap on ε takes pure ε alone. Of a cap on ρ, pure ε takes ε·tanh(ε/2). What is spent is spent, also
    if no result comes. A request that broke off is repeated with --idempotency-key.
    """
    if seed is not None:
        raise InvalidValue("leave out --seed: the noise of a release is drawn from the operating system, once", seed)
    if as_json and not yes:
        fail("--json asks nothing: give --yes to spend", code=2)
    specification = load_question(workload).canonical()
    held = remote.get(path_of(dataset))
    guarantee, shown_at = _guarantee(rho, epsilon, delta, held)
    _confirm(guarantee, shown_at, held, yes)
    keeps = "rho" if isinstance(guarantee, Zcdp) else "epsilon"
    order = {
        "workload": remote.post("/v1/workloads", specification)["id"],
        keeps: exact_decimal(nano_of(guarantee)),
        "objective": objective,
    } | ({} if mechanism is None else {"mechanism": mechanism})
    once = idempotency_key or uuid.uuid4().hex
    say(f"if this breaks off, repeat it with --idempotency-key {once}: it spends once")
    asked = remote.post(f"{path_of(dataset)}/releases", order, idempotency_key=once)
    document = _awaited(remote, asked["id"], Patience(timeout))
    return document, partial(print_estimate, document)


def _guarantee(
    rho: str | None, epsilon: str | None, delta: str | None, document: dict[str, Any]
) -> tuple[Guarantee, Fraction]:
    """What is kept, and the δ at which ε is shown; raises InvalidValue where the account does not count it."""
    if (rho is None) == (epsilon is None):
        fail("give --rho, or --epsilon, pure or with --delta: what the release keeps", code=2)
    asked = asked_of(rho, epsilon, delta)
    of_rho = document["cap"]["rho"] is not None
    if not of_rho and not isinstance(asked, PureEpsilon):
        raise InvalidValue(
            f"the cap of dataset {document['name']!r} is on pure ε, which no release of ρ or of (ε, δ) keeps: give "
            "--epsilon alone",
            asked,
        )
    shown_at = delta_of(str(document["cap"]["delta"]) if delta is None and of_rho else delta)
    return (zcdp_within(asked) if isinstance(asked, Approximate) else asked), shown_at


def _confirm(guarantee: Guarantee, delta: Fraction, document: dict[str, Any], yes: bool) -> None:
    kept = promise_of(guarantee, delta).model_dump()
    told = {name: document[name] for name in ("neighbours", "unit")}
    say(guarantee_text(ReleaseGuarantee.model_validate({"kind": kept.pop("guarantee"), **kept, **told})))
    cap, symbol = document["cap"], symbol_of(document["cap"])
    if cap["rho"] is not None and isinstance(guarantee, PureEpsilon):
        say(f"of the cap on ρ it takes {chosen(ConcentratedComposition().price(guarantee) / NANO)}: ε·tanh(ε/2)")
    whole = cap["epsilon"] if cap["rho"] is None else cap["rho"]
    say(f"dataset {document['name']} has {symbol} = {chosen(whole - cap['spent'])} left of {chosen(whole)}")
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
