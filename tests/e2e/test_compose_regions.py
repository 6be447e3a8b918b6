"""The profile `regions` of docker-compose.yml: a home and two collectors, and their commands as plain processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from sordino_server.config import PREFIX, Settings
from tests.e2e.compose import ROOT, services, started
from tests.ports import free_ports

Installation = Any
NAMES = ("eu", "us")


def test_a_collector_has_its_own_database_and_nothing_of_the_home_but_its_address() -> None:
    profile = started("regions")
    assert set(profile) == {f"collector-{name}" for name in NAMES}
    volumes = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["volumes"]
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    ports = [port for service in services().values() for port in service.get("ports", ())]
    assert len(set(ports)) == len(ports) == 3 + 3 + 1
    for name in NAMES:
        service = profile[f"collector-{name}"]
        assert service["command"] == ["sordino", "serve", "--collect-for", "http://api:8000", "--source", name]
        assert services()["api"]["environment"]["SORDINO_PORT"] == "8000"
        assert service["depends_on"] == {"api": {"condition": "service_healthy"}}
        assert set(service["environment"]) <= known - {"SORDINO_DATABASE_URL"}
        assert "PASSWORD" not in str(service)
        assert service["environment"]["SORDINO_AGGREGATOR_KEYS"] == f"${{{name.upper()}_KEYS:-}}"
        assert service["volumes"] == [f"{name}:/var/lib/sordino"]
        assert name in volumes


@pytest.mark.slow
def test_the_stated_commands_mirror_a_campaign(
    installation: Installation, workload_file: Path, wait_until: Callable[..., None]
) -> None:
    ports = dict(zip(("api", *NAMES), map(str, free_ports(3)), strict=True))
    addresses = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    home = {"SORDINO_DATABASE_URL": f"sqlite:///{installation.folder}/home.sqlite3"}
    installation.serve("--port", ports["api"], **home)
    key = installation.json("keys", "create", "--role", "admin", "--name", "test", **home)["key"]
    operator = {"SORDINO_SERVER": addresses["api"], "SORDINO_KEY": key}
    terms = ("--name", "delays", "--purpose", "We ask how late you were.", "--population", "travellers")
    sources = [text for name, address in addresses.items() for text in ("--source", f"{name}={address}")]
    plan = ("--workload", str(workload_file), "--epsilon", "1", *sources)
    campaign = installation.json("campaigns", "create", *terms, *plan, **operator)["id"]
    made = ("--role", "aggregator", "--campaign", campaign, "--max-reports", "1000")
    keys = {
        name: installation.json("keys", "create", *made, "--name", name, "--source", name, **home)["key"]
        for name in NAMES
    }
    installation.run("campaigns", "open", campaign, **operator)
    for name in NAMES:
        command = [
            word.replace("http://api:8000", addresses["api"]) for word in services()[f"collector-{name}"]["command"]
        ]
        database = f"sqlite:///{installation.folder}/{name}.sqlite3"
        own = {"SORDINO_AGGREGATOR_KEYS": keys[name], "SORDINO_DATABASE_URL": database, "SORDINO_PORT": ports[name]}
        without = installation.run(*command[1:], code=2, **(own | {"SORDINO_AGGREGATOR_KEYS": ""}))
        assert "SORDINO_AGGREGATOR_KEYS" in without.stderr
        installation.start(*command[1:], **own)
    for name in NAMES:

        def mirrored(task: str = f"{addresses[name]}/v1/campaigns/{campaign}/task") -> bool:
            try:
                return httpx.get(task).status_code == 200
            except httpx.TransportError:
                return False

        wait_until(mirrored, f"{name} has the campaign")
