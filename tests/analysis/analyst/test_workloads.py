"""Workloads from bins, edges, labels, mappings and files are those of the written form; mistakes are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.questions.linear import builtin

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("kind", ["histogram", "prefix", "ranges"])
def test_a_number_of_bins_is_the_workload_that_the_command_plans(kind: str) -> None:
    assert getattr(sa, kind)(8).digest == builtin(kind, 8).digest


@pytest.mark.parametrize("edges", [[0, 15, 60], (0.0, 15.0, 60.0), np.array([0, 15, 60])])
def test_edges_come_as_any_sequence_of_numbers(edges: Any) -> None:
    made = sa.prefix(edges, name="delay", unit="min", missing=True)
    assert made.labels()[:3] == ["delay ≤ 0 min", "delay ≤ 15 min", "delay ≤ 60 min"]
    assert made.size == 5
    assert made.domain.encode(16.0) == 2


def test_labels_make_a_category() -> None:
    made = sa.histogram(["ios", "android"], name="os", other=True)
    assert [made.domain.encode(value) for value in ("ios", "android", "windows")] == [0, 1, 2]


def test_a_mapping_and_a_file_are_read_alike(tmp_path: Path) -> None:
    line = {"name": "delay", "kind": "ordinal", "edges": [0, 15]}
    written = {"name": "delays", "domain": [line], "queries": "prefix"}
    (tmp_path / "delays.yaml").write_text(
        "name: delays\ndomain: [{name: delay, kind: ordinal, edges: [0, 15]}]\nqueries: prefix\n"
    )
    assert sa.workload(written).digest == sa.workload(tmp_path / "delays.yaml").digest


def test_a_workload_is_shown_in_a_line() -> None:
    assert repr(sa.prefix(64)) == "Workload prefix-64: 63 queries over 64 cells"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sa.prefix(1), "2 to 281474976710656 bins, got 1"),
        (lambda: sa.prefix([]), "increasing edges"),
        (lambda: sa.prefix([3, 1]), "strictly increasing"),
        (lambda: sa.prefix(["a", "b"]), "needs an order"),
        (lambda: sa.prefix([[1.0, 2.0]]), "increasing edges"),
        (lambda: sa.histogram([1, "a"]), "a list of labels"),
        (lambda: sa.histogram("abc"), "a list of labels"),
        (lambda: sa.histogram(["a", "b"], unit="min"), "no unit"),
        (lambda: sa.workload({"name": "x"}), "domain"),
        (lambda: sa.workload(EXAMPLES / "flights-gini" / "workload.yaml"), "pairwise statistic"),
        (lambda: sa.workload("no-such-file.yaml"), "cannot read"),
        (lambda: sa.pairwise_statistic({"name": "x", "domain": [], "statistic": {"kind": "tau"}}), "kendall"),
    ],
)
def test_mistakes_are_named(make: Any, message: str) -> None:
    with pytest.raises(sa.WorkloadError, match=message):
        make()
