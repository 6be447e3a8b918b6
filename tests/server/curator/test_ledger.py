"""The ledger on both engines: a cap on ρ or ε holds to the nano, outlives the rows, and no statement refills it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from sordino_server.datasets import service as datasets
from sordino_server.datasets.schemas import CapChange
from sordino_server.datasets.service import DatasetBudgetExceeded
from sordino_server.errors import ServerError
from sordino_server.jobs.worker_metrics import WorkerMetrics
from sordino_server.kit.pagination import Page
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem


def changed_cap(curator: Any, dataset: Any, rho: str) -> None:
    def change(session: Any) -> None:
        known = datasets.get(session, dataset.id)
        datasets.change_cap(session, dataset.id, CapChange(rho=rho), datasets.etag_of(known))

    curator.database.run("change", change)


def deleted(curator: Any, dataset: Any) -> None:
    curator.database.run("delete", lambda session: datasets.delete_rows(session, dataset.id, curator.clock.now()))


def test_a_cap_holds_to_the_nano_rho_and_a_key_spends_once(curator: Any) -> None:
    dataset = curator.add(cap={"rho": "0.039999999"})
    first = curator.request(dataset.id, "one")
    curator.work()
    assert curator.request(dataset.id, "one").id == first.id
    assert curator.release(first.id).state == "released"
    with pytest.raises(DatasetBudgetExceeded, match=r"ρ = 0.02; of ρ = 0.04 .* 0.02 is spent"):
        curator.request(dataset.id, "two")
    changed_cap(curator, dataset, "0.04")
    second = curator.request(dataset.id, "two")
    with pytest.raises(DatasetBudgetExceeded, match="asked by releases that are queued"):
        curator.request(dataset.id, "three", "1e-9")
    curator.work()
    assert second.id != first.id
    assert curator.spent(dataset.id) == 40_000_000
    with pytest.raises(DatasetBudgetExceeded):
        curator.request(dataset.id, "three", "1e-9")


def test_a_key_that_asked_for_something_else_is_refused(curator: Any) -> None:
    dataset = curator.add()
    curator.request(dataset.id, "one")
    with pytest.raises(ServerError) as refused:
        curator.request(dataset.id, "one", "0.01")
    assert refused.value.problem is Problem.IDEMPOTENCY_CONFLICT


def test_deleting_rows_and_adding_others_refills_nothing(curator: Any) -> None:
    dataset = curator.add()
    curator.request(dataset.id, "one", "0.05")
    curator.work()
    deleted(curator, dataset)
    with pytest.raises(ServerError, match="were deleted"):
        curator.request(dataset.id, "two", "0.01")
    for name, said in (("Flights", "writing alone"), ("flights", "then raise it")):
        with pytest.raises(InvalidValue, match=said):
            curator.add(name=name, cap={"rho": "0.5"})
    with pytest.raises(InvalidValue, match="at least what was spent"):
        curator.add(cap={"rho": "0.04"})
    again = curator.add(columns={"delay": [1, 2]})
    assert (again.id, curator.spent(again.id)) == (dataset.id, 50_000_000)
    with pytest.raises(DatasetBudgetExceeded):
        curator.request(again.id, "two", "1e-9")
    with pytest.raises(InvalidValue, match="at least what was spent"):
        changed_cap(curator, dataset, "0.049999999")


def test_rows_are_added_again_with_other_neighbours_only_where_nothing_is_spent(curator: Any) -> None:
    dataset = curator.add()
    deleted(curator, dataset)
    assert curator.add(neighbours="add-remove").rows is None
    curator.request(dataset.id, "one")
    curator.work()
    deleted(curator, dataset)
    with pytest.raises(InvalidValue, match="has spent ρ with `neighbours: add-remove`"):
        curator.add()
    assert curator.add(neighbours="add-remove").deleted_at is None


def test_a_name_is_taken_once_and_writes_alike(curator: Any) -> None:
    curator.add()
    with pytest.raises(ServerError) as refused:
        curator.add()
    assert refused.value.problem is Problem.ALREADY_EXISTS
    for name in ("FLIGHTS", "ｆlights", "fl\u200bights", "flіghts"):
        with pytest.raises(InvalidValue, match=r"writing alone|legible|script"):
            curator.add(name=name)


def test_the_same_domain_and_size_under_a_second_name_is_warned_of(curator: Any) -> None:
    one, two = curator.add(), curator.add(name="trips")
    three = curator.add(name="few", columns={"delay": [1]})
    with curator.database.read("test") as session:
        assert datasets.warnings_of(session, datasets.get(session, three.id)) == ()
        (warning,) = datasets.warnings_of(session, datasets.get(session, two.id))
    assert repr(one.name) in warning
    assert "ρ adds up" in warning


def test_a_cap_on_epsilon_holds_to_the_nano_and_takes_pure_releases_alone(curator: Any) -> None:
    dataset = curator.add(cap={"epsilon": "1.5"})
    first = curator.request(dataset.id, "one", epsilon="1")
    curator.work()
    row = curator.release(first.id)
    assert (row.state, row.kind, row.nano, row.error) == ("released", "pure_epsilon", 10**9, None)
    assert curator.spent(dataset.id) == 10**9
    with pytest.raises(DatasetBudgetExceeded, match=r"ε = 0.500001; of ε = 1.5 .* 1 is spent"):
        curator.request(dataset.id, "two", epsilon="0.500001")
    with pytest.raises(InvalidValue, match="pure ε, which no release of ρ"):
        curator.request(dataset.id, "two", rho="0.000001")
    curator.request(dataset.id, "two", epsilon="0.25")
    with pytest.raises(DatasetBudgetExceeded, match=r"0.25 is asked by releases that are queued"):
        curator.request(dataset.id, "three", epsilon="0.250000001")
    curator.work()
    assert curator.spent(dataset.id) == 1_250_000_000
    with curator.database.read("test") as session:
        entries = datasets.ledger(session, dataset.id, Page(size=10, after=None)).entries
    assert sorted((each.guarantee, each.rho, each.epsilon) for each in entries) == [
        ("pure_epsilon", None, 0.25),
        ("pure_epsilon", None, 1.0),
    ]


def test_a_pure_release_costs_epsilon_tanh_half_of_a_cap_on_rho(curator: Any) -> None:
    """.462117158 at ε = 1, to the nano-ρ, beside what Gaussian noise spends."""
    dataset = curator.add(cap={"rho": "0.482117157"})
    curator.request(dataset.id, "gaussian")
    with pytest.raises(DatasetBudgetExceeded, match=r"0.02 is asked by releases that are queued"):
        curator.request(dataset.id, "pure", epsilon="1")
    changed_cap(curator, dataset, "0.482117158")
    pure = curator.request(dataset.id, "pure", epsilon="1")
    curator.work()
    assert curator.release(pure.id).state == "released"
    assert curator.spent(dataset.id) == 482_117_158
    with pytest.raises(DatasetBudgetExceeded):
        curator.request(dataset.id, "more", "1e-9")
    with pytest.raises(ServerError) as refused:
        curator.request(dataset.id, "gaussian", epsilon="0.02")
    assert refused.value.problem is Problem.IDEMPOTENCY_CONFLICT


def test_an_account_is_never_changed_for_the_other(curator: Any) -> None:
    dataset = curator.add(cap={"epsilon": "1"})
    with pytest.raises(InvalidValue, match=r"is on ε, and stays so.*Give `epsilon`"):
        changed_cap(curator, dataset, "1")
    deleted(curator, dataset)
    with pytest.raises(InvalidValue, match="was ε = 1 before"):
        curator.add(cap={"rho": "0.5"})
    assert curator.add(cap={"epsilon": "0.5"}).cap_nano == 5 * 10**8


@pytest.mark.parametrize(
    ("cap", "said"),
    [
        ({"epsilon": "1", "rho": "1"}, "one of them"),
        ({}, "one of them"),
        ({"epsilon": "1", "delta": 1e-6}, "leave out `delta`"),
        ({"epsilon": "0"}, "ε must be"),
    ],
)
def test_a_cap_is_of_one_account(curator: Any, cap: dict[str, Any], said: str) -> None:
    with pytest.raises((InvalidValue, ServerError), match=said):
        curator.add(cap=cap)


@pytest.mark.parametrize("epsilon", ["0", "0.0001", "65", "-1"])
def test_an_epsilon_that_no_release_is_made_with_is_refused(curator: Any, epsilon: str) -> None:
    dataset = curator.add(cap={"epsilon": "100"})
    with pytest.raises(InvalidValue, match=r"ε must be|from 0.001 to 64"):
        curator.request(dataset.id, "one", epsilon=epsilon)
    assert curator.spent(dataset.id) == 0


_COLUMNS = "release_id, dataset_id, kind, nano, created_at"
_CHEAPER = "SELECT release_id, dataset_id, kind, 0, created_at FROM dataset_ledger WHERE true"
TAMPERING = (
    "UPDATE dataset_ledger SET nano = 0",
    "DELETE FROM dataset_ledger",
    f"INSERT INTO dataset_ledger ({_COLUMNS}) {_CHEAPER} ON CONFLICT (release_id) DO UPDATE SET nano = 0",
)
OF_SQLITE = (
    f"INSERT OR REPLACE INTO dataset_ledger ({_COLUMNS}) {_CHEAPER}",
    f"INSERT OR REPLACE INTO dataset_ledger (rowid, {_COLUMNS}) SELECT rowid,"
    " (SELECT id FROM releases WHERE state = 'queued'), dataset_id, kind, 0, created_at FROM dataset_ledger",
)
OF_POSTGRES = ("TRUNCATE dataset_ledger", "TRUNCATE datasets CASCADE")


def test_the_database_itself_refuses_an_account_that_nobody_counts(curator: Any) -> None:
    dataset = curator.add()
    with pytest.raises(IntegrityError, match="ck_datasets_account"), curator.database.write("tamper") as session:
        session.execute(text("UPDATE datasets SET account = 'delta'"))
    assert curator.spent(dataset.id) == 0


def test_the_database_itself_refuses_to_change_the_ledger(curator: Any) -> None:
    dataset = curator.add()
    curator.request(dataset.id, "one")
    curator.work()
    curator.request(dataset.id, "two")
    for statement in TAMPERING + (OF_SQLITE if curator.database.is_sqlite else OF_POSTGRES):
        with pytest.raises(Exception, match="append-only"), curator.database.write("tamper") as session:
            session.execute(text(statement))
    with pytest.raises(Exception, match=r"FOREIGN KEY|foreign key"), curator.database.write("tamper") as session:
        session.execute(text("DELETE FROM datasets"))
    assert curator.spent(dataset.id) == 20_000_000


def test_sealed_rows_open_under_their_key_and_their_terms_alone(curator: Any) -> None:
    """A failure to open them comes before the charge, so nothing is spent."""
    dataset = curator.add()
    with curator.database.write("tamper") as session:
        session.execute(text("UPDATE datasets SET terms = replace(terms, 'row', 'person')"))
    moved = curator.request(dataset.id, "one")
    curator.work()
    assert "SORDINO_DATASET_KEY" in (curator.release(moved.id).error or "")
    other = curator.elsewhere(settings=curator.settings.model_copy(update={"dataset_key": None}))
    asked = curator.request(dataset.id, "two")
    other.work()
    assert (curator.release(asked.id).state, curator.spent(dataset.id)) == ("failed", 0)
    assert "holds no datasets" in (curator.release(asked.id).error or "")


def test_a_release_that_waits_and_one_that_is_made_are_counted(curator: Any) -> None:
    metrics = WorkerMetrics(curator.database, curator.clock)

    def figure(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"kind": "release"} | labels)

    curator.request(curator.add().id, "one")
    curator.clock.advance(7)
    assert figure("sordino_oldest_waiting_job_age_seconds") == 7
    assert replace(curator.worker(), finished=metrics.finished).step()
    assert figure("sordino_oldest_waiting_job_age_seconds") == 0
    assert figure("sordino_jobs_total", outcome="done") == 1


def test_a_worker_that_stops_gives_a_release_back_and_a_time_limit_ends_its_search(curator: Any) -> None:
    dataset = curator.add()
    asked = curator.request(dataset.id, "one")
    stopped = curator.worker()
    stopped.stop.set()
    assert stopped.step()
    row = curator.release(asked.id)
    assert (row.state, row.attempts, row.lease_owner) == ("queued", 0, None)
    limited = curator.elsewhere(settings=curator.settings.model_copy(update={"planning_time_limit_s": 0}))
    limited.work()
    assert curator.release(asked.id).state == "released"
    assert curator.spent(dataset.id) == 20_000_000
