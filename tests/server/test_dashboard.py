"""Dashboard and alerts in deploy/ use the metrics that the processes export, by labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sordino_server.config import Settings
from sordino_server.jobs.worker_metrics import WorkerMetrics
from sordino_server.kit.clock import WallClock
from sordino_server.kit.db import Database
from sordino_server.metrics import Metrics
from sordino_server.public_log import setup
from sordino_server.public_log.signing import NoteSigner
from sordino_server.public_log.watching import LogMetrics, LogWatch
from tests.ports import free_port

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "sordino.json"
ALERTS = DASHBOARD.parents[1] / "prometheus" / "alerts.yml"
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


def _labels(dashboard_expression: str) -> set[str]:
    grouped = {name.strip() for by in re.findall(r"\bby \(([^)]*)\)", dashboard_expression) for name in by.split(",")}
    return grouped | set(re.findall(r"[{,]\s*(\w+)\s*[=!]", dashboard_expression))


def _expressions(panels: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for panel in panels:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


@pytest.fixture
def exported(migrated_sqlite_url: str) -> dict[str, tuple[str, set[str]]]:
    """Sample names of all processes, with the family and the labels of each."""
    database = Database(migrated_sqlite_url)
    server, worker = Metrics(database), WorkerMetrics(database)
    server.request("GET", "/livez", 200, 0.1)
    server._reports.labels("accepted").inc()
    witness = NoteSigner.of_witness("witness.example/log", bytes(32)).key
    settings = Settings(witnesses=f"http://127.0.0.1:{free_port()} {witness}")
    setup.prepare(settings, database, 0)
    server.registry.register(LogMetrics(LogWatch(database, WallClock(), settings)))
    families = [family for each in (server, worker) for family in each.registry.collect()]
    database.close()
    samples = {}
    for family in families:
        labels = {name for sample in family.samples for name in sample.labels}
        samples |= {family.name + suffix: (family.name, labels) for suffix in SUFFIXES[family.type]}
    return samples


def test_panels_show_exported_metrics_by_their_labels_and_none_is_missing(
    exported: dict[str, tuple[str, set[str]]],
) -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    shown = set()
    for expression, legend in _expressions(dashboard["panels"]):
        names = re.findall(r"\bsordino_\w+", expression)
        assert names, expression
        for name in names:
            family, labels = exported[name]
            assert _labels(expression) <= labels | {"le"}, expression
            shown.add(family)
        assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= _labels(expression)
    assert shown == {family for family, _ in exported.values()}


def test_alerts_use_exported_metrics_by_their_labels_and_say_what_to_do(
    exported: dict[str, tuple[str, set[str]]],
) -> None:
    (group,) = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    rules = group["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        names = re.findall(r"\bsordino_\w+", rule["expr"])
        known = {"le"}.union(*(exported[name][1] for name in names))
        assert names, rule["alert"]
        assert _labels(rule["expr"]) <= known, rule["alert"]
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= _labels(rule["expr"])
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"].keys() == {"summary", "do"}


def test_panels_do_not_overlap_and_take_their_source_from_the_variable() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    places = [tuple(panel["gridPos"][name] for name in "xywh") for panel in dashboard["panels"]]
    assert len(places) == len(set(places)) == len({panel["id"] for panel in dashboard["panels"]})
    assert {width for _, _, width, _ in places} == {12}
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {"${datasource}"}
    assert [each["name"] for each in dashboard["templating"]["list"]] == ["datasource"]
