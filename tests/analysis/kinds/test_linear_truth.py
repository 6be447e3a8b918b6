"""The truth of a simulation: also of hashed texts, and of items of which only some are published."""

import numpy as np
import pytest

from sordino_analysis.kinds.linear_truth import MOST_CANDIDATES, candidates, lists_items, shares_of, truth_of
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.domains import encode_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

TEXTS = ["a"] * 5 + ["b"] * 3 + ["c"] * 2


def hashed(bits):
    attribute = {"name": "url", "kind": "hashed", "bits": bits}
    return parse_specification({"name": "urls", "domain": [attribute], "queries": "histogram"}).build()


def test_listed_hashes_are_those_of_the_campaign_s_salt():
    workload = hashed(6)
    truths = []
    for seed in (1, 2):
        domain = workload.domain.salted(SeededRandomness(seed))
        truths.append(truth_of(workload, domain, TEXTS, [""] * 64))
        expected = np.bincount(encode_many(domain, TEXTS), minlength=64) / 10
        np.testing.assert_array_equal(truths[-1], expected)
    assert not np.array_equal(*truths)


def test_published_items_have_their_shares():
    workload = hashed(20)
    domain = workload.domain.salted(SeededRandomness(1))
    label = {text: domain.describe(domain.codes(text)) for text in "abz"}
    rows = [label["b"], label["z"], label["a"]]
    np.testing.assert_allclose(truth_of(workload, domain, TEXTS, rows), [0.3, 0.0, 0.5])


def test_values_that_most_devices_hold_are_asked_for():
    workload = hashed(64)
    assert not lists_items(workload)
    assert lists_items(hashed(25))
    texts = [*TEXTS, *(f"rare {number}" for number in range(400)), "x" * 901]
    asked = candidates(workload.domain, [{"url": text} for text in [*texts, None]])
    assert asked[:3] == ["a", "b", "c"]
    assert len(asked) == MOST_CANDIDATES
    domain = workload.domain.salted(SeededRandomness(1))
    assert shares_of(domain, [{"url": text} for text in TEXTS], ["a", "c"]) == [0.5, 0.2]


def test_where_no_value_can_be_asked_for_nothing_is_simulated():
    with pytest.raises(InvalidValue, match="nothing to compare"):
        candidates(hashed(64).domain, [{"url": "x" * 901}])


def test_rectangles_that_are_listed_have_their_shares():
    sides = [{"name": name, "kind": "integers", "low": 0, "high": 99} for name in ("x", "y")]
    workload = parse_specification({"name": "plane", "domain": sides, "queries": "prefix"}).build()
    # Of 9,999 queries those in the middle of 6 × 6 parts of the plane are listed: 8, 25, 41, 58, 75, 91 in each.
    values = [{"x": 8, "y": 8}, {"x": 60, "y": 30}, {"x": 9, "y": 99}, {"x": 99, "y": 99}]
    found = np.array(truth_of(workload, workload.domain, values, [""] * 36)).reshape(6, 6)
    assert found[0].tolist() == [0.25] * 6
    assert found[4].tolist() == [0.25, 0.25, 0.5, 0.5, 0.5, 0.5]
