"""Attributes that need no list, as they are written: what they build, and what is refused with which advice."""

import json

import pytest

from sordino_analysis.kinds.specifications import read_document
from sordino_analysis.questions.linear import WorkloadError, parse_specification
from sordino_analysis.questions.pairwise.specification import parse_statistic
from sordino_shared.domains import Domain, EvenEdges, Hashed, Integers, Ordinal

DELAY = {"name": "delay", "kind": "integers", "low": 0, "high": 3, "unit": "ms"}
SIZE = {"name": "size", "kind": "ordinal", "edges": {"start": -1, "step": 0.5, "count": 3}, "missing": True}
URL = {"name": "url", "kind": "hashed", "bits": 6}


def written(*domain, queries="histogram"):
    return {"name": "test", "domain": list(domain), "queries": queries}


def test_the_three_forms_build_their_attributes():
    workload = parse_specification(written(DELAY, SIZE, URL)).build()
    assert workload.domain == Domain(
        (
            Integers("delay", 0, 3, unit="ms"),
            Ordinal("size", EvenEdges(-1.0, 0.5, 3), missing=True),
            Hashed("url", 6),
        )
    )
    assert workload.label(0) == "delay: 0, size: ≤ -1, url: hash 00"
    canonical = parse_specification(written(DELAY, SIZE, URL)).canonical()
    assert parse_specification(json.loads(json.dumps(canonical))).build().digest == workload.digest


def test_integers_and_even_edges_are_ordered():
    assert parse_specification(written(DELAY, queries="prefix")).build().labels() == [
        "delay ≤ 0 ms",
        "delay ≤ 1 ms",
        "delay ≤ 2 ms",
    ]
    assert parse_specification(written(SIZE, queries="prefix")).build().labels() == [
        "size ≤ -1",
        "size ≤ -0.5",
        "size ≤ 0",
        "size in any bin",
    ]
    with pytest.raises(WorkloadError, match="prefix needs an order and attribute 'url' is hashed"):
        parse_specification(written(URL, queries="prefix")).build()


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({**DELAY, "low": 4}, "no members from 4 to 3"),
        ({**DELAY, "high": 0}, "at least two"),
        ({**DELAY, "high": 2**63}, "highest integer"),
        ({**DELAY, "low": -(2**63), "high": 2**63 - 1}, "`hashed`"),
        ({**DELAY, "low": 0.5}, "low"),
        ({**DELAY, "edges": [1]}, "edges"),
        ({**SIZE, "edges": {"start": 0, "step": 0, "count": 3}}, "step between edges must be above 0"),
        ({**SIZE, "edges": {"start": 0, "step": 1}}, "count"),
        ({**SIZE, "edges": {"start": 0, "step": 1, "count": 3, "bins": 3}}, "bins"),
        ({**SIZE, "edges": [3, 2, 1]}, "strictly increasing"),
        ({**URL, "bits": 0}, "from 1 to 64"),
        ({**URL, "bits": 65}, "from 1 to 64"),
        ({**URL, "salt": "00"}, "salt"),
        ({"name": "c", "kind": "categorical", "labels": ["a"] * 10**6}, "use `hashed`"),
        ({"name": "c", "kind": "categorical", "labels": ["\ud800"]}, "legible"),
    ],
)
def test_what_cannot_be_is_refused_with_advice(attribute, message):
    with pytest.raises(WorkloadError) as raised:
        parse_specification(written(attribute)).build()
    assert message in str(raised.value)


def test_statistics_of_pairs_need_a_list():
    for attribute in (DELAY, URL):
        with pytest.raises(WorkloadError, match="'ordinal', 'categorical'"):
            parse_statistic({"name": "t", "domain": [attribute], "statistic": {"kind": "gini_diversity"}})


def test_a_file_of_ten_million_labels_is_refused_with_advice(tmp_path):
    path = tmp_path / "long.yaml"
    labels = "\n".join(f"  - url{number}" for number in range(600_000))
    path.write_text(f"name: x\nlabels:\n{labels}\n")
    with pytest.raises(WorkloadError, match="use `hashed`"):
        read_document(path)
