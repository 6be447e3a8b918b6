"""The migration of batches goes down and up with data: what cannot be made again has to be named, keys open nothing."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from sordino_server.keys import service as keys
from sordino_server.kit import migrations, schema_version
from sordino_server.kit.database_errors import SchemaMismatch
from sordino_server.models import Role
from tests.server.shuffled.collected import BOTH_ENGINES, USERS, Shuffled

BEFORE = "202611270010"
TABLES = {"batches", "sealed_pages", "signed_tasks"}


@BOTH_ENGINES
def test_batches_go_only_by_name_and_a_shufflers_key_opens_nothing_before_them(shuffled: Shuffled) -> None:
    home = shuffled.home
    home.anonymous.get(f"{shuffled.path}/task").raise_for_status()
    for page in shuffled.pages([*shuffled.sealed([0] * USERS), *shuffled.blanket()]):
        assert shuffled.push(page).status_code == 201
    for missing in sorted(TABLES):
        with pytest.raises(SchemaMismatch, match=rf"{missing} \(\d+ rows?\)"):
            migrations.downgrade(home.database, BEFORE, lose=TABLES - {missing})
    schema_version.check_schema(home.database)
    migrations.downgrade(home.database, BEFORE, lose=TABLES)
    with home.database.read() as session:
        roles = session.execute(text("SELECT role, revoked_at IS NULL FROM keys ORDER BY role")).all()
    # The admin's key goes on; the shuffler's is one that nobody takes.
    assert [(role, bool(alive)) for role, alive in roles] == [("admin", True), ("uploader", False)]
    migrations.upgrade(home.database)
    schema_version.check_schema(home.database)
    with home.database.write("another key") as session:
        keys.create(session, "mix", Role.SHUFFLER, home.clock.now(), shuffled.campaign["id"])
        assert session.scalar(text("SELECT count(*) FROM rounds WHERE shuffled")) == 0
