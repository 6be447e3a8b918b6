"""The document of a release: the fields of estimates, and nothing that tells neighbours apart but noisy numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino_analysis.answers.csv_text import as_csv
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.curator.projected_plan import plan_projection
from sordino_analysis.curator.release import measure
from sordino_analysis.curator.strategy import MAX_PEOPLE
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.kinds.release import ReleaseExtras
from sordino_analysis.kinds.release_document import ReleaseSource, release_document
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.datasets.checking import MOST_ROWS

COUNTS = np.array([400, 300, 200, 100])
DOMAIN = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]
# What depends on the measurement; in an answer of counts, all but names and the standard error.
NOISY = {
    *("value", "uncut", "lower", "upper", "band_lower", "band_upper", "best", "share_lower", "share_upper"),
}


def document(neighbours: Neighbours, counts: Any = COUNTS) -> EstimateDocument:
    workload = parse_specification({"name": "delays", "domain": DOMAIN, "queries": "prefix"}).build()
    users = int(counts.sum()) if neighbours == "replace" else None
    plan = plan_release(workload, Zcdp.of("0.02"), "mean", users, neighbours=neighbours)
    noise = CuratorNoise(SeededRandomness(5), seeded_for_tests=True)
    source = ReleaseSource(
        release="r", plan="p", dataset="flights", unit="flight", delta=Fraction(1, 10**6), users=users
    )
    return release_document(source, plan, measure(plan, counts, noise))


def extras_of(found: EstimateDocument) -> ReleaseExtras:
    assert isinstance(found.extras, ReleaseExtras)
    return found.extras


def test_answers_have_the_fields_of_estimates_from_devices() -> None:
    others = {"predicted_rmse_max", "sources", "blanket", "best_error"}
    assert set(LinearExtras.model_fields) - set(ReleaseExtras.model_fields) <= others
    found = document("replace")
    assert (found.users, extras_of(found).scale, found.terms["compared"]) == (1000, "share", 3)
    bound = extras_of(found).unbiased_bound
    assert bound.ratio_max is not None
    assert bound.ratio_max >= 1
    assert bound.premise == "every cell has a row"
    few = extras_of(document("replace", np.array([3, 0, 0, 0]))).unbiased_bound
    assert few.premise == "the cells that the proof weighs, 3 at least, have a row"
    assert extras_of(document("add-remove")).unbiased_bound.premise is None
    assert None not in found.columns["population_lower"]
    assert "share_lower" not in found.columns


def test_the_nearest_histogram_of_signed_sums_has_best_guesses_alone() -> None:
    """They were called by a column that no table has, after the budget was spent."""
    workload = parse_specification({"name": "delays", "domain": DOMAIN, "queries": "prefix"}).build()
    plan = plan_projection("jl", workload, Zcdp.of("0.02"), 1000)
    noise = CuratorNoise(SeededRandomness(5), seeded_for_tests=True)
    source = ReleaseSource(
        release="r", plan="p", dataset="flights", unit="flight", delta=Fraction(1, 10**6), users=1000
    )
    found = release_document(source, plan, measure(plan, COUNTS, noise))
    assert found.columns["best"] == found.columns["value"]
    assert not {"standard_error", "lower", "band_lower", "cut"} & found.columns.keys()


def test_neighbours_with_the_same_noise_differ_in_noisy_numbers_alone() -> None:
    one, two = (document("add-remove", counts) for counts in (COUNTS, COUNTS + np.array([0, 1, 0, 0])))
    assert (one.terms["users"], extras_of(one).scale, one.terms["compared"]) == (None, "count", 4)
    assert one.terms == two.terms
    plain = [extras_of(each).model_dump() for each in (one, two)]
    first, second = (each.pop("rows") for each in plain)
    assert plain[0] == plain[1]
    assert first["standard_error"] == second["standard_error"]
    assert first["value"] - second["value"] == pytest.approx(-1, abs=1e-3)
    for left, right in zip(one.answers(), two.answers(), strict=True):
        assert {name for name in left if left[name] != right[name]} <= NOISY
        assert left["value"] != right["value"] or left["label"] == "delay ≤ 0 min"


def test_shares_of_counts_hold_the_true_share() -> None:
    """One seeded release, whose errors are known: its intervals hold."""
    found = document("add-remove")
    rows = extras_of(found).rows
    assert rows is not None
    assert abs(rows.value - 1000) < 5 * rows.standard_error
    for low, share, high in zip(
        found.columns["share_lower"], (0.4, 0.7, 0.9), found.columns["share_upper"], strict=True
    ):
        assert low < share < high  # type: ignore[operator]
    assert "population_lower" not in found.columns
    few = document("add-remove", np.array([1, 0, 0, 0]))
    assert (few.columns["share_lower"][0], few.columns["share_upper"][0]) == (0, 1)
    assert b"null" in few.content()
    assert ",delay ≤ 0 min," in as_csv(few.table).splitlines()[1]


def test_what_is_stored_can_be_measured() -> None:
    assert MOST_ROWS == MAX_PEOPLE
