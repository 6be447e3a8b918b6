"""The migrations make exactly the models' tables, go down and up again, and a wrong revision is refused."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import resources

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from sordino_server.kit import migrations, schema_version
from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.kit.db import Database
from sordino_server.models import Base
from sordino_shared.errors import InvalidValue
from tests.patience import PATIENCE_S

# SHA-256 of every migration that a database may have gone through. A released one is never edited, since databases
# that have it would not see the change: add another migration, and its line here when it is released.
RELEASED = {
    "2026-11-20-1140_first_tables.py": "f5c993d9ca7af6a80929773b59e916497d6c7432aac179236c3239ca3d6200aa",
    "2026-11-21-2150_plans_by_content.py": "53fb1f805b28381e6732e410252d3b4d5a987693180979a564c34e833384ca3f",
    "2026-11-21-2200_protocols.py": "072aea46287e9354643b467108edc85eef5b6aa18bdf70cf1f8b68f0f1328d3e",
    "2026-11-21-2240_populations.py": "039332377ec5a105e0ba7fb05f6e83d5c90c0e5eecbfc22f23c8cc8c27ea87c5",
    "2026-11-21-2250_upload_tokens.py": "32ccc0b6e833a7b65c771108dbba6df661b46f9319062eeba7459b31230a84cd",
    "2026-11-21-2315_retention.py": "8d2b44d51c62e2427839b071370f7626a40ce682b79c913db4c259a0d3a5a3f1",
    "2026-11-22-0150_ledger_without_replacement.py": "ab2db1714e8214221b19c02b2c4902db74bd075774e67a188a22b5a68cd6dcaf",
}
UPGRADE = "import sys; from sordino_server.kit import db, migrations; migrations.upgrade(db.Database(sys.argv[1]))"
MIGRATION_LOCK = 0x50D0  # as in migrations/env.py


# The older PostgreSQL goes through all of it in the longer run.
@pytest.fixture(params=["sqlite", "postgres", pytest.param("older_postgres", marks=pytest.mark.slow)])
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


def test_an_older_postgresql_takes_every_migration(migrated_older_postgres_url):
    database = Database(migrated_older_postgres_url)
    schema_version.check_schema(database)
    assert tables(database) == set(Base.metadata.tables)
    database.close()


def test_up_down_up(database):
    assert schema_version.current_revision(database) is None
    migrations.upgrade(database)
    assert schema_version.current_revision(database) == schema_version.head_revision()
    assert tables(database) == set(Base.metadata.tables)
    migrations.downgrade(database, "base")
    assert tables(database) == set()
    assert schema_version.current_revision(database) is None
    migrations.upgrade(database)
    migrations.upgrade(database)
    schema_version.check_schema(database)


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


@pytest.mark.parametrize(
    "database",
    ["sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "older_postgres"))],
    indirect=True,
)
def test_every_step_goes_down_and_up_and_leaves_other_data_alone(database):
    first, *later = revisions()
    migrations.upgrade(database, first)
    with database.write("a row from before") as session:
        session.execute(text("INSERT INTO workloads (id, name, specification, created_at) VALUES ('w', 'x', '{}', 7)"))
    for before, revision in zip([first, *later], later, strict=False):
        migrations.upgrade(database, revision)
        migrations.downgrade(database, before)
        assert schema_version.current_revision(database) == before
        migrations.upgrade(database, revision)
    for revision in reversed([first, *later]):
        migrations.downgrade(database, revision)
        with database.read() as session:
            assert session.execute(text("SELECT id, created_at FROM workloads")).all() == [("w", 7)]


def test_sums_from_elsewhere_are_not_left_to_a_version_that_misreads_them(database):
    """A share `source:eu` would be counted as reports of the log, which does not have them."""
    migrations.upgrade(database)
    for shard in ("whole", "source:eu"):
        put_share(database, shard)
    with pytest.raises(SchemaMismatch, match=r"ids 7 count sums from other servers.*DELETE FROM accumulators WHERE"):
        migrations.downgrade(database, "202611222036")
    schema_version.check_schema(database)
    assert tables(database) == set(Base.metadata.tables)
    with database.write("give up") as session:
        session.execute(text("DELETE FROM accumulators WHERE shard LIKE 'source:%'"))
    migrations.downgrade(database, "202611222036")
    with database.read() as session:
        assert session.scalars(text("SELECT shard FROM accumulators")).all() == ["whole"]


def test_arms_are_not_left_to_a_version_that_cannot_tell_them_apart(database):
    """It would refuse the reports of the second arm, and the next upgrade would count every arm as the first."""
    migrations.upgrade(database)
    columns = "id, campaign_id, index, state, device_digest, analyst_digest, epoch, epochs, arms, attempts"
    columns = columns.replace("index", '"index"')
    put_unchecked(database, f"INSERT INTO rounds ({columns}) VALUES (7, 'faster', 0, 'closed', 'd', 'a', 0, 1, 2, 0)")
    with pytest.raises(SchemaMismatch, match=r"campaigns faster have arms.*UPDATE rounds SET arms = 0"):
        migrations.downgrade(database, "202611270100")
    schema_version.check_schema(database)
    with database.write("give up") as session:
        session.execute(text("UPDATE rounds SET arms = 0"))
    migrations.downgrade(database, "202611270100")
    assert schema_version.current_revision(database) == "202611270100"


def test_releases_of_pure_epsilon_are_not_left_to_a_version_that_reads_them_as_rho(database):
    migrations.upgrade(database, "202611270915")
    columns = "id, dataset_id, workload_id, key, objective, nano_rho, state, attempts, created_at"
    put_unchecked(database, f"INSERT INTO datasets {KEPT['datasets']}")
    put_unchecked(database, f"INSERT INTO releases ({columns}) VALUES ('r', 'd', 'w', 'k', 'max', 3, 'released', 1, 7)")
    migrations.upgrade(database)
    with database.read() as session:
        assert session.execute(text("SELECT kind, nano, mechanism FROM releases")).all() == [("zcdp", 3, None)]
        assert session.scalars(text("SELECT account FROM datasets")).all() == ["rho"]
    migrations.downgrade(database, "202611270915")
    with database.read() as session:
        assert session.scalars(text("SELECT nano_rho FROM releases")).all() == [3]
    migrations.upgrade(database)
    for change in ("UPDATE releases SET kind = 'pure_epsilon'", "UPDATE datasets SET account = 'epsilon'"):
        put_unchecked(database, change)
        with pytest.raises(SchemaMismatch, match="datasets flights have caps or releases in pure ε"):
            migrations.downgrade(database, "202611270915")
        put_unchecked(database, "UPDATE releases SET kind = 'zcdp'")
    put_unchecked(database, "UPDATE datasets SET account = 'rho'")
    migrations.downgrade(database, "202611270915")


def test_an_account_that_nobody_counts_is_refused_before_and_after(database):
    """From 202611271540 on by the database; rows of before are named."""
    migrations.upgrade(database, "202611271300")
    put_unchecked(database, f"INSERT INTO datasets {KEPT['datasets']}")
    put_unchecked(database, "UPDATE datasets SET account = 'delta'")
    with pytest.raises(SchemaMismatch, match="datasets flights have an account that is neither"):
        migrations.upgrade(database)
    put_unchecked(database, "UPDATE datasets SET account = 'epsilon'")
    migrations.upgrade(database)
    with pytest.raises(Exception, match="ck_datasets_account"):
        put_unchecked(database, "UPDATE datasets SET account = 'delta'")
    migrations.downgrade(database, "202611271300")
    put_unchecked(database, "UPDATE datasets SET account = 'delta'")


KEPT = {
    "populations": "(id, name, lifetime_nano, version, declared, created_at) VALUES ('p', 'x', 9, 1, TRUE, 7)",
    "population_ledger": "(campaign_id, population_id, nano, created_at) VALUES ('c', 'p', 3, 7)",
    "datasets": "(id, name, terms, cap_nano, version, created_at) VALUES ('d', 'flights', '{}', 9, 1, 7)",
    "releases": "(id, dataset_id, workload_id, key, objective, nano, state, attempts, created_at)"
    " VALUES ('r', 'd', 'w', 'k', 'mean', 3, 'released', 1, 7)",
    "dataset_ledger": "(release_id, dataset_id, kind, nano, created_at) VALUES ('r', 'd', 'zcdp', 3, 7)",
    "keys": "(id, name, role, secret_sha256, created_at) VALUES ('k', 'me', 'admin', '', 7)",
    "audit_log": "(id, key_id, action, path, created_at) VALUES (1, 'k', 'create population', '/v1/populations/p', 7)",
    "reports": "(round_id, report_id, content_hash) VALUES (7, '0123456789abcdef', '0123456789abcdef')",
    "accumulators": "(round_id, shard, count, sums) VALUES (7, 'whole', 3, '')",
}
# Sessions end within hours: nobody has to name them.
PASSING = {
    "console_sessions": "(id_sha256, key_id, created_at, expires_at) VALUES ('s', 'k', 7, 8)",
    "sign_in_links": "(token_sha256, key_id, created_at, expires_at) VALUES ('l', 'k', 7, 8)",
}


@pytest.mark.parametrize(
    "database",
    ["sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "older_postgres"))],
    indirect=True,
)
def test_a_downgrade_refuses_to_drop_what_cannot_be_made_again(database):
    """It ended with exit code 0 and the next upgrade had fresh caps, unspent ρ and an empty audit log."""
    migrations.upgrade(database)
    for name, row in {**KEPT, **PASSING}.items():
        put_unchecked(database, f"INSERT INTO {name} {row}")
    before = rows(database)
    for revision, lost in (
        ("base", set(KEPT)),
        ("202611212200", set(KEPT) - {"keys", "reports", "accumulators"}),
        ("202611221440", {"datasets", "releases", "dataset_ledger"}),
    ):
        # All but one of them are named: nothing goes.
        for missing in sorted(lost):
            with pytest.raises(SchemaMismatch, match=rf"{missing} \(1 row\).*--lose .*{missing}"):
                migrations.downgrade(database, revision, lose=lost - {missing})
            assert rows(database) == before
            schema_version.check_schema(database)
    with pytest.raises(InvalidValue, match="--lose names datasetz: no such table"):
        migrations.downgrade(database, "base", lose={"datasetz"})
    migrations.downgrade(database, "202611221440", lose={"datasets", "releases", "dataset_ledger"})
    assert schema_version.current_revision(database) == "202611221440"
    gone = {"datasets", "releases", "dataset_ledger", *PASSING}
    assert rows(database) == {name: count for name, count in before.items() if name not in gone}
    migrations.upgrade(database)
    migrations.downgrade(database, "base", lose={name for name, count in rows(database).items() if count})
    assert tables(database) == set()


def rows(database: Database) -> dict[str, int]:
    """The number of rows of each table that has some."""
    with database.read() as session:
        counted = {name: session.scalar(text(f"SELECT count(*) FROM {name}")) for name in tables(database)}
    return {name: count for name, count in counted.items() if count}


def put_share(database: Database, shard: str) -> None:
    """Sums of a round that is not there: a campaign with all that it refers to would show no more."""
    put_unchecked(database, f"INSERT INTO accumulators (round_id, shard, count, sums) VALUES (7, '{shard}', 3, '')")


def put_unchecked(database: Database, row: str) -> None:
    """A row whose foreign keys refer to nothing."""
    if database.is_sqlite:
        with closing(sqlite3.connect(str(database.url.database))) as unchecked, unchecked:
            unchecked.execute(row)
        return
    with database.write("unchecked") as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text(row))


def revisions() -> list[str]:
    """From the first to the last."""
    scripts = ScriptDirectory(str(resources.files("sordino_migrations")))
    return [script.revision for script in scripts.walk_revisions()][::-1]


def test_revisions_are_read_as_alembic_reads_them():
    scripts = ScriptDirectory(str(resources.files("sordino_migrations")))
    assert schema_version.head_revision() == scripts.get_current_head()
    assert schema_version.known_revisions() == set(revisions())


def test_released_migrations_are_never_edited():
    folder = resources.files("sordino_migrations").joinpath("versions")
    shipped = sorted(path.name for path in folder.iterdir() if path.name.endswith(".py"))
    # Names begin with their dates: what is not released yet follows what is.
    assert shipped[: len(RELEASED)] == sorted(RELEASED)
    digests = {name: hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() for name in RELEASED}
    assert digests == RELEASED


def test_processes_that_migrate_one_file_at_once_all_succeed(sqlite_url):
    database = Database(sqlite_url)
    processes = [start_upgrade(database) for _ in range(2)]
    assert [process.wait(PATIENCE_S) for process in processes] == [0, 0]
    schema_version.check_schema(database)
    database.close()


def test_whoever_comes_second_waits_for_the_first(postgres_url):
    """The lock is held by nobody's migration here, so that both must be seen waiting for it."""
    database = Database(postgres_url)
    with database.write("hold") as session:
        database.lock(session, MIGRATION_LOCK, 0)
        processes = [start_upgrade(database) for _ in range(2)]
        try:
            wait_until(lambda: waiting_for_locks(database) == 2)
            assert schema_version.current_revision(database) is None
        except BaseException:
            for process in processes:
                process.kill()
                process.wait()
            raise
    assert [process.wait(PATIENCE_S) for process in processes] == [0, 0]
    schema_version.check_schema(database)
    database.close()


def start_upgrade(database: Database) -> subprocess.Popen[bytes]:
    url = database.url.render_as_string(hide_password=False)
    return subprocess.Popen([sys.executable, "-c", UPGRADE, url])


def waiting_for_locks(database: Database) -> int:
    with database.read() as session:
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = :space"
        return session.execute(text(query), {"space": MIGRATION_LOCK}).scalar_one()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "nobody waits for the lock"
        time.sleep(0.02)


def test_a_schema_from_before_is_refused_until_it_is_upgraded(database):
    with pytest.raises(SchemaMismatch, match=r"has no tables yet.*sordino db upgrade"):
        schema_version.check_schema(database)
    migrations.upgrade(database, revisions()[0])
    with pytest.raises(SchemaMismatch, match=rf"{revisions()[0]}.*{revisions()[-1]}.*sordino db upgrade"):
        schema_version.check_schema(database)
    migrations.upgrade(database)
    schema_version.check_schema(database)


def test_a_schema_of_a_newer_version_is_refused_and_not_touched(database):
    migrations.upgrade(database)
    with database.write("pretend") as session:
        session.execute(text("UPDATE alembic_version SET version_num = '209901010000'"))
    for act in (
        schema_version.check_schema,
        migrations.upgrade,
        lambda database: migrations.downgrade(database, revisions()[0]),
    ):
        with pytest.raises(SchemaMismatch, match=r"209901010000.*newer version.*development.*Run the version"):
            act(database)
    assert schema_version.current_revision(database) == "209901010000"
