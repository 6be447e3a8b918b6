"""From a list of strings to a closed question about them: over HTTP, by a command, and by three clicks."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from typer.testing import CliRunner

from sordino_analysis.questions.linear.yaml_text import parse_yaml
from sordino_analysis.strings.labels import legible, text_of
from sordino_server.cli import app
from sordino_server.models import Role
from tests.server.answers.test_string_searches_api import estimated
from tests.server.console.conftest import Browsers


def test_labels_are_read_back() -> None:
    for text in ("a\u00a0b", "<U+202E>", "<U+003C>U+", "plain", "a\u202eb\U000f0000"):
        assert text_of(legible(text)) == text


def test_the_list_becomes_a_workload_and_a_file(running: Any) -> None:
    path = estimated(running)
    document = running.api.get(f"{path}/strings/follow-up").raise_for_status().json()
    (attribute,) = document["workload"]["domain"]
    assert {"=1+1", "<b>x"} <= set(attribute["labels"])
    assert (attribute["name"], attribute["missing"], attribute["other"]) == ("word", True, True)
    reasons = {each["label"]: each["reason"] for each in document["left_out"]}
    # A category shows itself, and a string whose end is not known is none.
    assert "direction" in reasons["a<U+202E>b"]
    assert "code is cut" in reasons["a long …[0111]"]
    table = running.api.get(f"{path}/estimates").json()["table"]
    assert len(attribute["labels"]) + len(reasons) == len(table["label"])
    environment = {"SORDINO_SERVER": running.address, "SORDINO_KEY": running.admin_key, "COLUMNS": "200"}
    result = CliRunner().invoke(app, ["campaigns", "follow-up", path.rpartition("/")[2]], env=environment)
    assert result.exit_code == 0, result.stderr
    assert parse_yaml(result.stdout) == document["workload"]
    assert "become public" in result.stderr
    assert "left out: a<U+202E>b" in result.stderr
    # What is said of errors is the least of what the plan gives: V of the strings over p_W against the new variance.
    workload = running.workload(document["workload"])
    planned = running.ready_plan(workload=workload, epsilon=4, objective="mean", mechanism=None)["summary"]
    before = running.api.get(f"{path}/status").json()["question"]["variance"]
    assert (before / planned["mean_variance"]) ** 0.5 > document["smaller"] > 1.4


def test_three_clicks_lead_to_terms_to_review(running: Any, browsers: Browsers) -> None:
    path = estimated(running)
    campaign = path.removeprefix("/v1")
    browser, campaigns = browsers.of(Role.ANALYST), len(running.api.get("/v1/campaigns").json()["campaigns"])
    link = f"/console{campaign}/strings/follow-up"
    assert link in browser.page(f"/console{campaign}/estimate")
    page = browser.page(link)
    assert "<b>x" not in page
    assert "become public" in page
    text = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert text is not None
    assert parse_yaml(unescape(text[1])) == browser.http.get(f"{link}.json").json()["workload"]
    sent = browser.send("/console/new-campaign", link, yaml=unescape(text[1]), epsilon="4")
    plan = sent.headers["location"]
    assert sent.status_code == 303
    running.work()
    terms = re.search(r'href="(/console/plans/[0-9a-f]+/new-campaign\?like=[0-9a-f]+)"', browser.page(plan))
    assert terms is not None
    form = browser.page(terms[1])
    assert "We ask how late you were." in form
    assert 'value="travellers"' in form
    assert ", again" in form
    # Nothing was created or opened.
    assert len(running.api.get("/v1/campaigns").json()["campaigns"]) == campaigns
    assert browser.http.get(f"{plan.partition('?')[0]}?like=x").status_code == 422
