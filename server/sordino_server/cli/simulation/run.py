"""A simulated campaign with everything around it: folder, server, operator key, progress, what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from sordino_analysis.planning_options import PlanningOptions
from sordino_server.cli.remote import Remote, estimates_path, key_or_file
from sordino_server.cli.simulation.campaign import CampaignResult, CampaignTerms, Devices
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.repeated_campaigns import RepeatedResult
from sordino_server.cli.simulation.server_process import create_key, local_server
from sordino_server.cli.simulation.working_folder import working_folder
from sordino_shared.errors import InvalidValue

Result = TypeVar("Result", bound=CampaignResult | RepeatedResult)
TemporaryServerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Use this server; default: start a temporary one.")
]
TemporaryServerKeyOption = Annotated[
    str | None,
    typer.Option(envvar="SORDINO_KEY", metavar="KEY", help="Operator's key for --server.", callback=key_or_file),
]


@dataclass(frozen=True)
class RemoteServer:
    """A running server and an operator's key for it."""

    address: str
    key: str

    @classmethod
    def of(cls, address: str | None, key: str | None) -> RemoteServer | None:
        """None without an address; raises InvalidValue for an address without a key."""
        if address is None:
            return None
        if not key:
            raise InvalidValue("--server needs an operator's key: give --key or set SORDINO_KEY", address)
        return cls(address, key)


def run_simulation(
    run: Callable[[Remote, str, CampaignTerms, Devices, Stages], Result],
    terms: CampaignTerms,
    values: Sequence[object],
    *,
    apps: int,
    keep: bool,
    console: Console,
    remote: RemoteServer | None = None,
) -> tuple[Result, Path | None]:
    """What `run` makes of the terms, and the folder that is kept if one is. Without `remote` a server is started.

    Options of the plan that a server would refuse raise `PlanError` before one is started, and values of which none
    can be compared InvalidValue.
    """
    PlanningOptions.of(**terms.plan)
    terms.kind.asked_of_reports(terms.question, values)
    stages = Stages(console)
    with working_folder(keep) as folder, stages.shown(), simulation_server(folder, remote, stages) as server:
        ledgers = folder / "ledgers"
        ledgers.mkdir()
        with Remote(server.address, server.key) as connection:
            result = run(connection, server.address, terms, Devices(values, apps, ledgers), stages)
            if keep:
                _keep_estimates(connection, result, folder)
    return result, folder if keep else None


@contextmanager
def simulation_server(folder: Path, remote: RemoteServer | None, stages: Stages) -> Iterator[RemoteServer]:
    """The server that is given, or a temporary one with its database in `folder`."""
    if remote is not None:
        yield remote
        return
    with local_server(folder, stages) as address:
        yield RemoteServer(address, create_key(folder))


def _keep_estimates(connection: Remote, result: CampaignResult | RepeatedResult, folder: Path) -> None:
    table = connection.text(estimates_path(result.campaign, None), format="csv")
    (folder / "estimates.json").write_text(json.dumps(result.document, ensure_ascii=False), encoding="utf-8")
    (folder / "estimates.csv").write_text(table, encoding="utf-8")
