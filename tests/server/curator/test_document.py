"""The document of a release: the fields of estimates, and nothing that tells neighbours apart but noisy numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino_analysis.answers.csv_text import as_csv
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import plan_release
from sordino_analysis.curator.release import measure
from sordino_analysis.curator.strategy import MAX_PEOPLE
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.kinds.linear import LinearExtras
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Neighbours
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_server.datasets.checking import MOST_ROWS
from sordino_server.releases.document import ReleaseSource, release_document
from sordino_server.releases.schemas import ReleaseDocument

COUNTS = np.array([400, 300, 200, 100])
DOMAIN = [{"name": "delay", "kind": "ordinal", "edges": [0, 15, 60], "unit": "min"}]
# What depends on the measurement; in an answer of counts, all but names and the standard error.
NOISY = {"value", "uncut", "interval", "band", "consistent", "share_interval"}


def document(neighbours: Neighbours, counts: Any = COUNTS) -> ReleaseDocument:
    workload = parse_specification({"name": "delays", "domain": DOMAIN, "queries": "prefix"}).build()
    users = int(counts.sum()) if neighbours == "replace" else None
    plan = plan_release(workload, Zcdp.of("0.02"), "mean", users, neighbours=neighbours)
    noise = CuratorNoise(SeededRandomness(5), seeded_for_tests=True)
    source = ReleaseSource(
        release="r", plan="p", dataset="flights", unit="flight", delta=Fraction(1, 10**6), users=users
    )
    return release_document(source, plan, measure(plan, counts, noise))


def test_answers_have_the_fields_of_estimates_from_devices() -> None:
    others = {"predicted_rmse_max", "sources"}
    assert set(LinearExtras.model_fields) - set(ReleaseDocument.model_fields) <= others
    found = document("replace")
    assert (found.users, found.scale, found.compared) == (1000, "share", 3)
    assert found.unbiased_bound.ratio_max is not None
    assert found.unbiased_bound.ratio_max >= 1
    assert found.unbiased_bound.premise == "every cell has a row"
    few = document("replace", np.array([3, 0, 0, 0])).unbiased_bound
    assert few.premise == "the cells that the proof weighs, 3 at least, have a row"
    assert document("add-remove").unbiased_bound.premise is None
    assert all(each.population_interval is not None and each.share_interval is None for each in found.queries)


def test_neighbours_with_the_same_noise_differ_in_noisy_numbers_alone() -> None:
    one, two = (document("add-remove", counts).model_dump() for counts in (COUNTS, COUNTS + np.array([0, 1, 0, 0])))
    assert (one["users"], one["scale"], one["compared"]) == (None, "count", 4)
    rows = [(each.pop("rows"), each.pop("queries")) for each in (one, two)]
    assert one == two
    (first, first_answers), (second, second_answers) = rows
    assert first["standard_error"] == second["standard_error"]
    assert first["value"] - second["value"] == pytest.approx(-1, abs=1e-3)
    for left, right in zip(first_answers, second_answers, strict=True):
        assert {name for name in left if left[name] != right[name]} <= NOISY
        assert left["value"] != right["value"] or left["label"] == "delay ≤ 0 min"


def test_shares_of_counts_hold_the_true_share() -> None:
    """One seeded release, whose errors are known: its intervals hold."""
    found = document("add-remove")
    assert found.rows is not None
    assert abs(found.rows.value - 1000) < 5 * found.rows.standard_error
    for answer, share in zip(found.queries, (0.4, 0.7, 0.9), strict=True):
        assert answer.share_interval is not None
        assert answer.share_interval[0] < share < answer.share_interval[1]
        assert answer.population_interval is None
    few = document("add-remove", np.array([1, 0, 0, 0]))
    assert few.queries[0].share_interval == (0, 1)
    assert b"null" in few.content()
    assert ",delay ≤ 0 min," in as_csv(few.table()).splitlines()[1]


def test_what_is_stored_can_be_measured() -> None:
    assert MOST_ROWS == MAX_PEOPLE
