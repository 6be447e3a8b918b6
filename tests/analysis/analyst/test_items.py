"""Shares of single items by name, from reports or from a table, and what is refused."""

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

URLS = {"name": "urls", "domain": [{"name": "url", "kind": "hashed", "bits": 64}], "queries": "histogram"}
DELAYS = {
    "name": "ms",
    "domain": [{"name": "ms", "kind": "integers", "low": 0, "high": 99_999}],
    "queries": "histogram",
}


def reports(plan, values, seed=1):
    return randomize_part(plan.device, codes_many(plan.domain, values), SeededRandomness(seed))


def test_texts_are_asked_by_name():
    plan = sa.plan(sa.workload(URLS), epsilon=4)
    found = sa.items(plan, reports(plan, ["a"] * 6000 + ["b"] * 4000), ["a", "b", "nobody's"])
    # Six standard errors: one false alarm in 5·10^8 for each.
    assert np.abs(found.answers - [0.6, 0.4, 0]).max() < 6 * found.standard_errors.max()
    assert (found.band[:, 0] <= found.intervals[:, 0]).all()
    assert (found.band[:, 1] >= found.intervals[:, 1]).all()
    assert "nobody's" in repr(found)
    assert "<caption>3 items</caption>" in found._repr_html_()
    assert "10,000 users" in found._repr_html_()
    assert found.columns()["label"] == ["a", "b", "nobody's"]


def test_a_table_and_its_reports_give_the_same_answers():
    plan = sa.plan(sa.workload(DELAYS), epsilon=1)
    sent = reports(plan, [5, 5, 70_000] * 1000)
    by_report, by_table = (sa.items(plan, held, [5, 6, 99_999]) for held in (sent, sa.aggregate(plan, sent)))
    assert by_report.columns() == by_table.columns()


def test_what_has_no_answer_is_refused():
    plan = sa.plan(sa.workload(URLS), epsilon=1)
    sent = reports(plan, ["a"] * 10)
    with pytest.raises(InvalidValue, match="item by item"):
        sa.items(plan, sa.aggregate(plan, sent), ["a"])
    with pytest.raises(InvalidValue, match="does not list 5"):
        sa.items(plan, sent, [5])
    with pytest.raises(InvalidValue, match="no values"):
        sa.items(plan, sent, [])
    with pytest.raises(sa.EstimationError, match="no report"):
        sa.items(plan, sent[:0], ["a"])
    with pytest.raises(InvalidValue, match="array of uint8"):
        sa.items(plan, sent[:, 1:], ["a"])
    with pytest.raises(sa.EstimationError, match="single items"):
        sa.items(sa.plan(sa.histogram(3), epsilon=1), np.zeros((1, 1), dtype=np.uint8), [1])
    with pytest.raises(sa.EstimationError, match=r"with items\(plan, reports, values\)"):
        sa.estimate(plan, sa.aggregate(plan, sent))
    with pytest.raises(InvalidValue, match="a list, an array or a series"):
        sa.items(plan, sent, "a")
