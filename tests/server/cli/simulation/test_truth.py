"""The truth of a simulation: also of hashed texts, and of items of which only some are published."""

import numpy as np
import pytest

from sordino_analysis.questions.linear import parse_specification
from sordino_server.cli.simulation.truth import check_published, truth_of
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import SeededRandomness

TEXTS = ["a"] * 5 + ["b"] * 3 + ["c"] * 2


def hashed(bits):
    attribute = {"name": "url", "kind": "hashed", "bits": bits}
    return parse_specification({"name": "urls", "domain": [attribute], "queries": "histogram"}).build()


def test_listed_hashes_are_those_of_the_campaign_s_salt():
    workload = hashed(6)
    truths = []
    for seed in (1, 2):
        domain = workload.domain.salted(SeededRandomness(seed))
        truths.append(truth_of(workload, domain, TEXTS, [{}] * 64))
        expected = np.bincount(domain.encode_many(TEXTS), minlength=64) / 10
        np.testing.assert_array_equal(truths[-1], expected)
    assert not np.array_equal(*truths)


def test_published_items_have_their_shares():
    workload = hashed(20)
    domain = workload.domain.salted(SeededRandomness(1))
    label = {text: domain.describe(domain.codes(text)) for text in "abz"}
    rows = [{"label": label["b"]}, {"label": label["z"]}, {"label": label["a"]}]
    np.testing.assert_allclose(truth_of(workload, domain, TEXTS, rows), [0.3, 0.0, 0.5])


def test_where_nothing_is_published_nothing_is_simulated():
    check_published(hashed(25))
    with pytest.raises(InvalidValue, match="25 bits"):
        check_published(hashed(26))
