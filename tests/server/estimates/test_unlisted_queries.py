"""The estimate of more queries than a document lists: a part of them that is stated, in every form."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from sordino_analysis.answers.columns import in_order
from sordino_analysis.estimation.intervals import independent_quantile
from sordino_analysis.kinds.linear_truth import truth_of
from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.estimate_text import print_estimate
from sordino_server.cli.output import console
from tests.estimates import answers_of

# Marginals of up to four of 17 switches, which have too many types for a histogram.
SWITCHES = [{"name": f"a{number}", "kind": "categorical", "labels": ["no", "yes"]} for number in range(17)]
WORKLOAD = {"name": "switches", "domain": SWITCHES, "queries": {"kind": "marginals", "width": 4}}
QUERIES = 17 * 2 + 136 * 4 + 680 * 8 + 2380 * 16


@pytest.mark.slow
def test_a_long_estimate_lists_a_stated_part_in_every_form(
    running: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino_analysis.evaluation.listing.MOST_PUBLISHED_QUERIES", QUERIES - 1)
    campaign = running.campaign("open", workload=running.workload(WORKLOAD), mechanism="orbit_kernel")
    assert running.report(campaign, [0, 1, 2**16, 2**17 - 1] * 500).status_code == 200
    running.api.post(f"/v1/campaigns/{campaign['id']}/close").raise_for_status()
    running.work()
    path = f"/v1/campaigns/{campaign['id']}/estimates"
    answer = running.api.get(path).raise_for_status()
    document = answer.json()
    assert len(answer.content) < 6_000_000
    labels, terms = document["table"]["label"], document["terms"]
    assert (len(labels), terms["unlisted"], terms["compared"]) == (8192, QUERIES - 8192, QUERIES)
    assert labels[0] == "a0: no"
    note = document["extras"]["warnings"][0]
    assert f"the first 8,192 of {QUERIES:,} queries are listed" in note
    assert f"the band holds {QUERIES:,} answers at once, listed or not" in note
    _check_band(document)
    rows = list(csv.DictReader(io.StringIO(running.api.get(path, params={"format": "csv"}).text)))
    assert list(rows[0]) == in_order(rows[0])
    assert {(row["unlisted"], row["compared"]) for row in rows} == {(str(QUERIES - 8192), str(QUERIES))}
    monkeypatch.setattr(console, "width", 200)
    print_estimate(document | {"table": {name: cells[:3] for name, cells in document["table"].items()}})
    assert f"{QUERIES - 8192:,} are not; the band holds {QUERIES:,} at once" in capsys.readouterr().out


def _check_band(document: dict[str, Any]) -> None:
    """It is wide enough for all queries, not only for those that are listed."""
    first, level = answers_of(document)[0], document["terms"]["level"]
    reach = (first["band_upper"] - first["band_lower"]) / 2 / first["standard_error"]
    assert reach >= independent_quantile(level, QUERIES) * 0.99
    assert reach > independent_quantile(level, 8192)


def test_the_truth_of_a_simulation_is_that_of_the_listed_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sordino_analysis.evaluation.listing.MOST_PUBLISHED_QUERIES", QUERIES - 1)
    workload = parse_specification(WORKLOAD).build()
    values = [{f"a{number}": "yes" if number < ones else "no" for number in range(17)} for ones in (0, 1, 17, 17)]
    truth = np.array(truth_of(workload, workload.domain, values, [""] * 8192))
    # no, yes of the first switch and of the last.
    assert truth[[0, 1, 32, 33]].tolist() == [0.25, 0.75, 0.5, 0.5]
    assert len(truth) == 8192
