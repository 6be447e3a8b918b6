"""One known rule on average over databases: planned, asked of devices, and answered by a running server."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from sordino_shared.protocol import Problem
from tests.estimates import answers_of

SWITCHES = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in "abcd"]
RULES = {"class": "conjunctions", "width": 2, "scheme": "arrangement"}
EVEN = list(range(16)) * 250


def closed(running: Any, cells: list[int]) -> str:
    workload = running.workload({"name": "both", "domain": SWITCHES, "queries": RULES})
    campaign = running.campaign("open", workload=workload, mechanism=None)
    assert running.report(campaign, cells).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    return f"/v1/campaigns/{campaign['id']}"


def test_a_rule_has_a_share_with_its_assumption(running: Any) -> None:
    path = closed(running, EVEN)
    response = running.api.get(f"{path}/answers", params={"rule": ["a:on,b:on", "c:off,d:on"]})
    document = response.raise_for_status().json()
    terms = document["terms"]
    assert (terms["users"], terms["target"], terms["validity"]) == (len(EVEN), "population", "average_case")
    for each in answers_of(document):
        # Six standard errors: a false alarm in 5·10^8 for each.
        assert abs(each["value"] - 1 / 4) < 6 * each["population_standard_error"]
        assert "these reports cannot show that they are" in each["sentence"]
        # A p-value below 10^-6 is one false alarm in a million: the means are as the assumption says.
        assert each["p_value"] > 1e-6
    table = running.api.get(f"{path}/answers", params={"rule": "a:on,b:on", "format": "csv"}).text
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["label"], row["validity"]) == ("a:on,b:on", "average_case")
    # An error on average over databases bounds the bias for none of them.
    assert (terms["bias_bound"], row["bias_bound"]) == (None, "")
    for params, words in (
        ({"rule": "a:on"}, "conjunctions of 2 indicators, and the rule has 1"),
        ({"rule": "a:on,z:on"}, "no attribute 'z'"),
        ({"rule": "a:on,b:maybe"}, "maybe"),
        ({"marginal": "a:on", "rule": "a:on,b:on"}, "not marginal and rule"),
    ):
        refused = running.api.get(f"{path}/answers", params=params)
        assert refused.status_code in (400, 422)
        assert words in refused.json()["detail"], refused.text


def test_reports_that_contradict_the_assumption_leave_no_interval(running: Any) -> None:
    """All users hold c and d, so the two classes are not spread evenly: by 40 standard errors."""
    uneven = running.api.get(f"{closed(running, [3, 7, 11, 15] * 1000)}/answers", params={"rule": "a:on,b:on"}).json()
    (answer,) = answers_of(uneven)
    assert "population_lower" not in answer
    assert answer["p_value"] < 1e-6


def test_other_campaigns_and_refused_classes_say_what_to_do(running: Any) -> None:
    campaign = running.campaign("open")
    assert running.report(campaign, [0, 1, 2] * 50).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    refused = running.api.get(f"/v1/campaigns/{campaign['id']}/answers", params={"rule": "a:on"})
    assert refused.json()["type"].endswith(Problem.INVALID_REQUEST.value)
    assert "needs a plan with `scheme: arrangement`" in refused.json()["detail"]


def test_the_command_line_prints_the_assumption_with_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    from sordino_server.cli.estimate_text import print_estimate

    answer = {"label": ["a:on,b:on"], "value": [0.4], "population_standard_error": [0.1], "p_value": [0.001]}
    terms = {"campaign_id": "c", "level": 0.95, "users": 9, "epsilon": 1.0, "mechanism": "m", "bias_bound": None}
    terms |= {"target": "population", "compared": 1, "plan_device": "d", "plan_analyst": "a"}
    extras = {"warnings": [], "round": 0}
    table = answer | {"sentence": ["holds if even"]}
    print_estimate({"kind": "answers", "terms": terms, "table": table, "extras": extras})
    printed = " ".join(capsys.readouterr().out.split())
    assert "holds if even" in printed
    assert "contradict" in printed
