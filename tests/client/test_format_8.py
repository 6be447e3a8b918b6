"""A ledger of format 7 is brought up to 8: its debits count, its reports are sent, and its manifests keep their ids."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sordino_client import AnswerStatus, BudgetExceeded, Caps, LedgerUnavailable, PureEpsilon
from sordino_client._former import read_kept_manifest
from sordino_shared.errors import DigestMismatch, MalformedDocument
from sordino_shared.protocol import CampaignId, Manifest, ReportBatch
from tests.client.conftest import SERIES_START

DUMP = Path(__file__).parent / "ledgers" / "format_7.sql"
# Seven answers of ε = 1, each in a campaign of its own, and a campaign that was joined only.
STATES = [["delivered"], ["refused"], ["deleted"], ["delivered"], ["expired"], ["spooled"], []]


@pytest.fixture
def old(ledger: Path, clock: Any) -> Path:
    """A dump by the code before: delivered, refused, left, a series, expired, waiting, joined only."""
    clock.time = SERIES_START + 300.0
    with sqlite3.connect(ledger) as connection:
        connection.executescript(DUMP.read_text())
    return ledger


def rows(ledger: Path, query: str) -> list[Any]:
    with sqlite3.connect(ledger) as connection:
        return connection.execute(query).fetchall()


def test_nothing_that_counts_changes(old: Path, make_client: Any) -> None:
    kept = "SELECT campaign, manifest, assigned_round, joined_at, origin, source FROM campaigns ORDER BY rowid"
    debits = "SELECT * FROM debits ORDER BY rowid"
    before = rows(old, kept), rows(old, debits)
    account = make_client().account()
    assert (rows(old, kept), rows(old, debits)) == before
    assert rows(old, "PRAGMA user_version") == [(10,)]
    assert [[entry.state for entry in each.entries] for each in account.campaigns] == STATES
    assert (account.lifetime_nano, account.period_nano) == (6 * 10**9, 6 * 10**9)
    assert [each.campaign for each in account.campaigns] == [row[0].hex() for row in before[0]]


def test_what_was_spent_counts_against_the_caps(old: Path, make_client: Any, make_world: Any) -> None:
    client = make_client(make_world(created_at=9), caps=Caps(PureEpsilon.of(6), 30, PureEpsilon.of(100)))
    with pytest.raises(BudgetExceeded):
        client.answer(client.join(make_world(created_at=9).campaign), "red")


def test_the_report_that_waits_is_sent_as_a_batch_of_now(old: Path, make_client: Any, world: Any) -> None:
    (before,) = rows(old, "SELECT body FROM reports WHERE state = 'spooled'")
    assert make_client().flush(patience_s=3600).delivered == 1
    batch = ReportBatch.read(world.bodies[-1])
    assert batch.arm == 0
    for part in (batch.ids, batch.payloads, batch.device_digest):
        assert part in before[0]


def test_a_manifest_of_before_is_a_direct_one_with_the_id_that_was_joined(old: Path) -> None:
    for campaign, content in rows(old, "SELECT campaign, manifest FROM campaigns"):
        with pytest.raises(MalformedDocument, match="missing field"):
            Manifest.read(content)
        manifest = read_kept_manifest(content, CampaignId(campaign))
        assert (manifest.content, manifest.campaign) == (content, CampaignId(campaign))
        assert (manifest.route.kind, manifest.arms, manifest.texts) == ("direct", (), ())
        with pytest.raises(DigestMismatch):
            read_kept_manifest(content + b"\x00", CampaignId(campaign))


def test_an_answered_campaign_stays_answered(old: Path, make_client: Any) -> None:
    client = make_client()
    joined = {entry.state: each.campaign for each in client.account().campaigns for entry in each.entries}
    assert client.answer(joined["delivered"], "red").status is AnswerStatus.ALREADY_ANSWERED
    assert client.answer(joined["expired"], "red").status is AnswerStatus.ALREADY_ANSWERED
    assert client.answer(joined["deleted"], "red").status is AnswerStatus.OPTED_OUT


@pytest.mark.parametrize("body", ["x'a0'", "x''", "17"])
def test_a_damaged_report_leaves_the_ledger_as_it_was(old: Path, make_client: Any, body: str) -> None:
    with sqlite3.connect(old) as connection:
        connection.execute(f"UPDATE reports SET body = {body} WHERE state = 'delivered'")
    content = old.read_bytes()
    with pytest.raises(LedgerUnavailable, match="damaged"):
        make_client()
    assert old.read_bytes() == content


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ("arm = 1", "arm = 2", "arms are final"),
        ("arm = 0", "arm = NULL", "arms are final"),
        ("arm = NULL", "arm = 16", "CHECK"),
        ("task_number = 5", "task_number = 4", "task numbers grow"),
        ("task_number = 5", "task_number = NULL", "task numbers grow"),
        ("task_number = NULL", "task_number = -1", "CHECK"),
    ],
)
def test_an_arm_is_final_and_a_number_of_a_task_grows(
    world: Any, make_client: Any, ledger: Path, first: str, second: str, refused: str
) -> None:
    make_client().join(world.campaign)
    with sqlite3.connect(ledger) as connection:
        connection.execute(f"UPDATE campaigns SET {first}")
        connection.execute(f"UPDATE campaigns SET {first}")
        with pytest.raises(sqlite3.IntegrityError, match=refused):
            connection.execute(f"UPDATE campaigns SET {second}")


def shape(ledger: Path) -> dict[str, Any]:
    """What a ledger holds in which columns, and what refuses a row: text by text, but for spaces."""
    shapes: dict[str, Any] = {}
    for kind, name, table, sql in rows(ledger, "SELECT type, name, tbl_name, sql FROM sqlite_master"):
        columns = rows(ledger, f"PRAGMA table_xinfo({name})"), rows(ledger, f"PRAGMA foreign_key_list({name})")
        checks = sorted(set(re.findall(r"CHECK \((?:[^()]|\([^()]*\))*\)", sql or "")))
        shapes[name] = kind, table, columns, checks if kind == "table" else sql
    return shapes


@pytest.mark.parametrize("number", [3, 4, 5, 6, 7])
def test_a_ledger_that_was_brought_up_is_that_of_a_new_one(
    ledger: Path, tmp_path: Path, make_client: Any, number: int
) -> None:
    with sqlite3.connect(ledger) as connection:
        connection.executescript((DUMP.parent / f"format_{number}.sql").read_text())
    make_client().close()
    new = tmp_path / "new"
    make_client(ledger=new).close()
    assert shape(ledger) == shape(new)
    assert rows(ledger, "PRAGMA user_version") == rows(new, "PRAGMA user_version") == [(10,)]
