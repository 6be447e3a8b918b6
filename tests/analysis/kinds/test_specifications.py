"""A workload file asks either linear queries or a pairwise statistic, and says so where it asks both or neither."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from sordino_analysis.kinds.specifications import Specification, load_question, parse_question
from sordino_analysis.questions.linear import WorkloadError, WorkloadSpecification, load_specification
from sordino_analysis.questions.pairwise import PairwiseSpecification

HEAD = "name: test\ndomain: [{name: delay, kind: ordinal, edges: [0, 15]}]\n"
LINE = {"name": "delay", "kind": "ordinal", "edges": [0, 15]}
TWO_WAYS = "either queries or a statistic"
GINI = {"kind": "gini_diversity"}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(asked: str, **files: Any) -> Path:
        for suffix, content in files.items():
            path = tmp_path / f"kernel.{suffix}"
            path.write_text(content) if isinstance(content, str) else np.save(path, content)
        path = tmp_path / "workload.yaml"
        path.write_text(HEAD + asked, encoding="utf-8")
        return path

    return write


def test_both_forms_are_read(write: Callable[..., Path]) -> None:
    assert isinstance(load_question(write("queries: prefix")), WorkloadSpecification)
    statistic = load_question(write("statistic: {kind: lipschitz, table: [0, 1, 3]}"))
    assert isinstance(statistic, PairwiseSpecification)
    assert statistic.build().forms[0].matrix[0].tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    "files",
    [
        {"csv": "0,1,3\n1,0,2\n3,2,0\n"},
        {"csv": "cell,low,middle,high\nlow,0,1,3\nmiddle,1,0,2\nhigh,3,2,0\n"},
        {"npy": np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])},
    ],
)
@pytest.mark.parametrize("kind", ["matrix", "lipschitz"])
def test_a_kernel_is_read_from_beside_the_file(write: Callable[..., Path], kind: str, files: dict[str, Any]) -> None:
    path = write(f"statistic: {{kind: {kind}, file: kernel.{next(iter(files))}}}", **files)
    statistic = load_question(path).build()
    assert statistic.forms[0].matrix.tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    assert "file" not in str(statistic.specification)


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ("", TWO_WAYS),
        ("queries: prefix\nstatistic: {kind: gini_diversity}", TWO_WAYS),
        ("querys: prefix", "there is no field 'querys'"),
        ("queries: prefix\nmore: 1", "more: there is no such field"),
        ("statistic: {kind: matrix, file: absent.csv}", "cannot read"),
        ("statistic: {kind: matrix, file: kernel.txt}", "ends in .csv or .npy"),
        ("statistic: {kind: gini_diversity, file: kernel.csv}", "matrix"),
        ("statistic: gini_diversity", "statistic"),
    ],
)
def test_what_is_neither_is_refused(write: Callable[..., Path], asked: str, advice: str) -> None:
    with pytest.raises(WorkloadError, match=advice):
        load_question(write(asked, csv="0,1,3\n"))


def test_linear_queries_are_told_from_a_statistic(write: Callable[..., Path]) -> None:
    with pytest.raises(WorkloadError, match="pairwise statistic"):
        load_specification(write("statistic: {kind: gini_diversity}"))


@pytest.mark.parametrize("asked", [{}, {"queries": "prefix", "statistic": GINI}, {"queries": None, "statistic": GINI}])
def test_a_body_over_rest_is_told_the_same(asked: dict[str, Any]) -> None:
    document = {"name": "x", "domain": [LINE], **asked}
    with pytest.raises(WorkloadError, match=TWO_WAYS):
        parse_question(document)
    with pytest.raises(ValidationError, match=TWO_WAYS):
        TypeAdapter(Specification).validate_python(document)


@pytest.mark.parametrize("document", [[], "x", None, 3])
def test_what_is_no_mapping_is_refused(document: Any) -> None:
    with pytest.raises(WorkloadError, match="workload"):
        parse_question(document)


def test_even_bins_are_for_linear_queries_too() -> None:
    even = {"name": "delay", "kind": "ordinal", "edges": {"low": 0, "high": 30, "bins": 3}}
    document = {"name": "x", "domain": [even], "queries": "prefix"}
    specification = parse_question(document)
    assert isinstance(specification, WorkloadSpecification)
    assert specification.build().labels() == ["delay ≤ 10", "delay ≤ 20"]
    assert parse_question(specification.canonical()) == specification
    even["edges"]["bins"] = "auto"  # type: ignore[index]
    with pytest.raises(WorkloadError, match="say how many bins"):
        parse_question(document).build()
