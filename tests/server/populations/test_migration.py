"""What was asked before there was a ledger is entered in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text

from sordino_analysis.planning.planner import CompiledPlan
from sordino_server.kit import migrations
from sordino_server.kit.db import Database
from sordino_server.populations import repository, service
from sordino_server.populations.schemas import PopulationCaps, PopulationOrder
from sordino_server.populations.service import identifier_of
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import EveryRound, Manifest, PlanReference, RoundTerms

BEFORE = "202611212200"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"{request.param}_url"))
    yield database
    database.close()


def manifest_of(plan: CompiledPlan, created_at: int) -> Manifest:
    reference = PlanReference(plan.device.digest, plan.analyst.digest)
    terms = RoundTerms(plan.device.guarantee, reference)
    allowed = PureEpsilon.of("1.5")
    return Manifest(
        name="x",
        purpose="x",
        population="travellers",
        created_at=created_at,
        domain=plan.device.domain,
        device_guarantee=allowed,
        rounds=(terms,),
        assignment=EveryRound(),
    )


def test_opened_campaigns_are_entered(database: Database, plan_of: Callable[..., CompiledPlan]) -> None:
    migrations.upgrade(database, BEFORE)
    plan = plan_of("histogram", 3, mechanism="randomized_response")
    with database.write("campaigns of before") as session:
        for created_at, opened_at in ((1, 10), (2, None), (3, 30)):
            manifest = manifest_of(plan, created_at)
            values = {"id": str(manifest.campaign), "manifest": manifest.content, "at": created_at, "opened": opened_at}
            session.execute(
                text(
                    "INSERT INTO campaigns (id, name, population, manifest, state, created_at, opened_at)"
                    " VALUES (:id, 'x', 'travellers', :manifest, 'open', :at, :opened)"
                ),
                values,
            )
    migrations.upgrade(database)
    identifier = identifier_of("travellers")
    with database.read() as session:
        assert repository.asked(session, [identifier]) == {identifier: 3 * 10**9}
        assert repository.asked_once_after(session, {identifier: 10}) == {identifier: 15 * 10**8}
        assert set(session.scalars(text("SELECT kind FROM population_ledger"))) == {"pure_epsilon"}
        population = repository.find(session, identifier)
    assert population is not None
    assert (population.name, population.created_at, population.lifetime_nano) == ("travellers", 10, None)
    migrations.downgrade(database, BEFORE, lose={"populations", "population_ledger"})
    migrations.upgrade(database)


BEFORE_CAPS = "202611271740"


def test_populations_of_before_are_declared_and_listed_until_caps_are_chosen(database: Database) -> None:
    migrations.upgrade(database, BEFORE_CAPS)
    # (name, declared, lifetime, version, created at)
    known = [("made", "TRUE", "9", 1, 10), ("found", "FALSE", "NULL", 1, 20), ("freed", "TRUE", "NULL", 2, 15)]
    with database.write("populations of before") as session:
        for name, declared, lifetime, version, at in known:
            values = f"'{identifier_of(name)}', '{name}', {lifetime}, {version}, {declared}, {at}"
            columns = "id, name, lifetime_nano, version, declared, created_at"
            session.execute(text(f"INSERT INTO populations ({columns}) VALUES ({values})"))
    migrations.upgrade(database)
    with database.write("after") as session:
        assert service.from_before_caps(session) == ["found"]
        found = repository.find(session, identifier_of("found"))
        assert found is not None
        assert found.declared
        assert found.lifetime_nano is None
        service.check_open_to(session, "found", "declared")
        service.create(session, PopulationOrder(name="new", epsilon_lifetime=None), 30)
        assert service.from_before_caps(session) == ["found"]
        service.change_caps(session, found.id, PopulationCaps(epsilon_lifetime=None), '"1"')
        session.flush()
        assert service.from_before_caps(session) == []


def test_a_new_database_lists_no_population(database: Database) -> None:
    migrations.upgrade(database)
    with database.write("new") as session:
        service.create(session, PopulationOrder(name="new", epsilon_lifetime=None), 30)
        assert service.from_before_caps(session) == []
