"""`sordino size`: its table, its JSON, and what it says to wrong input."""

from __future__ import annotations

import json

import pytest

QUICK = ("size", "--workload", "prefix", "--size", "6", "--effort", "quick", "--mechanism", "randomized_response")


def test_the_table_has_a_row_for_each_epsilon(run_command):
    text = run_command(*QUICK, "--margin", "1%", "--epsilon", "1", "--epsilon", "2", COLUMNS="80").stdout
    lines = text.splitlines()
    assert lines[0] == "users of the campaign: ± 0.01 at 95 %"
    assert [line.split()[0] for line in lines[2:]] == ["1", "2"]
    assert all(line.endswith("randomized_response") for line in lines[2:])
    assert max(map(len, lines)) <= 80


def test_json_has_every_query_and_more_users_for_less_epsilon(json_of):
    found = json_of(*QUICK, "--margin", "0.01")
    assert [row["epsilon"] for row in found["rows"]] == [0.25, 0.5, 1.0, 2.0, 4.0]
    needed = [row["users"] for row in found["rows"]]
    assert needed == sorted(needed, reverse=True)
    first = found["rows"][0]
    assert first["users"] == max(query["users"] for query in first["queries"]) < first["band_users"]
    twice = json_of(*QUICK, "--margin", "0.01", "--difference", "--epsilon", "1")["rows"][0]["users"]
    assert twice == pytest.approx(2 * needed[2], abs=2)


def test_a_plan_of_the_same_error_agrees(json_of):
    """1.96 standard errors are the margin, so the target error is the margin over 1.96."""
    plan = ("plan", *QUICK[1:], "--epsilon", "1", "--target-error", str(0.01 / 1.959963984540054))
    assert json_of(*QUICK, "--margin", "1%", "--epsilon", "1")["rows"][0]["users"] == json_of(*plan)["users_needed"]


def test_of_three_rounds_the_users_are_those_of_all(json_of, tmp_path):
    """A quarter of them answers the first round, which alone is about all rules."""
    switches = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in ("dark", "beta", "crashed")]
    asked = {"class": "conjunctions", "width": 1, "label": {"attribute": "crashed", "positive": "on"}}
    needed = []
    for name, protocol in (("one", {}), ("three", {"protocol": {"shares": [0.25, 0.5, 0.25], "top": 2}})):
        written = {"name": "w", "domain": switches, "queries": asked | protocol}
        (tmp_path / f"{name}.json").write_text(json.dumps(written))
        needed.append(json_of("size", "--file", f"{name}.json", "--margin", "0.05", "--epsilon", "1")["rows"][0])
    assert needed[1]["users"] == 4 * needed[0]["users"]
    assert needed[1]["band_users"] == 4 * needed[0]["band_users"]


def test_a_pairwise_statistic_states_its_protocol(json_of, run_command, tmp_path):
    cells = [{"name": "carrier", "kind": "categorical", "labels": ["AA", "UA", "WN"]}]
    written = {"name": "carriers", "domain": cells, "statistic": {"kind": "gini_diversity"}}
    (tmp_path / "carriers.json").write_text(json.dumps(written))
    asked = ("size", "--file", "carriers.json", "--margin", "0.05", "--epsilon", "2", "--protocol", "one_round")
    row = json_of(*asked, "--effort", "quick")["rows"][0]
    assert row["mechanism"] == "one_round"
    assert row["predicted_margin"] <= 0.05
    refused = run_command(*asked, "--mechanism", "haar", code=2)
    assert "leave out --mechanism" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--margin", "one"), "such as 0.01 or 1%"),
        (("--margin", "-1%"), "above 0"),
        (("--margin", "0.01", "--level", "95"), "between 0 and 1"),
        (("--margin", "0.01", "--epsilon", "99"), "99"),
        (("--margin", "0.01", "--protocol", "one_round"), "leave out --protocol"),
        (("--margin", "0.01", "--file", "x.yaml"), "--workload with --size, or --file"),
    ],
)
def test_wrong_input_is_refused(run_command, arguments, message):
    assert message in run_command(*QUICK, *arguments, code=2).stderr
