"""Build workloads: the queries Q over a domain of k cells, from bins, edges, labels, a mapping or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sordino_analysis.analyst.arguments import FLAG, MAPPING, PATH, TEXT, takes
from sordino_analysis.questions.linear import Workload, WorkloadError, load_specification, parse_specification
from sordino_analysis.questions.linear.files import read_document
from sordino_analysis.questions.linear.specification import unit_edges
from sordino_analysis.questions.pairwise import PairwiseSpecification, parse_statistic
from sordino_shared.domains import MAX_EVEN_EDGES

Members = int | Sequence[float] | Sequence[str]


@takes(name=TEXT, unit=TEXT, missing=FLAG, other=FLAG)
def histogram(
    members: Members, *, name: str = "value", unit: str = "", missing: bool = False, other: bool = False
) -> Workload:
    """W = I: the share of users in each of the k cells of one attribute.

    `members` is a number of unit bins, the increasing edges of bins (k − 1 numbers make k bins, each closed on the
    right, the outer two unbounded), or the labels of a category. `missing` and `other` add a cell each for users
    without a value and with one that is not listed. Raises WorkloadError.

    >>> histogram(["ios", "android"], other=True).labels()
    ['value: ios', 'value: android', 'value: other']
    """
    return _on_one_attribute("histogram", members, name, unit, missing, other)


@takes(name=TEXT, unit=TEXT, missing=FLAG, other=FLAG)
def prefix(
    members: int | Sequence[float], *, name: str = "value", unit: str = "", missing: bool = False, other: bool = False
) -> Workload:
    """The cumulative distribution: the share of users at or below each inner edge, Q = k − 1.

    `members` is a number of unit bins or the increasing edges of bins. `missing` and `other` add a cell and a query
    each. Raises WorkloadError, for labels too: they have no order.

    >>> prefix([0, 15, 60], name="delay", unit="min").labels()
    ['delay ≤ 0 min', 'delay ≤ 15 min', 'delay ≤ 60 min']
    """
    return _on_one_attribute("prefix", members, name, unit, missing, other)


@takes(name=TEXT, unit=TEXT, missing=FLAG, other=FLAG)
def ranges(
    members: int | Sequence[float], *, name: str = "value", unit: str = "", missing: bool = False, other: bool = False
) -> Workload:
    """The share of users in every run of neighbouring bins, about k²/2 queries; arguments as for `prefix`.

    >>> ranges(4).queries
    9
    """
    return _on_one_attribute("ranges", members, name, unit, missing, other)


@takes(source=MAPPING | PATH)
def workload(source: Mapping[str, Any] | Path | str) -> Workload:
    """Linear queries from their written form: a mapping, or the path of a YAML or JSON file (docs/workloads.md).

    Raises WorkloadError, which names the field that is wrong.

    >>> line = {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}
    >>> workload({"name": "delays", "domain": [line], "queries": "prefix"}).queries
    3
    """
    return (parse_specification(source) if isinstance(source, Mapping) else load_specification(source)).build()


@takes(source=MAPPING | PATH)
def pairwise_statistic(source: Mapping[str, Any] | Path | str) -> PairwiseSpecification:
    """A pairwise statistic of users from its written form: a mapping, or a YAML or JSON file (docs/statistics.md).

    Raises WorkloadError, which names the field that is wrong.

    >>> carriers = {"name": "carrier", "kind": "categorical", "labels": ["AA", "UA"], "other": True}
    >>> pairwise_statistic({"name": "carriers", "domain": [carriers], "statistic": {"kind": "gini_diversity"}}).cells
    3
    """
    return parse_statistic(source if isinstance(source, Mapping) else read_document(source))


def _on_one_attribute(kind: str, members: Members, name: str, unit: str, missing: bool, other: bool) -> Workload:
    attribute: dict[str, Any] = {"name": name, "missing": missing, "other": other}
    listed = _listed(members)
    if isinstance(listed, list) and listed and all(isinstance(member, str) for member in listed):
        if unit:
            raise WorkloadError("labels have no unit: leave it out", unit)
        attribute |= {"kind": "categorical", "labels": listed}
    else:
        attribute |= {"kind": "ordinal", "edges": listed} | ({"unit": unit} if unit else {})
    title = f"{kind}-{members}" if isinstance(members, int) and name == "value" else f"{name}, {kind}"
    return parse_specification({"name": title, "domain": [attribute], "queries": kind}).build()


def _listed(members: Members) -> Any:
    """Edges or labels as plain numbers and texts; a number of bins as the edges 1, 2, …"""
    if isinstance(members, int):
        if not 2 <= members <= MAX_EVEN_EDGES:
            raise WorkloadError(f"a workload needs 2 to {MAX_EVEN_EDGES} bins, got {members}", members)
        return unit_edges(members)
    array = np.asarray(members)
    mixed = array.dtype.kind == "U" and not all(isinstance(member, str) for member in members)
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iufU" or mixed:
        raise WorkloadError(
            f"give a number of bins, a list of increasing edges, or a list of labels, not {members!r}", members
        )
    values: list[Any] = array.tolist()
    return values
