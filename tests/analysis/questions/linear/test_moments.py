"""Second moments: rows x_i x_j over all cells, planned by a curator and for devices, and what has no numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sordino_analysis.curator.plan import plan_release
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear import Workload, WorkloadError, parse_specification
from sordino_shared.guarantees import PureEpsilon

INTEGERS = {"name": "x", "kind": "integers", "low": -1, "high": 2}
BIT = {"name": "b", "kind": "categorical", "labels": ["no", "yes"]}


def moments(*domain: dict[str, Any]) -> Workload:
    asked = {"name": "m", "domain": list(domain), "queries": {"kind": "second_moments"}}
    specification = parse_specification(asked)
    assert parse_specification(specification.canonical()) == specification
    return specification.build()


def test_rows_are_products_of_the_numbers_of_each_cell() -> None:
    workload = moments(INTEGERS, BIT)
    cells = list(product(range(-1, 3), (0, 1)))
    expected = [[x * x for x, _ in cells], [x * y for x, y in cells], [y for _, y in cells]]
    assert workload.operator.dense().tolist() == expected
    assert [workload.name_query(row) for row in range(3)] == ["x × x", "x × b", "b × b"]


def test_a_curator_plans_them_no_worse_than_the_ball_on_their_entries() -> None:
    workload = moments(*({"name": f"x{place}", "kind": "integers", "low": 0, "high": 2} for place in range(3)))
    for guarantee in (PureEpsilon.of("1"), Zcdp.of("0.02")):
        summary = plan_release(workload, guarantee, "mean").summary()
        assert summary.ratio_mean is not None
        assert summary.ratio_mean > 1
        if summary.guarantee == "pure_epsilon":
            named = {each.mechanism: each.mean_variance for each in summary.considered}
            assert summary.mean_variance == min(named.values()) <= named["ball on the queries"]


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ([INTEGERS | {"missing": True}], "leave out `missing`"),
        ([BIT | {"labels": ["a", "b", "c"]}], "is neither"),
        ([{"name": "h", "kind": "hashed", "bits": 8}], "is neither"),
        ([{"name": "n", "kind": "number", "low": 0, "high": 1}], "n"),
        ([INTEGERS | {"high": 2**40}], "too many"),
        ([BIT | {"name": f"b{place}"} for place in range(70)], "too many"),
    ],
)
def test_what_has_no_numbers_is_refused(domain: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        moments(*domain)
