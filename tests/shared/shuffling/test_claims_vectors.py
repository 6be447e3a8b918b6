"""Claims: what a device computes lies between the exact δ, listed multiset by multiset, and the least claim on it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.protocol.routes import PrivacyClaim
from sordino_shared.protocol.schema import from_plain
from sordino_shared.randomizers import AnyRandomizer, Dithered, RandomizedResponse, SubsetSelection
from sordino_shared.shuffling.claims import unproved
from sordino_shared.shuffling.composition import composed_claim
from sordino_shared.shuffling.laws import is_closed_form, loss_of
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


def test_a_claim_on_each_part_is_proved_and_one_with_too_little_is_not(vectors: dict[str, Any]) -> None:
    parts = {
        each["name"]: DevicePart.read(bytes.fromhex(each["hex"])) for each in vectors["good/device_part"]["vectors"]
    }
    assert {each["name"] for each in vectors["good/claims"]["parts"]} == set(parts)
    for case in vectors["good/claims"]["parts"]:
        randomizer = parts[case["name"]].randomizer
        if not case["has_blanket"]:
            with pytest.raises(InvalidValue, match="have no blanket"):
                unproved(randomizer, 80, [PrivacyClaim(10**9, 10**18)])
            continue
        assert is_closed_form(randomizer) == case["closed_form"], case["name"]
        proved, *rest = (PrivacyClaim(case["nano_epsilon"], int(each)) for each in [case["proved"], *case["unproved"]])
        assert unproved(randomizer, case["blanket"], [proved]) is None, case["name"]
        for claim in rest:
            assert unproved(randomizer, case["blanket"], [claim]) == claim, case["name"]


def test_answers_together_give_what_the_vectors_say(vectors: dict[str, Any]) -> None:
    for case in vectors["good/claims"]["composed"]:
        claims = [PrivacyClaim(nano, int(atto)) for nano, atto in case["claims"]]
        for one in case["answers"]:
            found = composed_claim(claims, claims[case["headline"]], one["count"])
            assert found == PrivacyClaim(one["nano_epsilon"], int(one["atto_delta"]))
