"""The migrations make exactly the models' tables, go down and up again, and a wrong revision is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from sordino_server.kit import migrations
from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database
from sordino_server.models import Base


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = Database(request.getfixturevalue(f"{request.param}_url"))
    yield database
    database.close()


def tables(database: Database) -> set[str]:
    return set(inspect(database.engine).get_table_names()) - {"alembic_version"}


def checks(database: Database) -> dict[tuple[str, str], set[str]]:
    """Quoted words of every CHECK: engines reword the rest."""
    inspector = inspect(database.engine)
    return {
        (table, str(check["name"])): set(re.findall(r"'(\w+)'", check["sqltext"]))
        for table in tables(database)
        for check in inspector.get_check_constraints(table)
    }


def test_up_down_up(database):
    assert migrations.current_revision(database) is None
    migrations.upgrade(database)
    assert migrations.current_revision(database) == migrations.head_revision()
    assert tables(database) == set(Base.metadata.tables)
    migrations.downgrade(database, "base")
    assert tables(database) == set()
    assert migrations.current_revision(database) is None
    migrations.upgrade(database)
    migrations.upgrade(database)
    migrations.check_schema(database)


def test_migrations_and_models_are_the_same_schema(database):
    migrations.upgrade(database)
    with database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    migrated = checks(database)
    migrations.downgrade(database, "base")
    with database.write("create from models") as session:
        Base.metadata.create_all(session.connection())
    # Alembic does not compare CHECK constraints.
    assert checks(database) == migrated
    assert any("estimated" in words for words in migrated.values())


def test_another_revision_is_refused(database):
    with pytest.raises(SchemaMismatch, match="has no tables yet"):
        migrations.check_schema(database)
    migrations.upgrade(database)
    with database.write("pretend") as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'older'"))
    with pytest.raises(SchemaMismatch, match=r"older.*sordino db upgrade"):
        migrations.check_schema(database)
