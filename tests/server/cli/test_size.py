"""`sordino size`: its table, its JSON, and what it says to wrong input."""

from __future__ import annotations

import json
import math

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
    twice = json_of(*QUICK, "--margin", "0.01", "--two-campaigns", "--epsilon", "1")["rows"][0]["users"]
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


def test_an_experiment_says_users_days_and_what_weeks_find(json_of, run_command):
    asked = ("size", "--difference", "1%", "--arms", "2", "--power", "80%", "--daily", "20000", "--epsilon", "1")
    (row,) = json_of(*asked)["rows"]
    # (1.96 + .84)²·2·(V + ¼)/δ² in each arm, V = e/(e − 1)².
    assert row["one_look_users"] == pytest.approx(367_543, rel=1e-4)
    assert row["users"] / row["one_look_users"] == pytest.approx(1.065, abs=0.01)
    assert row["days"] == 20
    after = row["difference_after_days"]
    # One bit at ε = 1: a report moves the share by (e + 1)/(e − 1)/2 + 1/2 at most, and an arm has half of them.
    assert row["manipulation"] == pytest.approx(2 * ((math.e + 1) / (math.e - 1) / 2 + 0.5), rel=1e-3)
    assert after["7"] > after["14"] > 0.01 > after["30"]
    assert json_of(*asked, "--spread", "10%")["rows"][0]["users"] < row["users"]
    lines = run_command(*asked, "--looks", "end", COLUMNS="80").stdout.splitlines()
    assert lines[0].startswith("users in 2 arms together: a difference of 0.01 is found with 80 % at 95 %")
    assert lines[2].split()[:3] == ["1", "367,540", "19"]
    assert lines[2].endswith("3.16 %")
    (three,) = json_of(*asked, "--arms", "3")["rows"]
    assert three["manipulation"] == pytest.approx(1.5 * row["manipulation"])


def test_behind_a_shuffler_random_reports_are_chosen_by_the_difference(json_of, run_command):
    asked = ("size", "--difference", "2%", "--daily", "5000")
    (row,) = json_of(*asked, "--collector", "1,1e-6")["rows"]
    (direct,) = json_of(*asked, "--epsilon", "1")["rows"]
    assert row["blanket"] > 0
    assert 1 < row["epsilon"] <= 4
    # One look, which takes fewer users than ε = 1 without a shuffler and more than no noise at all.
    assert row["users"] == row["one_look_users"]
    assert 2.8016**2 * 4 * 0.25 / 0.02**2 < row["users"] < direct["one_look_users"] / 2
    lines = run_command(*asked, "--collector", "1,1e-6", COLUMNS="120").stdout
    assert f"a shuffler that mixes {row['blanket']} random reports into each arm" in lines
    refused = run_command(*asked, "--collector", "1,1e-6", "--looks", "planned", code=2, COLUMNS="200")
    assert "one look: say --looks end" in refused.stderr
    assert "leave out --epsilon" in run_command(*asked, "--collector", "1,1e-6", "--epsilon", "1", code=2).stderr


def test_looks_that_hold_always_take_more_users_the_larger_epsilon_is(json_of, run_command):
    asked = ("size", "--difference", "1%", "--looks", "always", "--epsilon")
    ratios = []
    for epsilon in ("1", "4"):
        (row,) = json_of(*asked, epsilon)["rows"]
        ratios.append(row["users"] / row["one_look_users"])
    assert ratios == pytest.approx([2.44, 4.18], abs=0.01)
    of_plan = ("--workload", "histogram", "--size", "8", "--mechanism", "subset_selection")
    refused = run_command(*asked, "1", *of_plan, code=2)
    assert "counted one by one" in refused.stderr


def test_an_expected_share_takes_fewer_users(json_of, run_command):
    asked = ("size", "--difference", "1%", "--epsilon", "4", "--looks", "always")
    (unknown,), (known,) = json_of(*asked)["rows"], json_of(*asked, "--expect", "10%")["rows"]
    # A share of one half is planned for where nobody says, whose values spread most.
    assert known["users"] < unknown["users"] / 3
    for wrong in (("--expect", "120%"), ("--expect", "10%", "--looks", "any")):
        assert "--expect goes with --looks always" in run_command(*asked, *wrong, code=2, COLUMNS="200").stderr


def test_a_difference_of_means_is_given_in_their_unit(json_of, run_command, tmp_path):
    file = tmp_path / "starts.yaml"
    file.write_text(
        "name: starts\ndomain: [{name: load_ms, kind: number, low: 0, high: 5000, unit: ms}]\nqueries: {load_ms: mean}"
    )
    asked = ("size", "--file", str(file), "--epsilon", "1", "--difference")
    (row,) = json_of(*asked, "50 ms")["rows"]
    # 391,800 for 1 % of the range, by the page of the variance .998.
    assert row["one_look_users"] == pytest.approx(391_800, rel=1e-3)
    assert json_of(*asked, "1%")["rows"] == [row]
    assert "a difference of 50 ms (1 % of the range) is found" in run_command(*asked, "50 ms", COLUMNS="80").stdout


def test_few_reports_are_said_to_be_too_few(json_of, run_command):
    """z·√((V + ¼)/n) with V = e^ε/(e^ε − 1)², randomised response of one bit: 9.5, 4.7 and 2.1 points at ε = 1."""
    asked = ("size", "--workload", "histogram", "--size", "2", "--epsilon", "1", "--effort", "quick", "--reports")
    for reports, points in ((500, 9.48), (2000, 4.74), (10_000, 2.12)):
        (row,) = json_of(*asked, str(reports))["rows"]
        assert 100 * row["half_width"] == pytest.approx(points, abs=0.01)
        assert not row["too_few"]
    few = run_command(*asked, "449", COLUMNS="80")
    assert few.stdout.splitlines()[2].split() == ["1", "±", "10.0", "%", "450", "randomized_response"]
    assert "too few to tell at ε = 1: ask one yes/no question" in few.stderr
    assert "too few" not in run_command(*asked, "450").stderr


def test_three_rounds_ask_a_share_of_the_reports(json_of, tmp_path):
    switches = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in ("dark", "crashed")]
    asked = {"class": "conjunctions", "width": 1, "label": {"attribute": "crashed", "positive": "on"}}
    needed = []
    for protocol in ({}, {"protocol": {"shares": [0.25, 0.5, 0.25], "top": 2}}):
        (tmp_path / "w.json").write_text(json.dumps({"name": "w", "domain": switches, "queries": asked | protocol}))
        (row,) = json_of("size", "--file", "w.json", "--reports", "5000", "--epsilon", "1")["rows"]
        needed.append(row["needed"])
    assert needed[1] == 4 * needed[0]


def test_a_statistic_has_no_crowd(run_command, tmp_path):
    cells = [{"name": "carrier", "kind": "categorical", "labels": ["AA", "UA"]}]
    written = {"name": "carriers", "domain": cells, "statistic": {"kind": "gini_diversity"}}
    (tmp_path / "c.json").write_text(json.dumps(written))
    assert "--margin for a pairwise" in run_command("size", "--file", "c.json", "--reports", "9", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--margin", "one"), "such as 0.01 or 1%"),
        (("--margin", "-1%"), "above 0"),
        (("--margin", "0.01", "--level", "95"), "between 0 and 1"),
        (("--margin", "0.01", "--epsilon", "99"), "99"),
        (("--margin", "0.01", "--protocol", "one_round"), "leave out --protocol"),
        (("--margin", "0.01", "--file", "x.yaml"), "--workload with --size, or --file"),
        ((), "give one of --margin, --reports, and --difference"),
        (("--margin", "0.01", "--difference", "1%"), "give one of --margin, --reports, and --difference"),
        (("--margin", "0.01", "--reports", "500"), "give one of --margin, --reports, and --difference"),
        (("--reports", "0"), "--reports"),
        (("--reports", "500", "--population"), "leave out --population"),
        (("--reports", "500", "--level", "0.9"), "leave out --level"),
        (("--reports", "500", "--daily", "9"), "leave out --daily"),
        (("--margin", "0.01", "--arms", "3"), "leave out --arms"),
        (("--difference", "1%", "--two-campaigns"), "leave out --two-campaigns"),
        (("--difference", "1%", "--arms", "17"), "2 to 16 arms"),
        (("--difference", "0"), "is above 0"),
        (("--difference", "5 ms"), "--difference is in ms, and the workload asks for shares"),
        (("--difference", "1%", "--power", "100%"), "the power must lie between"),
        (("--difference", "1%", "--spread", "60%"), "at most 50%"),
    ],
)
def test_wrong_input_is_refused(run_command, arguments, message):
    assert message in run_command(*QUICK, *arguments, code=2).stderr
