"""`sordino demo --browser`: simulated devices answer, and a person beside them from the own browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sordino_analysis.kinds.specifications import parse_question
from sordino_server.cli.output import console, print_json, progress_console
from sordino_server.cli.remote import Remote
from sordino_server.cli.server_process import address_of, listening
from sordino_server.cli.simulation.campaign import CampaignTerms, answer_as_fleet, check_users, open_campaign, publish
from sordino_server.cli.simulation.devices import simulated_fleet
from sordino_server.cli.simulation.page_server import Site, page_folders, serving
from sordino_server.cli.simulation.progress import Stages
from sordino_server.cli.simulation.server_process import create_key, local_server
from sordino_server.cli.simulation.working_folder import working_folder
from sordino_server.cli.wait import Patience
from sordino_server.demo.flights import draw_delays
from sordino_shared.quantities import quantity

USERS = 3_000
_HOST = "127.0.0.1"
_LABELS = ("early or on time", "up to 15 minutes late", "up to an hour late", "more than an hour late")
_MINUTES = (0, 15, 60)
_PURPOSE = (
    "Your browser sends how late your last flight arrived, with random noise added so that nobody learns it. "
    "The airport learns how late flights are overall."
)


@dataclass(frozen=True, kw_only=True)
class BrowserDemo:
    """What the command was told; `port` is that of the page, 0 for a free one, and `page` a folder with another one."""

    users: int
    epsilon: float
    seed: int
    port: int
    page: Path | None
    as_json: bool

    def run(self) -> None:
        """Serve until Ctrl-C. Raises before anything is started where the page is missing or its port is taken."""
        check_users(self.users)
        folders = page_folders(self.page)
        listener = listening(_HOST, self.port)
        stages = Stages(progress_console)
        try:
            with working_folder(keep=False) as folder, ExitStack() as running:
                with stages.shown():
                    remote, server = running.enter_context(_server(folder, stages, address_of(listener)))
                    campaign = self._answered(remote, server, stages)
                settings = {"server": server, "campaign": campaign}
                site = Site(folders=folders, settings=settings, close=lambda: closed(remote, server, campaign))
                with serving(listener, site) as address:
                    self._tell(address, server, campaign)
                    threading.Event().wait()
        except KeyboardInterrupt:
            return
        finally:
            listener.close()

    def _answered(self, remote: Remote, server: str, stages: Stages) -> str:
        """The id of an open campaign that the simulated devices have answered."""
        options = {"epsilon": self.epsilon, "objective": "max", "users": self.users, "seed": self.seed}
        # The one mechanism whose report a person can read: a label, the own one more often than others.
        plan = options | {"mechanism": "randomized_response"}
        terms = CampaignTerms(
            question=parse_question(question()),
            plan=plan,
            name="how late flights arrive",
            purpose=_PURPOSE,
            population="travellers",
        )
        _, campaign = publish(remote, terms, stages)
        held = np.array(_LABELS)[np.searchsorted(_MINUTES, draw_delays(self.users, self.seed))]
        with open_campaign(remote, campaign), simulated_fleet(server, campaign, held.tolist(), self.seed) as fleet:
            answer_as_fleet(fleet, stages)
        return campaign

    def _tell(self, address: str, server: str, campaign: str) -> None:
        if self.as_json:
            made = {"page": f"{address}/", "server": server, "campaign": campaign}
            print_json(made | {"devices": self.users, "epsilon": self.epsilon})
            console.file.flush()
            return
        for line in (
            f"page:   {address}/",
            f"server: {server}  (SORDINO_DEVICE_ORIGINS={address})",
            f"{quantity(self.users, 'simulated device')} answered. Open the page, and answer too. Ctrl-C ends.",
        ):
            console.print(line, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _server(folder: Path, stages: Stages, origin: str) -> Iterator[tuple[Remote, str]]:
    """A connection to a server that takes reports from pages of `origin`, and the server's address."""
    settings = {"SORDINO_DEVICE_ORIGINS": origin}
    with local_server(folder, stages, settings) as address, Remote(address, create_key(folder)) as remote:
        yield remote, address


def question() -> dict[str, Any]:
    """The workload of the page: shares of four labels, the first edge at no delay."""
    line = {"name": "arrival", "kind": "categorical", "labels": list(_LABELS)}
    return {"name": "how late flights arrive", "domain": [line], "queries": "histogram"}


def closed(remote: Remote, server: str, campaign: str) -> str:
    """Close the round, wait for its estimate, and give the address of a page with it that anyone may read.

    Where waiting failed it may be called again.
    """
    if remote.get(f"/v1/campaigns/{campaign}/status")["state"] == "open":
        remote.post(f"/v1/campaigns/{campaign}/rounds/0/close")
    remote.awaited_estimates(campaign, None, Patience())
    link = remote.post(f"/v1/campaigns/{campaign}/share-links", {"until": None})
    return f"{server}{link['path']}"
