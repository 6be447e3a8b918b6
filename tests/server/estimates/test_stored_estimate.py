"""Stored estimates are read by their kind; what this version does not know is an error of the server in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sordino_server.answers.stored import read_estimate
from sordino_server.errors import ServerError
from sordino_shared.protocol import Problem

LINEAR: dict[str, Any] = {
    "kind": "linear",
    "terms": {
        "campaign_id": "aa",
        "users": 10,
        "unlisted": 0,
        "compared": 3,
        "epsilon": 1.0,
        "level": 0.95,
        "bias_bound": 0.0,
        "target": "reporters",
        "validity": "worst_case",
        "mechanism": "m",
        "plan_device": "d",
        "plan_analyst": "a",
    },
    "table": {"label": ['"delay" ≤ 1, [or] {so}', "b"], "value": [0.5, None], "delay_high": [1.0, 2.0]},
    "extras": {
        "workload": "w",
        "objective": "max",
        "unbiased": True,
        "predicted_rmse_max": 0.1,
        "warnings": ['a "quoted" one', "another"],
        "sources": [],
    },
}


def test_an_estimate_is_read_with_its_table() -> None:
    table = read_estimate(json.dumps(LINEAR).encode()).table
    assert table.cells("label") == LINEAR["table"]["label"]
    assert table.cells("warnings") == ['a "quoted" one | another'] * 2
    assert (table.terms["users"], table.names[:4]) == (10, ["campaign_id", "label", "delay_high", "value"])


@pytest.mark.parametrize(
    ("part", "changes", "reason"),
    [
        ("", {"kind": "tomograms"}, "no kind of question 'tomograms'; there are linear, concepts, numbers, pairwise"),
        ("", {"kind": 3}, "no kind of question '3'"),
        ("", {"extras": None}, "linear.extras: Input should be a valid dictionary"),
        ("", {"table": []}, "table is no object"),
        ("", {"kind": "concepts"}, "concepts.extras.rule: Field required"),
        ("extras", {"objective": "least"}, "linear.extras.objective: Input should be 'max' or 'mean'"),
        ("terms", {"users": "many"}, "column 'users' holds integer cells, not 'many'"),
        ("terms", {"tomogram": 1}, "a table of answers has no column 'tomogram'"),
        ("terms", {"value": 1.0}, "'value' is both a term and a column"),
        ("table", {"value": 1.0}, "table.value: is no list"),
        ("table", {"value": [1.0]}, "the columns of a table have one length"),
        ("table", {"value": ["a", "b"]}, "row 1: column 'value' holds number cells, not 'a'"),
    ],
)
def test_what_is_not_known_is_named(part: str, changes: dict[str, Any], reason: str) -> None:
    document = LINEAR | changes if not part else LINEAR | {part: LINEAR[part] | changes}
    with pytest.raises(ServerError) as refused:
        read_estimate(json.dumps(document).encode())
    assert reason in refused.value.detail
    assert "run `sordino db upgrade`" in refused.value.detail
    assert refused.value.problem is Problem.INTERNAL_ERROR


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"null", b"[" * 100_000, b"\xff"])
def test_what_is_no_estimate_at_all_is_refused(content: bytes) -> None:
    with pytest.raises(ServerError, match="the stored estimate cannot be read"):
        read_estimate(content)
