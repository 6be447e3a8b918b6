"""The SDK's page names every public thing, and the examples of the pages run."""

from __future__ import annotations

import inspect
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

import sordino_client
from sordino_client import AnswerStatus, Client
from sordino_shared.domains import Categorical, Domain, Ordinal
from sordino_shared.errors import OutsideDomain

SDK, QUICKSTART, README = "docs/sdk.md", "docs/quickstart.md", "client/README.md"


def read(page: str) -> str:
    return (Path(__file__).parents[2] / page).read_text()


def examples(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", read(page), re.DOTALL)


PAGE = read(SDK) + read("docs/errors.md")


@pytest.mark.parametrize("name", sordino_client.__all__)
def test_every_public_name_is_on_the_page(name) -> None:
    assert re.search(rf"\b{name}\b", PAGE)


@pytest.mark.parametrize("argument", list(inspect.signature(Client).parameters))
def test_every_argument_is_on_the_page(argument) -> None:
    assert re.search(rf"^\|.*`{argument}`.*\|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("status", list(AnswerStatus))
def test_every_status_is_on_the_page(status) -> None:
    assert f"| `{status.value}` |" in PAGE


@pytest.fixture
def delays(make_world, make_part):
    """A campaign of delays, as the pages speak of."""
    part = make_part(
        1.0, Domain((Ordinal(name="delay", edges=(-30.0, -15.0, 0.0, 15.0, 60.0, 180.0), unit="min", missing=True),))
    )
    return make_world(part, name="delays", purpose="Your device tells how late you arrived, with random noise added.")


@pytest.fixture
def run(monkeypatch, make_client) -> Callable[..., None]:
    """Run an example on a server of the tests."""

    def execute(example: str, world, names=None) -> None:
        def client(*_, **given) -> Client:
            return make_client(world, **{name: given[name] for name in ("strict", "caps") if given.get(name)})

        monkeypatch.setattr(sordino_client, "Client", client)
        text = re.sub(r'(?<=join\(")<.*?>', str(world.campaign), example)
        exec(compile(text, "example", "exec"), {"Client": sordino_client.Client} | (names or {}))

    return execute


def test_the_first_example_prints_what_the_page_shows(delays, run, capsys) -> None:
    run(examples(SDK)[0], delays)
    shown = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert capsys.readouterr().out == shown[1]
    assert len(delays.counted) == 1


@pytest.mark.parametrize("page", [SDK, QUICKSTART, README], ids=str)
def test_the_first_example_survives_a_start_without_a_connection(page, delays, run, capsys) -> None:
    def offline(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    delays.handle = offline
    run(examples(page)[0], delays)
    assert capsys.readouterr().out == "spent in 28 days: ε 0 of 1\nspent for life: ε 0 of 12\n"


def test_the_device_of_the_tutorial_sends_one_report(delays, run, capsys, monkeypatch, tmp_path) -> None:
    (example,) = [text for text in examples("docs/first-campaign.md") if "with Client(" in text]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "campaign.json").write_text(json.dumps({"id": str(delays.campaign)}))
    run(example, delays)
    assert capsys.readouterr().out.splitlines()[1:] == ["recorded", "already_answered", "1"]
    assert len(delays.counted) == 1


def test_a_value_of_several_attributes_is_given_as_the_page_does(make_world, make_part, make_client) -> None:
    (example,) = [text for text in examples(SDK) if '"crashes"' in text]
    world = make_world(make_part(1.0, Domain((Categorical("os", ("ios",), other=True), Ordinal("crashes", (1.0,))))))
    client = make_client(world, strict=True)
    exec(compile(example, "example", "exec"), {"client": client, "campaign": client.join(world.campaign)})
    assert client.flush().delivered == 1


def test_the_simulation_runs_and_tells_the_apps_mistakes(delays, run) -> None:
    (example,) = [text for text in examples(SDK) if "DeviceFleet(" in text]
    run(example, delays, {"caps": None, "values": [17.0, None, -40]})
    assert len(delays.counted) == 3
    with pytest.raises(OutsideDomain):
        run(example, delays, {"caps": None, "values": ["17"]})


def test_every_table_of_the_ledger_is_on_the_page(client, ledger) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    tables = PAGE.partition("## The ledger")[2].partition("##")[0]
    assert {f"`{name}`" for (name,) in names} <= set(re.findall(r"`\w+`", tables))
