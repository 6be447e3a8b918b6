"""The audit of curator plans: true ones hold, and one integer, figure or weight that is another is found."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sordino_analysis.curator.audit import audit_curator, part_of
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.documents.curator_part import CharacterScales, CuratorPart, GaussianNoise, IntegerRows
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue, MalformedDocument
from sordino_shared.guarantees import PureEpsilon

RHO = Zcdp.of("0.024356")


@cache
def part(kind: str, neighbours: Neighbours = "replace", size: int = 8) -> CuratorPart:
    if kind == "prefix":
        domain = [{"name": "a", "kind": "ordinal", "edges": list(range(size - 1))}]
        queries = "prefix"
    else:
        domain = [{"name": f"a{number}", "kind": "categorical", "labels": ["0", "1"]} for number in range(size)]
        queries = {"kind": kind, "width": 2}
    workload = parse_specification({"name": kind, "domain": domain, "queries": queries}).build()
    return part_of(plan_release(workload, RHO, "max", neighbours=neighbours))


def failed(found: CuratorPart) -> list[str]:
    return [check.name for check in audit_curator(found) if not check.holds]


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(("kind", "size"), [("prefix", 8), ("marginals", 4), ("parities", 5), ("marginals", 12)])
def test_a_plan_holds_and_is_read_back_from_its_bytes(kind: str, size: int, neighbours: Neighbours) -> None:
    found = part(kind, neighbours, size)
    assert failed(found) == []
    names = [check.name for check in audit_curator(found)]
    assert {"Δ²", "σ²", "max variance", "mean variance", "lower bound, max", "lower bound, mean"} <= set(names)
    assert CuratorPart.read(found.content) == found


def test_one_more_in_an_entry_of_a_maximal_pair_is_found() -> None:
    found = part("prefix")
    assert isinstance(found.strategy, IntegerRows)
    rows = ndarray(found.strategy.rows)
    columns = rows.astype(object)
    distances = {
        (x, y): int(((columns[:, x] - columns[:, y]) ** 2).sum()) for x in range(8) for y in range(8) if x != y
    }
    x, y = max(distances, key=lambda pair: distances[pair])
    row = int(np.abs(columns[:, x] - columns[:, y]).argmax())
    raised = rows.copy()
    raised[row, x] += 1 if columns[row, x] > columns[row, y] else -1
    assert "Δ²" in failed(replace(found, strategy=IntegerRows(array_of(raised, "<i8"))))


def test_one_more_in_a_scale_is_found() -> None:
    found = part("marginals", size=12)
    assert isinstance(found.strategy, CharacterScales)
    scales = (0, found.strategy.scales[1] + 1, found.strategy.scales[2])
    assert "Δ²" in failed(replace(found, strategy=CharacterScales(scales)))
    with pytest.raises(InvalidValue, match="measured where it is secret"):
        failed(replace(found, strategy=CharacterScales((1, *found.strategy.scales[1:]))))
    with pytest.raises(InvalidValue, match="characters of the queries"):
        failed(replace(found, strategy=CharacterScales((0, 1))))


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"noise": GaussianNoise("1", "1/3")}, "Δ²"),
        ({"noise": GaussianNoise("1", "1/3")}, "σ²"),
        ({"noise": GaussianNoise("1", "x")}, "σ²"),
        ({"guarantee": Zcdp(RHO.nano_rho + 1)}, "σ²"),
        ({"max_variance": 1.0}, "max variance"),
        ({"mean_variance": 1.0}, "mean variance"),
        ({"neighbours": "add-remove"}, "unbiased"),
    ],
)
def test_another_figure_is_found(changes: dict[str, object], wrong: str) -> None:
    assert wrong in failed(replace(part("prefix"), **changes))


@pytest.mark.parametrize(("kind", "size"), [("prefix", 8), ("marginals", 12)])
def test_another_bound_is_found(kind: str, size: int) -> None:
    found = part(kind, size=size)
    bound = found.mean_bound
    assert bound is not None
    assert bound.weights is not None
    assert failed(replace(found, mean_bound=replace(bound, norm=bound.norm * 1.01))) == ["lower bound, mean"]
    assert failed(replace(found, mean_bound=replace(bound, holds_from_n="1"))) == ["people of the lower bound, mean"]
    doubled = array_of(2 * ndarray(bound.weights), "<f8")
    assert failed(replace(found, mean_bound=replace(bound, weights=doubled))) == ["lower bound, mean"]
    heavier = array_of(2 * ndarray(bound.query_weights), "<f8")
    assert failed(replace(found, mean_bound=replace(bound, query_weights=heavier))) == ["lower bound, mean"]


def test_rows_that_do_not_tell_the_queries_apart_are_found() -> None:
    found = part("prefix")
    assert isinstance(found.strategy, IntegerRows)
    fewer = ndarray(found.strategy.rows)[:-1]
    assert "unbiased" in failed(replace(found, strategy=IntegerRows(array_of(fewer, "<i8"))))
    with pytest.raises(InvalidValue, match="columns"):
        failed(replace(found, strategy=IntegerRows(array_of(fewer[:, :-1], "<i8"))))


@pytest.mark.parametrize(
    "changes",
    [{"neighbours": "friends"}, {"objective": "least"}, {"guarantee": Zcdp(0)}, {"guarantee": PureEpsilon(1)}],
)
def test_a_malformed_part_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises((InvalidValue, MalformedDocument)):
        replace(part("prefix"), **changes)
