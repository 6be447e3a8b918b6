"""The page's workloads are planned, its numbers of users are those that plans print."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import yaml
from scipy.special import ndtri

from sordino_analysis.documents.queries import IndicatorQueries
from sordino_analysis.questions.linear import parse_specification

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL))
def test_the_examples_are_workloads(text: str) -> None:
    built = parse_specification(yaml.safe_load(text)).build()
    assert isinstance(built.published, IndicatorQueries) or built.labels()[:2] == ["never", "always"]


def test_users_are_those_of_the_bands_quantile_and_the_variance_in_the_other_table() -> None:
    variances = dict(re.findall(r"\| d = (\d+, w ≤ \d) \| [\d,]+ \| ([\d,.]+) \|", PAGE))
    rows = re.findall(r"\| (\d+) indicators, width (\d) \(([\d,]+)\) \| ([\d,]+) \| ([\d,]+) \|", PAGE)
    assert len(rows) == 4
    for indicators, width, rules, first, second in rows:
        # Of y·c(x) the population adds the variance of a fair coin, 1.
        variance = (_number(variances[f"{indicators}, w ≤ {width}"]) + 1) / 4
        quantile = -ndtri(-math.expm1(math.log(0.95) / _number(rules)) / 2)
        for users, margin in ((first, 0.05), (second, 0.02)):
            assert _number(users) == pytest.approx(quantile**2 * variance / margin**2, rel=1e-4)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
