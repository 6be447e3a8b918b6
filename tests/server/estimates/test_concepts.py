"""The estimate of a concept class over REST, as a table, in an export and on the command line."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from sordino_analysis.answers.columns import in_order
from sordino_server.cli.estimate_text import print_estimate
from tests.estimates import answers_of, facts_of

SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in ("dark", "beta", "wifi")]
CRASHED = {"name": "crashed", "kind": "categorical", "labels": ["no", "yes"]}
QUERIES = {"class": "conjunctions", "width": 2, "label": {"attribute": "crashed", "positive": "yes"}}
WORKLOAD = {"name": "what crashes", "domain": [*SWITCHES, CRASHED], "queries": QUERIES}


def test_the_best_rule_is_published_with_a_band_and_never_with_an_interval(
    running: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = running.campaign("open", workload=running.workload(WORKLOAD), epsilon=4)
    # Those with dark and beta crash, nobody else does; cells count the label last.
    cells = [0, 2, 4, 6, 8, 10, 13, 15] * 500
    for seed in range(4):
        assert running.report(campaign, cells, seed=seed).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    path = f"/v1/campaigns/{campaign['id']}/estimates"
    document = running.api.get(path).raise_for_status().json()
    facts, rules = facts_of(document), answers_of(document)
    assert (facts["kind"], facts["compared"], facts["users"]) == ("concepts", 20, 16_000)
    # Its loss is 0 and that of the next best .125, at least six standard errors of the difference.
    assert 6 * 2 * max(document["table"]["population_standard_error"]) < 0.25
    assert facts["rule"]["text"] == "dark=on and beta=on"
    assert facts["interval"] is None
    assert facts["certified_by_round"] is None
    low, high = facts["band"]
    assert low < facts["loss"] < high
    assert facts["base"]["rule"]["text"] == "never"
    assert min(rules, key=lambda rule: rule["value"])["label"] == facts["rule"]["text"]
    assert facts["confidence_set"]["rules"][0] == facts["rule"]
    assert facts["beats_base"] == ("never" not in {rule["text"] for rule in facts["confidence_set"]["rules"]})
    rows = list(csv.DictReader(io.StringIO(running.api.get(path, params={"format": "csv"}).text)))
    assert list(rows[0]) == in_order(rows[0])
    assert [row["label"] for row in rows[:3]] == ["never", "always", "dark=on"]
    by_text = {row["label"]: row for row in rows}
    assert len(by_text) == 20
    assert float(by_text["dark=on and beta=on"]["value"]) == pytest.approx(facts["loss"], rel=1e-5)
    assert by_text["dark=on and beta=on"]["may_be_best"] == "true"
    exported = running.api.get("/v1/estimates", params={"campaign": campaign["id"]}).raise_for_status()
    assert "dark=on and beta=on" in exported.text
    print_estimate(document)
    assert facts["statement"] in " ".join(capsys.readouterr().out.split())


def test_answers_that_may_be_biased_have_the_bound_in_every_table(running: Any) -> None:
    """A plan with `bias: allowed` for few users is off by .15 or so: no table may call it unbiased."""
    names = ["a", "b", "c", "d", "crashed"]
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    asked = {"class": "conjunctions", "width": 4, "exactly": True, "bias": "allowed"}
    asked["label"] = {"attribute": "crashed", "positive": "on"}
    workload = running.workload({"name": "wide", "domain": domain, "queries": asked})
    campaign = running.campaign("open", workload=workload, mechanism="biased_characters", epsilon=1, users=200)
    assert running.report(campaign, [0, 5, 31, 16] * 50).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    path = f"/v1/campaigns/{campaign['id']}/estimates"
    bias = running.api.get(path).raise_for_status().json()["terms"]["bias_bound"]
    assert bias > 0.05
    exported = running.api.get("/v1/estimates", params={"campaign": campaign["id"]}).raise_for_status().json()
    assert {row["bias_bound"] for row in exported["rows"]} == {bias}
    for address, params in ((path, {}), ("/v1/estimates", {"campaign": campaign["id"]})):
        text = running.api.get(address, params={"format": "csv", **params}).raise_for_status().text
        assert {float(row["bias_bound"]) for row in csv.DictReader(io.StringIO(text))} == {bias}


def test_intervals_of_an_ordered_attribute_are_published_with_their_texts(running: Any) -> None:
    age = {"name": "age", "kind": "ordinal", "edges": [18, 30]}
    asked = {"class": "intervals", "label": {"attribute": "crashed", "positive": "yes"}}
    workload = {"name": "who crashes", "domain": [age, CRASHED], "queries": asked}
    campaign = running.campaign("open", workload=running.workload(workload), epsilon=4)
    # Those from 18 to 30 crash, nobody else does; cells count the label last.
    assert running.report(campaign, [0, 3, 4] * 1000, seed=1).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    path = f"/v1/campaigns/{campaign['id']}/estimates"
    document = running.api.get(path).raise_for_status().json()
    # Its loss is 0 and that of the next best 1/3, at least six standard errors of the difference.
    assert 6 * 2 * max(document["table"]["population_standard_error"]) < 1 / 3
    assert (document["kind"], document["terms"]["compared"]) == ("concepts", 7)
    assert document["extras"]["rule"] == {"number": 4, "text": "18 < age ≤ 30", "width": 1}
    assert document["extras"]["beats_base"]
    texts = ["never", "always", "age ≤ 18", "age ≤ 30", "18 < age ≤ 30", "age > 18", "age > 30"]
    assert document["table"]["label"] == texts
    rows = list(csv.DictReader(io.StringIO(running.api.get(path, params={"format": "csv"}).text)))
    assert [row["label"] for row in rows] == texts
    assert [row["width"] for row in rows] == ["0", "0", "1", "1", "1", "1", "1"]
    assert float(rows[4]["value"]) == pytest.approx(document["extras"]["loss"], rel=1e-5)
