"""One ledger, several servers: each campaign belongs to the one it was joined at, until its app moves it."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from pathlib import Path

import httpx
import pytest

from sordino_client import (
    AsyncClient,
    AsyncHttpxTransport,
    Client,
    HttpxTransport,
    LedgerUnavailable,
    NotJoined,
    PlanRefused,
    PlanUnavailable,
    ServedElsewhere,
    ServerChanged,
)
from sordino_client._storage import SCHEMA_VERSION
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignServer, Problem
from tests.client.older_ledgers import take_format_8

A, B = "https://a.example", "https://b.example"


@pytest.fixture
def two(make_world, make_client, ledger):
    """Two worlds with their servers' addresses, and a way to talk to either by the one ledger."""
    worlds = {A: make_world(), B: make_world(created_at=1_700_000_001)}

    def client(address: str, **changes) -> Client:
        handler = httpx.MockTransport(lambda request: worlds[address].handle(request))
        return make_client(
            worlds[address], server=address, transport=HttpxTransport(address, handler=handler), **changes
        )

    return worlds, client


def test_a_client_sends_the_reports_of_its_own_server_only(two) -> None:
    worlds, client = two
    for address in (A, B):
        client(address).answer(client(address).join(worlds[address].campaign), "red")
    worlds[B].replies = [worlds[B].problem(Problem.NOT_FOUND)]
    flushed = client(B, upload_token="token-of-b").flush()
    assert [refused.campaign for refused in flushed.refused] == [worlds[B].campaign]
    assert (flushed.waiting, flushed.retry_in_s, worlds[A].bodies) == (0, None, [])
    assert all(str(worlds[A].campaign) not in request.url.path for request in worlds[B].requests)
    assert client(A).flush().delivered == 1
    servers = [campaign.server for campaign in client(A).account().campaigns]
    assert servers == [A, B]


def test_trouble_at_one_server_holds_up_no_report_for_another(two) -> None:
    worlds, client = two
    for address in (A, B):
        client(address).answer(client(address).join(worlds[address].campaign), "red")
    worlds[A].replies = [worlds[A].problem(Problem.OVERLOADED, Retry_After="1000")]
    assert client(A).flush(patience_s=0).waiting == 1
    assert client(B).flush(patience_s=0).delivered == 1


def test_another_servers_campaign_is_neither_joined_nor_answered(two) -> None:
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    for step in (lambda: client(B).join(campaign.id), lambda: client(B).answer(campaign, "red")):
        with pytest.raises(ServedElsewhere, match="rehome") as caught:
            step()
        assert (caught.value.origin, caught.value.server, caught.value.campaign) == (A, B, campaign.id)
    assert worlds[B].requests == []
    client(B).opt_out(campaign)
    assert client(A).join(campaign.id).opted_out


def test_a_campaign_moves_with_its_reports_once_the_new_server_shows_its_manifest(two, clock) -> None:
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    client(A).answer(campaign, "red")
    worlds[A].replies = [worlds[A].problem(Problem.OVERLOADED, Retry_After="1000")]
    client(A).flush(patience_s=0)
    worlds[B] = worlds[A]
    assert client(B).rehome(campaign, B).id == campaign.id
    assert client(B).flush(patience_s=0).delivered == 1
    with pytest.raises(ServedElsewhere):
        client(A).answer(campaign, "red")


def test_a_move_that_is_refused_moves_nothing(two) -> None:
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    client(A).answer(campaign, "red")
    with pytest.raises(PlanUnavailable):
        client(B).rehome(campaign, B)
    other = dataclasses.replace(worlds[A].manifest, purpose="Something else.")
    worlds[B].handle = lambda request: httpx.Response(200, content=other.content)
    with pytest.raises(PlanRefused):
        client(B).rehome(campaign, B)
    with pytest.raises(InvalidValue, match=r"this client talks to https://b\.example"):
        client(B).rehome(campaign, A)
    with pytest.raises(NotJoined):
        client(B).rehome(worlds[B].campaign, B)
    assert client(B).flush().waiting == 0
    assert client(A).flush().delivered == 1


def test_one_server_has_one_spelling(two) -> None:
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    worlds["https://A.example:443/"] = worlds[A]
    assert client("https://A.example:443/").join(campaign.id) == campaign


def test_the_async_twin_moves_a_campaign(two, ledger, clock) -> None:
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    client(A).answer(campaign, "red")

    async def move() -> int:
        transport = AsyncHttpxTransport(B, handler=httpx.MockTransport(worlds[A].handle))
        caps = client(A)._device.config.caps
        async with AsyncClient(B, ledger=ledger, caps=caps, transport=transport, clock=clock) as twin:
            with pytest.raises(ServedElsewhere):
                await twin.answer(campaign, "red")
            await twin.rehome(campaign, B)
            return (await twin.flush()).delivered

    assert asyncio.run(move()) == 1


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_ledger_is_brought_up_and_asks_to_join_again(two, ledger, version) -> None:
    """What was spent and what waits is kept; where it goes is learned by `join`, which shows the same manifest."""
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    client(A).answer(campaign, "red")
    client(A).close()
    with sqlite3.connect(ledger) as connection:
        take_format_8(connection)
        connection.execute("DROP TRIGGER sources_are_final")
        connection.execute("ALTER TABLE campaigns DROP COLUMN source")
        connection.execute("ALTER TABLE debits DROP COLUMN period_start")
        connection.execute("ALTER TABLE reports DROP COLUMN tried_at")
        connection.execute("ALTER TABLE reports DROP COLUMN trouble")
        connection.execute("ALTER TABLE campaigns DROP COLUMN origin")
        connection.execute("DROP TABLE tasks")
        connection.execute("DROP TABLE series")
        connection.execute("DROP TABLE lists")
        connection.execute("DROP TABLE found")
        if version == 1:
            connection.execute("DROP TABLE pinned_plans")
        connection.execute(f"PRAGMA user_version = {version}")
    again = client(A)
    assert again.account().lifetime_nano == campaign.guarantee.nano
    assert again.flush().delivered == 0
    with pytest.raises(ServedElsewhere, match="an address that was not kept"):
        again.answer(campaign, "red")
    with pytest.raises(PlanUnavailable):
        client(B).join(campaign.id)
    assert again.join(campaign.id) == campaign
    assert again.flush().delivered == 1
    assert client(A).account().lifetime_nano == campaign.guarantee.nano


def test_an_address_is_kept_though_the_task_contradicts_an_earlier_one(two, ledger) -> None:
    """A ledger from before addresses were kept sends what waits; `answer` tells that the server names two plans."""
    worlds, client = two
    campaign = client(A).join(worlds[A].campaign)
    client(A).answer(campaign, "red")
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE campaigns SET origin = NULL")
        connection.execute("UPDATE pinned_plans SET digest = zeroblob(32)")
    assert client(A).flush().delivered == 0
    assert client(A).join(campaign.id) == campaign
    assert client(A).flush().delivered == 1


EU, BACKUP, US = "https://eu.example", "https://backup.example", "https://us.example"
SERVERS = (CampaignServer("eu", (EU, BACKUP)), CampaignServer("us", (US,)))


@pytest.fixture
def regions(make_world, make_client):
    """One campaign that names two servers, and clients of any address that leads to it."""
    world = make_world(servers=SERVERS)

    def client(address: str, **changes) -> Client:
        handler = httpx.MockTransport(world.handle)
        return make_client(world, server=address, transport=HttpxTransport(address, handler=handler), **changes)

    return world, client


def test_a_device_keeps_to_the_server_that_it_joined(regions, ledger) -> None:
    world, client = regions
    campaign = client(EU).join(world.campaign)
    client(EU).answer(campaign, "red")
    before = len(world.requests)
    steps = [
        lambda: client(US).join(campaign.id),
        lambda: client(US).answer(campaign, "red"),
        lambda: client(US).rehome(campaign, US),
        lambda: client(A).rehome(campaign, A),
    ]
    for step in steps:
        with pytest.raises(ServerChanged, match="would count twice") as caught:
            step()
        assert (caught.value.source, caught.value.origin, caught.value.campaign) == ("eu", EU, campaign.id)
    assert client(US).flush().waiting == 0
    assert len(world.requests) == before
    with sqlite3.connect(ledger) as connection, pytest.raises(sqlite3.IntegrityError, match="sources are final"):
        connection.execute("UPDATE campaigns SET source = 'us'")


def test_a_campaign_moves_to_another_address_of_the_same_server(regions) -> None:
    world, client = regions
    campaign = client(EU).join(world.campaign)
    client(EU).answer(campaign, "red")
    with pytest.raises(ServedElsewhere) as caught:
        client(BACKUP).answer(campaign, "red")
    assert not isinstance(caught.value, ServerChanged)
    client(BACKUP).rehome(campaign, BACKUP)
    assert client(BACKUP).flush().delivered == 1
    with pytest.raises(ServerChanged):
        client(US).rehome(campaign, US)


def test_a_server_that_the_manifest_does_not_name_is_not_joined(regions) -> None:
    world, client = regions
    with pytest.raises(PlanRefused, match=r"it names the servers https://eu\.example"):
        client(A).join(world.campaign)
    with pytest.raises(NotJoined):
        client(A).answer(world.campaign, "red")


def test_what_waits_for_a_server_that_is_gone_expires(regions, clock) -> None:
    world, client = regions
    world.task = dataclasses.replace(world.task, accept_until=int(clock.time) + 1000)
    campaign = client(EU).join(world.campaign)
    client(EU).answer(campaign, "red")
    clock.time += 1001
    assert client(EU).flush().waiting == 0
    assert [entry.state for entry in client(US).account().campaigns[0].entries] == ["expired"]


def test_a_moved_row_is_damage(regions, ledger) -> None:
    world, client = regions
    client(EU).join(world.campaign)
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE campaigns SET origin = ?", (US,))
    with pytest.raises(LedgerUnavailable, match="damaged"):
        client(US).answer(world.campaign, "red")


def test_a_ledger_of_format_5_is_brought_up(make_client, world, ledger) -> None:
    """`ledgers/format_5.sql` is a dump by the code before: one report delivered, one waiting."""
    with sqlite3.connect(ledger) as connection:
        connection.executescript((Path(__file__).parent / "ledgers" / "format_5.sql").read_text())
    waiting = type(world)(created_at=1_700_000_001)
    client = make_client(waiting)
    assert [[entry.state for entry in each.entries] for each in client.account().campaigns] == [
        ["delivered"],
        ["spooled"],
    ]
    assert client.flush().delivered == 1
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,) == (10,)
        assert connection.execute("SELECT DISTINCT source FROM campaigns").fetchall() == [(None,)]
