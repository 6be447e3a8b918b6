"""Claims: what a device computes lies between the exact δ, listed multiset by multiset, and the least claim on it."""

from __future__ import annotations

import math
from typing import Any

from sordino_shared.protocol.schema import from_plain
from sordino_shared.randomizers import AnyRandomizer, Dithered, RandomizedResponse, SubsetSelection
from sordino_shared.shuffling.laws import loss_of
from sordino_shared.shuffling.profile import delta_of
from tests.shared.test_vectors import plain

KINDS = {kind.kind: kind for kind in (RandomizedResponse, SubsetSelection, Dithered)}


def test_what_is_computed_proves_the_least_claim_and_is_no_less_than_the_truth(vectors: dict[str, Any]) -> None:
    for case in vectors["good/claims"]["vectors"]:
        described = plain(case["randomizer"])
        randomizer: AnyRandomizer = from_plain(KINDS[described["kind"]], described)
        found = delta_of(loss_of(randomizer, math.exp(case["nano_epsilon"] / 1e9)), case["blanket"])
        assert found >= case["delta"] * (1 - 1e-9) - 1e-15, case["name"]
        assert math.isclose(found, case["bound"], rel_tol=1e-4, abs_tol=1e-12), case["name"]
        # Of two reports at the randomizer's own ε δ is 0, and what is computed two steps of the grid.
        coarse = 2e-6 if case["blanket"] < 9 else 1e-12
        assert found <= 1.03 * case["delta"] + coarse, case["name"]
        assert found * 1e18 <= int(case["least_atto_delta"]), case["name"]


def test_a_blanket_of_fewer_reports_does_not_prove_it(vectors: dict[str, Any]) -> None:
    for case in vectors["good/claims"]["vectors"]:
        if case["delta"] < 1e-9 or case["blanket"] < 9:
            continue
        described = plain(case["randomizer"])
        randomizer: AnyRandomizer = from_plain(KINDS[described["kind"]], described)
        fewer = case["blanket"] - case["blanket"] // 8
        found = delta_of(loss_of(randomizer, math.exp(case["nano_epsilon"] / 1e9)), fewer)
        assert found * 1e18 > int(case["least_atto_delta"]), case["name"]
