"""The key of datasets is changed for all of them or for none, also where the process is killed in the middle."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from sordino_server.datasets import service as datasets
from sordino_server.datasets.key_rotation import KeyRotation, rotate
from sordino_server.kit.db import Database
from sordino_server.kit.sealing import Sealer
from sordino_server.models import IdempotencyKey
from sordino_shared.errors import InvalidValue, SordinoError
from tests.killed_before import killed_before
from tests.patience import PATIENCE_S

NEW, OTHER = bytes(range(90, 122)).hex(), bytes(range(140, 172)).hex()
COUNTS = [40, 30, 20, 10]
# No rotation of three datasets takes so many statements and commits.
MOST_POINTS = 40


def opened_by(curator: Any, identifier: str, key: str) -> bool:
    """Whether the key opens the rows, which are the ones that were added."""
    with curator.database.read("test") as session:
        try:
            counts = datasets.open_rows(session, datasets.get(session, identifier), Sealer(key))
        except SordinoError:
            return False
    assert counts.tolist() == COUNTS
    return True


def rotated(curator: Any, old: str | None = None, new: str = NEW) -> KeyRotation:
    before = curator.sealer if old is None else Sealer(old)
    done: KeyRotation = curator.database.run("rotate", lambda session: rotate(session, before, Sealer(new)))
    return done


def three(curator: Any) -> list[str]:
    return [curator.add(name=name).id for name in ("flights", "trains", "ships")]


def test_all_datasets_get_the_new_key_and_keep_ledger_and_terms(curator: Any) -> None:
    added = three(curator)
    gone = curator.add(name="buses").id
    curator.database.run("test", lambda session: datasets.delete_rows(session, gone, curator.clock.now()))
    curator.request(added[0], "first")
    curator.work()
    spent = curator.spent(added[0])
    assert rotated(curator) == KeyRotation(resealed=3, already=0)
    old = curator.settings.dataset_key.get_secret_value()
    assert [(opened_by(curator, each, NEW), opened_by(curator, each, old)) for each in added] == [(True, False)] * 3
    assert curator.spent(added[0]) == spent > 0


def test_a_release_after_it_needs_the_new_key_and_spends_nothing_with_the_old_one(curator: Any) -> None:
    flights = curator.add().id
    rotated(curator)
    failed = curator.request(flights, "old key").id
    curator.work()
    assert (curator.release(failed).state, curator.spent(flights)) == ("failed", 0)
    assert "rotate-dataset-key" in curator.release(failed).error
    renewed = curator.elsewhere(settings=curator.settings.model_copy(update={"dataset_key": SecretStr(NEW)}))
    done = renewed.request(flights, "new key").id
    renewed.work()
    assert renewed.release(done).state == "released"


def test_killed_before_any_statement_all_rows_have_one_key_and_a_second_run_ends_it(curator: Any) -> None:
    added, old = three(curator), curator.settings.dataset_key.get_secret_value()
    lived = False
    for point in range(MOST_POINTS):
        lived = _in_a_child(curator, point)
        keys = {(opened_by(curator, each, old), opened_by(curator, each, NEW)) for each in added}
        assert keys == ({(False, True)} if lived else {(True, False)}), point
        if lived:
            break
    assert lived
    assert point > 10
    assert rotated(curator) == KeyRotation(resealed=0, already=3)


def test_rows_that_neither_key_opens_stop_it_and_nothing_is_changed(curator: Any) -> None:
    added, old = three(curator), curator.settings.dataset_key.get_secret_value()
    foreign = max(added)
    with curator.database.write("test") as session:
        row = datasets.get(session, foreign)
        row.cells = Sealer(OTHER).seal(b"\0" * 32, f"{row.id}\n{row.terms}")
    with pytest.raises(InvalidValue, match="neither SORDINO_DATASET_KEY nor the new key opens the rows of dataset"):
        rotated(curator)
    assert all(opened_by(curator, each, old) for each in added if each != foreign)


def test_a_server_with_another_key_adds_nothing(curator: Any) -> None:
    curator.add()
    rotated(curator)
    with pytest.raises(InvalidValue, match="does not open dataset 'flights'"):
        curator.add(name="trains")


def test_digests_of_rows_under_the_old_key_are_deleted(curator: Any) -> None:
    with curator.database.write("test") as session:
        session.execute(
            text("INSERT INTO keys (id, name, role, secret_sha256, created_at) VALUES ('k', 'k', 'admin', '', 0)")
        )
        for path in ("POST /v1/datasets", "POST /v1/keys"):
            row = IdempotencyKey(
                key_id="k", key=path, method_path=path, body_sha256="", status=201, response=b"", created_at=0
            )
            session.add(row)
    rotated(curator)
    with curator.database.read("test") as session:
        assert session.scalars(text("SELECT method_path FROM idempotency_keys")).all() == ["POST /v1/keys"]


def test_an_addition_under_way_gets_the_new_key_or_is_refused(curator: Any) -> None:
    """Added while the rotation runs, by a server that has the old key."""
    curator.add()
    refused: list[BaseException] = []

    def add() -> None:
        try:
            curator.add(name="trains")
        except InvalidValue as error:
            refused.append(error)

    thread = threading.Thread(target=add)
    with curator.database.write("rotate") as session:
        rotate(session, curator.sealer, Sealer(NEW))
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(PATIENCE_S)
    assert "does not open dataset 'flights'" in str(refused[0])


def _in_a_child(curator: Any, point: int) -> bool:
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    try:
        database = Database(curator.settings.database_url.get_secret_value())
        with killed_before(point):
            rotated(curator.elsewhere(database=database))
    finally:
        os._exit(0)
