"""The clusters that the store's tests run on: both major versions, wherever their programs are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests import postgres


@pytest.mark.skipif("POSTGRES_BIN" in os.environ, reason="the newer cluster is that of POSTGRES_BIN")
def test_the_newer_cluster_is_of_the_newer_major_version(postgres_cluster: postgres.PostgresCluster) -> None:
    assert postgres_cluster.major() == postgres.NEWER


def test_the_older_cluster_is_of_the_older_major_version(older_postgres_cluster: postgres.PostgresCluster) -> None:
    assert older_postgres_cluster.major() == postgres.OLDER


def test_the_newest_of_both_is_the_default_and_a_system_s_own_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "initdb").touch()
    monkeypatch.setenv("POSTGRES_BIN", str(tmp_path))
    assert postgres.programs(postgres.NEWER) == tmp_path
    assert postgres.programs(postgres.OLDER) != tmp_path
    monkeypatch.setenv("POSTGRES_BIN", str(tmp_path / "none"))
    with pytest.raises(pytest.fail.Exception, match="has no initdb, but POSTGRES_BIN names it"):
        postgres.programs(postgres.NEWER)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_programs_that_the_server_s_user_cannot_reach_are_copied(tmp_path: Path) -> None:
    """As in a checkout below /root."""
    wheel, closed = postgres.wheel(), tmp_path / "closed"
    shutil.copytree(wheel / "pginstall", closed / wheel.name / "pginstall")
    shutil.copytree(wheel.with_name(f"{wheel.name}.libs"), closed / f"{wheel.name}.libs")
    closed.chmod(0o700)
    folder, user = Path(tempfile.mkdtemp()), postgres.ordinary_user()
    folder.chmod(0o755)
    try:
        found = postgres.readable(closed / wheel.name / "pginstall" / "bin", user, folder)
        assert found.is_relative_to(folder)
        subprocess.run([found / "initdb", "--version"], user=user, cwd=folder, check=True)
    finally:
        shutil.rmtree(folder)


def test_a_database_is_used_again_once_its_rows_are_gone_unless_its_schema_changed(
    postgres_cluster: postgres.PostgresCluster, postgres_template: str
) -> None:
    """Also rows of a ledger that takes no deletion, while a connection holds a lock; numbers begin again."""
    template = postgres_cluster.url(postgres_template)
    url = postgres_cluster.create(postgres_template)
    entry = "INSERT INTO audit_log (key_id, action, path, created_at) VALUES ('k', 'open', '/', 1) RETURNING id"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        first = connection.execute(entry).fetchone()
        connection.execute("RESET session_replication_role")
        with pytest.raises(psycopg.Error):
            connection.execute("DELETE FROM audit_log")
    with closing(psycopg.connect(url)) as held:
        held.execute("LOCK audit_log")
        assert postgres.is_emptied(url, template)
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM audit_log").fetchone() == (0,)
        connection.execute("SET session_replication_role = replica")
        assert connection.execute(entry).fetchone() == first
        connection.execute("ALTER TABLE audit_log ADD COLUMN more INTEGER")
    assert not postgres.is_emptied(url, template)
    postgres_cluster.drop(url)
    assert not postgres.is_emptied(url, template)
