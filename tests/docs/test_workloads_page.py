"""Every workload that the page shows is one that the planner takes."""

import re
from pathlib import Path

import pytest
import yaml

from sordino_analysis.questions.linear import parse_specification

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "workloads.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_are_workloads(text):
    workload = parse_specification(yaml.safe_load(text)).build()
    assert workload.queries == len(workload.labels()) > 0


def test_there_are_examples():
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("kind", ["histogram", "prefix", "ranges", "total"])
def test_every_kind_is_described(kind):
    assert re.search(rf"[`: ]{kind}\b", PAGE)
    total = {"carrier": "total"} if kind == "total" else {"carrier": "histogram"}
    asked = {"name": "w", "domain": yaml.safe_load(EXAMPLES[0])["domain"], "queries": total | {"delay": "prefix"}}
    assert parse_specification(asked).build().queries > 0
