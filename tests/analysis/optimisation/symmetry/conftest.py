"""Symmetric workloads by the sizes of their attributes."""

import pytest

from sordino_analysis.questions.linear import parse_specification


@pytest.fixture(scope="session")
def workload_of():
    """workload_of(shape, queries): the queries over categorical attributes of these sizes."""

    def build(shape, queries):
        attributes = [
            {"name": f"a{i}", "kind": "categorical", "labels": [f"v{j}" for j in range(size)]}
            for i, size in enumerate(shape)
        ]
        return parse_specification({"name": "asked", "domain": attributes, "queries": queries}).build()

    return build
