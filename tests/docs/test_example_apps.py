"""The example apps, tested by the fake server as their authors would test their own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from sordino_client import Caps
from sordino_client.backend import LedgerStore
from sordino_client.testing import Categorical, Daily, Domain, FakeServer, Ordinal

EXAMPLES = Path(__file__).parents[2] / "examples"


def imported(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, FakeServer, dict[str, str]]:
    """The tool's app as it starts anew each time, its server and its environment."""
    module = imported("cli-tool/mytool.py")
    server = FakeServer(Domain((Ordinal("startup", edges=(250, 500, 1000), unit="ms"),)))
    environ: dict[str, str] = {}

    def start(*arguments: str, typed: str = "") -> str:
        telemetry = module.telemetry_of(
            campaigns={"startup": server.campaign}, ledger=tmp_path / "ledger", transport=server, clock=server,
            environ=environ, terminal=True, strict=True,
        )  # fmt: skip
        done = CliRunner().invoke(module.make_app(telemetry), arguments, input=typed, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return start, server, environ


def test_a_tool_reports_only_after_a_yes(tool) -> None:
    start, server, _ = tool
    assert "Report this? [y/N]" in start("greet", "Maria", typed="y\n")
    assert start("greet", "Maria") == "Hello Maria!\n"
    server.travel(days=1)
    start("greet", "Maria")
    assert len(server.received) == 1
    assert "sent" in start("telemetry", "show")


def test_a_tool_does_nothing_after_a_no_or_under_do_not_track(tool) -> None:
    start, server, environ = tool
    environ["DO_NOT_TRACK"] = "1"
    assert start("greet", "Maria") == "Hello Maria!\n"
    del environ["DO_NOT_TRACK"]
    start("greet", "Maria", typed="\n")
    assert start("greet", "Maria") == "Hello Maria!\n"
    assert server.requests == []


def test_a_tool_works_without_a_connection(tool) -> None:
    start, server, _ = tool
    server.offline()
    assert start("greet", "Maria", typed="y\n").startswith("Hello Maria!")
    assert start("greet", "Maria") == "Hello Maria!\n"


def test_the_tool_needs_forty_lines_of_ours_at_most() -> None:
    lines = (EXAMPLES / "cli-tool" / "mytool.py").read_text().splitlines()
    assert sum(1 for line in lines if line.strip()) <= 40


def test_a_desktop_program_answers_when_it_is_asked_and_obeys_its_switch(tmp_path: Path) -> None:
    module = imported("desktop/desktop.py")
    server = FakeServer(Domain((Categorical("theme", ("light", "dark"), other=True),)), series=Daily(slots=3))

    async def twelve_days() -> list[bool]:
        async with server.async_client(ledger=tmp_path / "ledger") as client:
            settings, asked = module.Settings(client), []
            for day in range(12):
                await settings.switch(on=day < 6)
                asked.append(await module.once_a_day(client, str(server.campaign), "dark"))
                server.travel(days=1)
            page = json.loads(await settings.page(["de"]))
            assert page["opted_out"] is not None
            assert page["campaigns"][0]["state"] == "left"
            return asked

    asked = asyncio.run(twelve_days())
    assert asked.count(True) == 2
    assert not any(asked[6:])


def test_a_backend_answers_for_its_users(tmp_path: Path) -> None:
    module = imported("backend/backend.py")
    server = FakeServer(Domain((Ordinal("minutes", edges=(0, 15, 60)),)))
    caps = Caps.of(1, days=28, lifetime=12)
    store = LedgerStore(
        tmp_path / "store", server="https://a.example", caps=caps, key=bytes(32), transport=server, clock=server
    )
    with TestClient(module.make_app(store, str(server.campaign), every_s=0.01)) as http:
        said = [http.post(f"/users/{user}/delay?minutes=7").json()["status"] for user in ("a", "b", "a")]
        assert said == ["recorded", "recorded", "already_answered"]
        account = http.get("/users/a/telemetry").json()
        assert account["caps"]["lifetime"] == {"epsilon": "12", "spent": "1", "left": "11"}
        http.delete("/users/b/telemetry").raise_for_status()
        assert http.get("/users/b/telemetry").json()["opted_out"] is not None
    store.flush()
    assert len(server.received) in (1, 2)
    store.close()
