"""A page that lists rows asks the database as often for fifty rows as for five."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from sordino_server import models
from sordino_server.models import Role
from sordino_server.populations.names import identifier_of
from sordino_server.public_log.entries import begin_log, row_of
from sordino_shared.protocol import Digest, LogEntry
from sordino_shared.protocol.log_entries import LoggedPolicy
from tests.conftest import OPENED_AT, StoredRound
from tests.server.console.conftest import Browsers

# Of one page: the session's key, the rows, and what is counted of them.
MOST_STATEMENTS = 8
# Besides its entries it shows checkpoint, witnesses, and both kinds of keys.
MOST_OF_LOG = 9
FEW, MANY = 5, 50
LISTS = {
    "/console/questions?page_size=60": "questions",
    "/console/campaigns": "campaigns",
    "/console/campaigns?sort=name": "campaigns",
    "/console/experiments": "experiments",
    "/console/plans": "plan_requests",
    "/console/populations": "populations",
    "/console/populations/{population}": "entries",
    "/console/activity": "entries",
    "/console/keys": "keys",
    "/console/audit-log": "entries",
    "/console/log": "entries.entries",
}


@pytest.fixture(params=["running", "running_on_postgres"])
def server(request: pytest.FixtureRequest) -> Any:
    """A server on each engine."""
    return request.getfixturevalue(request.param)


@contextmanager
def statements(server: Any) -> Iterator[list[str]]:
    """What is sent to the database meanwhile."""
    sent: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        # PostgreSQL's driver begins transactions without an event.
        if statement != "BEGIN":
            sent.append(statement)

    event.listen(server.database.engine, "before_cursor_execute", note)
    yield sent
    event.remove(server.database.engine, "before_cursor_execute", note)


class Rows:
    """Fills the tables of all lists: campaigns in every state, half of them series, with sources that are awaited."""

    def __init__(self, server: Any, store_round: Callable[..., StoredRound]) -> None:
        self._server = server
        self._store_round = store_round
        self.plan = server.ready_plan()["id"]
        with server.database.write("test log") as session:
            self._log = begin_log(session, "telemetry.example/log", bytes(32), OPENED_AT)
        self._count = 0

    def fill(self, until: int) -> None:
        """Add rows until there are so many of each."""
        for number in range(self._count, until):
            stored = self._store_round(self._server.database)
            with self._server.database.write("test rows") as session:
                self._campaign(session, stored, number)
                session.flush()
                session.add_all(self._others(session, stored.campaign, number))
        self._count = until

    def _campaign(self, session: Any, stored: StoredRound, number: int) -> None:
        campaign, moment = stored.campaign, OPENED_AT + number
        if number % 2:
            terms = {"start": OPENED_AT, "period_s": 86400, "slots": 7, "answers_max": 90, "lag": 0, "late_s": 0}
            session.add(models.SeriesRow(campaign_id=campaign, nano=10**8, closed_periods=1, **terms))
            session.add(models.SeriesPause(campaign_id=campaign, paused_at=moment))
        else:
            session.get(models.Round, stored.id).state = "closed"
            session.get(models.Round, stored.id).closed_at = moment
            session.add(models.ClosingRule(campaign_id=campaign, index=0, after_reports=100, after_s=None))
        session.add(models.Accumulator(round_id=stored.id, shard="writer", count=3, sums=b""))
        session.add(models.ReportChunk(round_id=stored.id, count=3, payloads=b"abc", created_at=moment))
        session.add(models.RefusalCount(campaign_id=campaign, reason="plan-mismatch", count=number))
        rule = {"primary_query": "late", "looks": "planned", "days": 9, "users": 900, "spread": 0.5, "level": 0.95}
        session.add(models.ExperimentRow(campaign_id=campaign, **rule))
        for day in range(1, number % 4):
            look = {"day": day, "comparisons": [], "ended": False, "arms": [{"arm": "A", "reports": 0}]}
            session.add(
                models.LookRow(
                    campaign_id=campaign, day=day, over=False, content=json.dumps(look).encode(), created_at=moment
                )
            )
        for source in ("came", "late"):
            session.add(models.Source(campaign_id=campaign, name=source, max_reports=9, created_at=moment))
            session.add(
                models.Key(
                    id=f"{number:08x}{source.encode().hex()}", name=source, role=Role.AGGREGATOR, campaign_id=campaign,
                    source=source, secret_sha256="0" * 64, created_at=moment,
                )
            )  # fmt: skip
        session.add(models.Accumulator(round_id=stored.id, shard="source:came", count=4, sums=b""))
        sums = {"number": 1, "digest": "0" * 64, "manifest": None, "received_at": moment}
        session.add(models.SourceSums(round_id=stored.id, source="came", **sums))

    def _others(self, session: Any, campaign: str, number: int) -> Iterator[Any]:
        name, moment = f"riders of line {number}", OPENED_AT + number
        identifier, caps = identifier_of(name), {"period_nano": 10**9, "period_days": 7 + number % 3}
        session.add(
            models.Population(
                id=identifier, name=name, lifetime_nano=10**10, version=1, declared=True, created_at=moment, **caps
            )
        )
        session.flush()
        asked = {"kind": "pure_epsilon", "nano": 10**6, "created_at": moment}
        yield models.AskedEpsilon(id=campaign, population_id=self.population, **asked)
        plan = session.get(models.PlanRequestRow, self.plan)
        copied = {column.key: getattr(plan, column.key) for column in models.PlanRequestRow.__table__.columns}
        yield models.PlanRequestRow(**{**copied, "id": f"{number:032x}"})
        key = session.query(models.Key).filter_by(role=Role.ADMIN).first().id
        text = f"The policy of line {number}."
        yield row_of(self._log, LogEntry(moment, bytes(Digest.of(text.encode())), LoggedPolicy(text)).content, number)
        yield models.AuditEntry(key_id=key, action="test", path="/v1/keys", created_at=moment)
        yield models.AuditEntry(
            key_id=key, action="open campaign", path=f"/v1/campaigns/{campaign}/open", created_at=moment
        )

    @property
    def population(self) -> str:
        """Of which the ledger is shown."""
        return identifier_of("riders of line 0")


def test_a_list_takes_as_many_statements_for_fifty_rows_as_for_five(
    server: Any, store_round: Callable[..., StoredRound]
) -> None:
    rows, browsers = Rows(server, store_round), Browsers(server)
    admin = browsers.of(Role.ADMIN)
    taken: dict[str, list[int]] = {}
    for count in (FEW, MANY):
        rows.fill(count)
        for path, member in LISTS.items():
            where, _, query = path.format(population=rows.population).partition("?")
            shown = json.loads(admin.page(f"{where}.json?{query}"))
            for name in member.split("."):
                shown = shown[name]
            assert len(shown) >= count
            for form in ("", ".json", ".csv"):
                with statements(server) as sent:
                    admin.page(f"{where}{form}?{query}")
                taken.setdefault(path + form, []).append(len(sent))
        with statements(server) as sent:
            # It offers all populations.
            assert f"riders of line {count - 1}" in admin.page(f"/console/plans/{rows.plan}/new-campaign")
        taken.setdefault("new campaign", []).append(len(sent))
    browsers.close()
    assert {path: few for path, (few, _) in taken.items()} == {path: many for path, (_, many) in taken.items()}
    most = {path: MOST_OF_LOG if "/log" in path else MOST_STATEMENTS for path in taken}
    assert not [path for path, (_, many) in taken.items() if many > most[path]], taken


def test_many_campaigns_are_counted_like_each_alone(server: Any, store_round: Callable[..., StoredRound]) -> None:
    Rows(server, store_round).fill(FEW)
    browsers = Browsers(server)
    listed = json.loads(browsers.of(Role.ANALYST).page("/console/campaigns.json"))["campaigns"]
    browsers.close()
    alone = {each["id"]: server.api.get(f"/v1/campaigns/{each['id']}/status").json() for each in listed}
    for each in listed:
        last = each.pop("last_report_at")
        assert each == alone[each["id"]]
        [row] = each["rounds"]
        assert (row["reports"], [came["reports"] for came in row["sources"]]) == (7, [4])
        assert row["waiting_for"] == ([] if each["series"] else ["late"])
        assert last - OPENED_AT == each["refusals"]["plan-mismatch"]
        assert each["series"] is None or each["series"]["paused"]
