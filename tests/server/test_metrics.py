"""The figures for Prometheus: what they count, on which port, and what they never name."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from sordino_server import __version__
from sordino_server.campaigns import retention
from sordino_server.metrics import Metrics
from sordino_shared.errors import InvalidValue
from tests.patience import PATIENCE_S, slack
from tests.ports import free_port


def shown(running: Any) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Samples by name and labels, as a scrape gets them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running.app.state.metrics.served("127.0.0.1", port):
        text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_requests_reports_and_commits_are_counted(running: Any) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1, 2, 3], seed=1)
    running.report(campaign, [0, 1, 2, 3], seed=1)
    path = f"/v1/campaigns/{campaign['id']}/rounds/0/reports"
    running.anonymous.post(path, content=b"\xff", headers={"content-type": "application/cbor"})
    figures = shown(running)
    for outcome, count in (("accepted", 4), ("replayed", 4), ("malformed-body", 1)):
        assert figures["sordino_reports_total", (("outcome", outcome),)] == count
    route = "/v1/campaigns/{campaign}/rounds/{index}/reports"
    for status, count in (("200", 2), ("400", 1)):
        labels = (("method", "POST"), ("route", route), ("status", status))
        assert figures["sordino_http_requests_total", labels] == count
    created = (("method", "POST"), ("route", "/v1/campaigns"), ("status", "201"))
    assert figures["sordino_http_requests_total", created] == 1
    opened = (("method", "POST"), ("route", "/v1/campaigns/{campaign_id}/open"), ("status", "200"))
    assert figures["sordino_http_requests_total", opened] == 1
    assert figures["sordino_http_request_duration_seconds_count", (("route", route),)] == 3
    assert figures["sordino_commit_reports_sum", ()] == 9
    assert figures["sordino_commit_duration_seconds_count", ()] == figures["sordino_commit_reports_count", ()] == 3
    assert 0 < figures["sordino_commit_duration_seconds_sum", ()] < 60
    assert figures["sordino_queue_bytes", ()] == 0
    assert figures["sordino_rounds", (("state", "open"),)] == 1
    assert figures["sordino_plan_requests", (("state", "ready"),)] == 1
    assert figures["sordino_plan_requests", (("state", "running"),)] == 0
    assert figures["sordino_oldest_waiting_job_age_seconds", (("kind", "round"),)] == 0


@pytest.mark.parametrize("engine", ["running", "running_on_postgres"])
def test_connections_reports_disk_and_version_are_shown(engine: str, request: pytest.FixtureRequest) -> None:
    running = request.getfixturevalue(engine)
    figures = shown(running)
    assert ("sordino_last_report_age_seconds", ()) not in figures
    assert figures["sordino_build_info", (("version", __version__),)] == 1
    assert figures["sordino_database_connections", (("state", "limit"),)] == running.database.connections
    running.report(running.campaign("open"), [0, 1])
    running.clock.advance(77)
    with running.database.read("hold") as one, running.database.read("hold another") as another:
        for session in (one, another):
            session.execute(text("SELECT 1"))
        figures = shown(running)
    assert figures["sordino_last_report_age_seconds", ()] == 77
    assert figures["sordino_database_connections", (("state", "in_use"),)] >= 2
    everything = figures["sordino_database_bytes", (("kind", "all"),)]
    assert everything > 100_000
    if running.database.is_sqlite:
        assert ("sordino_database_bytes", (("kind", "log"),)) not in figures
    else:
        assert 0 < figures["sordino_database_bytes", (("kind", "log"),)] < everything


def test_reports_that_are_kept_too_long_are_counted(running: Any) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0, 1])
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    for days, overdue in ((0, 0), (1, 0)):
        metrics = Metrics(running.database, running.clock, days)
        assert metrics.registry.get_sample_value("sordino_rounds_overdue_for_purge") == overdue
    running.clock.advance(86_400)
    assert metrics.registry.get_sample_value("sordino_rounds_overdue_for_purge") == 0
    running.clock.advance(3_600)
    assert metrics.registry.get_sample_value("sordino_rounds_overdue_for_purge") == 1
    kept = Metrics(running.database, running.clock, "forever")
    assert kept.registry.get_sample_value("sordino_rounds_overdue_for_purge") == 0
    for old in retention.old_reports(running.database, 1, running.clock.now()):
        retention.purge(running.database, old, running.clock.now())
    assert metrics.registry.get_sample_value("sordino_rounds_overdue_for_purge") == 0


def test_no_figure_names_a_campaign_or_a_sender(running: Any) -> None:
    campaign = running.campaign("open")
    running.report(campaign, [0])
    running.anonymous.get(f"/v1/campaigns/{campaign['id']}/task")
    running.anonymous.get("/made/up/path")
    for _, labels in shown(running):
        assert {name for name, _ in labels} <= {
            "method",
            "route",
            "status",
            "outcome",
            "state",
            "kind",
            "le",
            "version",
        }
        for _, value in labels:
            assert campaign["id"] not in value
            assert "made" not in value
            assert "127.0.0.1" not in value


def test_a_database_that_hangs_keeps_nobody_from_the_other_figures(
    running_on_postgres: Any, postgres_cluster: Any
) -> None:
    running_on_postgres.anonymous.get("/livez")
    with postgres_cluster.frozen():
        begun = time.monotonic()
        figures = shown(running_on_postgres)
        assert time.monotonic() - begun < slack(5)
    assert ("sordino_queue_bytes", ()) in figures
    assert "sordino_rounds" not in {name for name, _ in figures}


def test_a_port_that_is_taken_is_named(running: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidValue, match=rf"port {port} of 127\.0\.0\.1.*in use.*another port"):
            running.app.state.metrics.served("127.0.0.1", port).__enter__()


def test_the_figures_are_not_on_the_port_of_the_api(running: Any) -> None:
    assert running.anonymous.get("/metrics").status_code == 404
    with running.app.state.metrics.served("127.0.0.1", 0):
        pass


def test_a_scrape_that_breaks_off_is_one_line_without_an_address(
    running: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    with Metrics(running.database).served("127.0.0.1", port):
        for sent in (b"", b"GET /metrics HTT"):
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as scraper:
                scraper.sendall(sent)
                scraper.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S).status_code == 200
    shown = capsys.readouterr()
    said = shown.out + shown.err
    assert "Traceback" not in said
    assert "127.0.0.1" not in said
