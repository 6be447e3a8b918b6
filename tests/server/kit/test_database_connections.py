"""What is said of a database that lets nobody in, by a PostgreSQL that asks for passwords; one cause, one text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy import text

from sordino_server.kit import migrations
from sordino_server.kit.database_errors import (
    AccessRefused,
    DatabaseError,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    connection_meaning,
)
from sordino_server.kit.db import Database
from sordino_server.kit.logs import configure_logs
from sordino_shared.errors import InvalidValue
from tests.ports import free_port
from tests.postgres import PostgresCluster

PASSWORD = "s3cret@100%/?#:"
QUOTED = "s3cret%40100%25%2F%3F%23%3A"


@pytest.fixture(scope="module")
def cluster(password_cluster: PostgresCluster) -> PostgresCluster:
    """With users and databases of every kind that a connection may fail by."""
    for statement in (
        f"CREATE ROLE me LOGIN PASSWORD '{PASSWORD}'",
        f"CREATE ROLE full_up LOGIN PASSWORD '{PASSWORD}' CONNECTION LIMIT 0",
        f"CREATE ROLE nobody PASSWORD '{PASSWORD}'",
        "CREATE DATABASE closed",
        "REVOKE CONNECT ON DATABASE closed FROM public",
        "CREATE DATABASE resting ALLOW_CONNECTIONS false",
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        "CREATE DATABASE standby",
        "ALTER DATABASE standby SET default_transaction_read_only = on",
    ):
        password_cluster.execute(statement)
    return password_cluster


def failure(url: str, work: Callable[[Database], object] = Database.check) -> DatabaseError:
    """What using the database raises."""
    with closing(Database(url)) as database, pytest.raises(DatabaseError) as caught:
        work(database)
    return caught.value


CAUSES = {
    "a wrong password": ("me:wrong@{place}/postgres", AccessRefused, "refuses the user or the password"),
    "no password": ("me@{place}/postgres", AccessRefused, "refuses the user or the password"),
    "an unknown user": (f"who:{QUOTED}@{{place}}/postgres", AccessRefused, "refuses the user or the password"),
    "a missing database": (f"me:{QUOTED}@{{place}}/nowhere", AccessRefused, "has no database of this name"),
    "an unknown host": (f"me:{QUOTED}@no.such.host.invalid/x", DatabaseUnavailable, "no address is known"),
    "a closed port": (f"me:{QUOTED}@127.0.0.1:{{closed}}/x", DatabaseUnavailable, "nothing listens"),
    "a socket that is not there": (f"me:{QUOTED}@/x?host=/nowhere", DatabaseUnavailable, "nothing listens"),
    "an unknown option": (f"me:{QUOTED}@{{place}}/x?foo=1", AccessRefused, "an option or a port that does not exist"),
    "a port that is none": (f"me:{QUOTED}@127.0.0.1:99999/x", AccessRefused, "option or a port that does not exist"),
    "a user who may not log in": (f"nobody:{QUOTED}@{{place}}/postgres", AccessRefused, "pg_hba.conf, LOGIN and CONN"),
    "a closed database": (f"me:{QUOTED}@{{place}}/closed", AccessRefused, "pg_hba.conf, LOGIN and CONNECT"),
    "a resting database": (f"me:{QUOTED}@{{place}}/resting", AccessRefused, "pg_hba.conf, LOGIN and CONNECT"),
    "no encryption": (f"me:{QUOTED}@{{place}}/postgres?sslmode=require", AccessRefused, "cannot be encrypted"),
    "too many connections": (f"full_up:{QUOTED}@{{place}}/postgres", DatabaseUnavailable, "no connection left"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_has_its_own_text(cluster: PostgresCluster, cause: str) -> None:
    address, kind, words = CAUSES[cause]
    place = f"127.0.0.1:{cluster.port}"
    problem = failure("postgresql://" + address.format(place=place, closed=free_port()))
    assert type(problem) is kind
    assert words in str(problem)
    for told in ("127.0.0.1", "s3cret", "nowhere", "no.such", "who"):
        assert told not in str(problem), "devices see it too"


@pytest.mark.parametrize(("name", "encoding"), [("ascii", "SQL_ASCII"), ("latin", "LATIN1")])
def test_an_encoding_that_does_not_hold_every_text_is_refused_in_words(
    cluster: PostgresCluster, name: str, encoding: str
) -> None:
    problem = failure(cluster.url(name))
    assert type(problem) is DatabaseUnsuitable
    assert f"the encoding of the database is {encoding}" in str(problem)
    assert "ENCODING 'UTF8'" in str(problem)


def test_a_missing_privilege_is_no_matter_of_files(cluster: PostgresCluster) -> None:
    problem = failure(f"postgresql://me:{QUOTED}@127.0.0.1:{cluster.port}/postgres", migrations.upgrade)
    assert type(problem) is DatabaseUnsuitable
    assert "lacks a privilege" in str(problem)
    assert "file" not in str(problem)


def test_a_database_that_takes_no_writes_is_one(cluster: PostgresCluster) -> None:
    def write(database: Database) -> None:
        with database.write("create") as session:
            session.execute(text("CREATE TABLE t (x INTEGER)"))

    problem = failure(cluster.url("standby"), write)
    assert type(problem) is DatabaseReadOnly
    assert "takes no writes" in str(problem)
    assert "file" not in str(problem)


@pytest.mark.parametrize("url", ["postgresql://me:x@host:many/n", "postgresql://me:p@ss@host/n"])
def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidValue, match=r"not a database URL|two @: write one in the password as %40") as caught:
        Database(url)
    assert "ss@" not in str(caught.value)


def test_the_driver_s_words_are_logged_once_until_a_connection_works(
    cluster: PostgresCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "text")
    right = f"postgresql://me:{QUOTED}@127.0.0.1:{cluster.port}/postgres"
    with closing(Database(right.replace("/postgres", "/soon"))) as database:
        for _ in range(3):
            with pytest.raises(AccessRefused):
                database.check()
        logged = capsys.readouterr().err
        assert logged.count('database "soon" does not exist') == 1
        assert "s3cret" not in logged
        cluster.execute("CREATE DATABASE soon")
        database.check()
        database.engine.dispose()
        cluster.execute("DROP DATABASE soon WITH (FORCE)")
        with pytest.raises(AccessRefused):
            database.check()
    assert capsys.readouterr().err.count('database "soon" does not exist') == 1


def test_words_that_nobody_knows_and_broken_connections_are_no_cause() -> None:
    """A server may speak another language; the log has its words."""
    for said in ("FATAL:  Passwort-Authentifizierung", "server closed the connection", "SSL SYSCALL error: EOF"):
        assert connection_meaning(said)[0] is DatabaseUnavailable
        assert "failed or cannot be reached" in connection_meaning(said)[1]
