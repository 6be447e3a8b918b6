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


@pytest.mark.parametrize("share", ["1e-200", "0", "60%", "nan", "many"])
def test_shares_that_nobody_sizes_are_refused(run_command, tmp_path, share):
    (tmp_path / "words.yaml").write_text(WORKLOAD)
    refused = run_command("size", "--file", "words.yaml", "--share", share, code=2).stderr
    assert "--share is from 0.0000001% to 50%" in " ".join(refused.split())
