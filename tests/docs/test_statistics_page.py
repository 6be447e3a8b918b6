"""Every statistic that the page shows is one that can be asked, and every kind is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from sordino_analysis.kinds.specifications import parse_question
from sordino_analysis.questions.pairwise import PairwiseSpecification
from sordino_analysis.questions.pairwise.kinds import StatisticKind
from sordino_analysis.questions.pairwise.specification import MAX_ENTRIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
KINDS = {get_args(model.model_fields["kind"].annotation)[0] for model in get_args(get_args(StatisticKind)[0])}


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_are_statistics(text: str) -> None:
    specification = parse_question(yaml.safe_load(text))
    assert isinstance(specification, PairwiseSpecification)
    specification.check()


def test_every_kind_has_an_example_and_a_row() -> None:
    assert {yaml.safe_load(text)["statistic"]["kind"] for text in EXAMPLES} == KINDS
    assert all(f"| `{kind}` |" in PAGE for kind in KINDS)


def test_every_field_is_named() -> None:
    fields = {name for model in get_args(get_args(StatisticKind)[0]) for name in model.model_fields}
    assert not [name for name in fields if f"`{name}" not in PAGE]


@pytest.mark.parametrize(("tables", "cells"), [(1, 4096), (2, 2896), (3, 2364)])
def test_the_limits_are_the_ones_that_hold(tables: int, cells: int) -> None:
    assert tables * cells**2 <= MAX_ENTRIES < tables * (cells + 1) ** 2
    assert str(cells) in PAGE
