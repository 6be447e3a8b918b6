"""`sordino size --share`: users for common strings, and shares that are none."""

from __future__ import annotations

import pytest

WORKLOAD = """
name: words
domain:
  - {name: word, kind: text, code: words, depth: 34}
queries: strings
"""


def test_users_for_a_share_are_those_with_whom_the_plan_finds_it(run_command, json_of, tmp_path):
    (tmp_path / "words.yaml").write_text(WORKLOAD)
    asked = json_of("size", "--file", "words.yaml", "--share", "0.5%", "--epsilon", "4")
    assert (asked["share"], asked["power"]) == (0.005, 0.9)
    (row,) = asked["rows"]
    plan = json_of("plan", "--file", "words.yaml", "--epsilon", "4", "--users", str(row["users"]))
    assert plan["found"] == pytest.approx(0.005, rel=1e-4)
    said = run_command("size", "--file", "words.yaml", "--share", "0.5%").stdout
    assert f"{row['users']:,}" in said


def test_behind_a_shuffler_it_says_what_hides_an_answer(run_command, json_of, tmp_path):
    """Users who find the share in the plan for the same collector; both ε, that of the crowd by the page's table."""
    (tmp_path / "words.yaml").write_text(WORKLOAD.replace("34", "48"))
    given = ("--file", "words.yaml", "--share", "0.2885%", "--collector", "1,1e-6")
    (row,) = json_of("size", *given)["rows"]
    plan = json_of("plan", "--file", "words.yaml", "--collector", "1,1e-6", "--users", str(row["users"]))
    assert plan["found"] == pytest.approx(0.002885, rel=1e-4)
    assert (row["epsilon"], row["random_reports"]) == (4.0, plan["blanket"]["reports"])
    # A million users find .29 % at ε = 4, and hide each other with ε = .024 at δ = 1e-6 if 10 % are fake.
    assert row["users"] == pytest.approx(1_000_000, rel=0.02)
    assert row["crowd_epsilon"] == pytest.approx(0.024, rel=0.02)
    assert row["users_without"] > 40 * row["users"]
    said = run_command("size", *given, "--device-epsilon", "2").stdout
    assert "even if all others are fake" in said
    assert "without a shuffler, at ε = 1 of a device" in said
    refused = run_command("size", *given, "--epsilon", "2", code=2).stderr
    assert "--collector chooses ε of a device" in " ".join(refused.split())


@pytest.mark.parametrize("share", ["1e-200", "0", "60%", "nan", "many"])
def test_shares_that_nobody_sizes_are_refused(run_command, tmp_path, share):
    (tmp_path / "words.yaml").write_text(WORKLOAD)
    refused = run_command("size", "--file", "words.yaml", "--share", share, code=2).stderr
    assert "--share is from 0.0000001% to 50%" in " ".join(refused.split())
