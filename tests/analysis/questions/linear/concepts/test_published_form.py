"""The published form of rules over ordered attributes refuses what no workload can mean."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_analysis.documents.queries import OrderedConceptQueries
from sordino_shared.errors import InvalidValue

TERMS: dict[str, Any] = {"family": "boxes", "positive": 1, "miss": 5.0, "false_alarm": 1.0, "bias_allowed": False}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"family": "spheres"}, "not 'spheres'"),
        ({"positive": 2}, "number of the positive member"),
        ({"positive": -1}, "number of the positive member"),
        ({"miss": 0.0}, "above 0"),
        ({"false_alarm": -1.0}, "above 0"),
        ({"miss": float("inf")}, "miss"),
    ],
)
def test_terms_that_no_workload_has_are_refused(changed: dict[str, Any], said: str) -> None:
    assert OrderedConceptQueries(**TERMS | {"positive": 0}).positive == 0
    with pytest.raises(InvalidValue, match=said):
        OrderedConceptQueries(**TERMS | changed)
