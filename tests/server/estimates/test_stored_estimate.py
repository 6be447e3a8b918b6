"""Stored estimates are read by their kind, whole or in pieces; what this version does not know is an error in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sordino_server.estimates.schemas import EstimateDocument
from sordino_server.estimates.stored_estimate import UnreadableEstimate, pieces_of, read_estimate
from sordino_shared.protocol import Problem

LINEAR: dict[str, Any] = {
    "kind": "linear",
    "campaign": "aa",
    "plan": {"device": "d", "analyst": "a"},
    "rounds": [0],
    "workload": "w",
    "mechanism": "m",
    "objective": "max",
    "users": 10,
    "epsilon": 1.0,
    "level": 0.95,
    "target": "reporters",
    "validity": "worst_case",
    "unbiased": True,
    "bias_bound": 0.0,
    "warnings": ['a "quoted" one, with ],"rounds":[ in it'],
    "predicted_rmse_max": 0.1,
    "queries": [],
    "unlisted": 0,
    "compared": 3,
    "sources": [],
}


def query(number: int) -> dict[str, Any]:
    return {
        "label": f'"delay" ≤ {number}, [or] {{so}}',
        "kind": "prefix",
        "bounds": [{"attribute": "delay", "low": None, "high": float(number), "label": None, "unit": "min"}],
        "value": number / 10_000,
        "standard_error": 0.01,
        "interval": [0.4, 0.6],
        "band": [0.3, 0.7],
        "population_standard_error": 0.02,
        "population_interval": [0.4, 0.6],
        "consistent": 0.5,
        "coverage": None,
    }


def stored(queries: int, **changes: Any) -> bytes:
    document = LINEAR | {"queries": [query(number) for number in range(queries)]} | changes
    return EstimateDocument.model_validate(document).content()


@pytest.mark.parametrize("queries", [0, 1, 4096, 4097, 9000])
def test_pieces_have_the_terms_of_the_whole_and_its_rows_in_order(queries: int) -> None:
    content = stored(queries)
    whole, pieces = read_estimate(content).table(), [piece.table() for piece in pieces_of(content)]
    assert len(pieces) == max(1, -(-queries // 4096))
    assert all(piece.terms == whole.terms for piece in pieces)
    assert [row for piece in pieces for row in piece.rows()] == list(whole.rows())


@pytest.mark.parametrize(
    ("changes", "missing", "reason"),
    [
        ({"kind": "tomograms"}, "", "tomograms"),
        ({}, "kind", "kind"),
        ({}, "bias_bound", "linear.bias_bound: Field required"),
        ({"kind": "concepts"}, "", "concepts.rule: Field required"),
        ({"queries": [{"label": "a"}]}, "", "linear.queries.0.value: Field required"),
    ],
)
def test_what_is_not_known_is_named(changes: dict[str, Any], missing: str, reason: str) -> None:
    document = {name: value for name, value in (LINEAR | changes).items() if name != missing}
    content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    for read in (read_estimate, lambda content: list(pieces_of(content))):
        with pytest.raises(UnreadableEstimate) as refused:
            read(content)
        assert reason in refused.value.detail
        assert refused.value.problem is Problem.INTERNAL_ERROR
