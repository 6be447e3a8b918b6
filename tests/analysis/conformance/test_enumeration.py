"""The listed laws of small randomizers: they sum to 1, have the ε that is proved, and hold the alphabet."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sordino_analysis.conformance.enumeration import direction, payload_count, payload_law
from sordino_analysis.conformance.features import all_counts, truth
from sordino_analysis.conformance.part_counts import part_law
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.randomizers import in_alphabet, randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import DenseRows, Dithered, FiniteKernel, SeededDirection, SubsetSelection

VECTORS = Path(__file__).parents[3] / "tests/vectors/v1/good/sampling.json"
CASES = json.loads(VECTORS.read_text("ascii"))["vectors"]
LISTED = [case for case in CASES if "types" in case]


def part_of(case: dict[str, Any]) -> DevicePart:
    return DevicePart.read(bytes.fromhex(case["device_part"]))


def laws(case: dict[str, Any]) -> list[dict[bytes, Fraction]]:
    whole = int(case["denominator"])
    return [{bytes.fromhex(p): Fraction(int(n), whole) for p, n in t["numerators"].items()} for t in case["types"]]


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case["name"])
def test_a_listed_law_is_whole_and_has_the_ratio_that_is_proved(case: dict[str, Any]) -> None:
    part, found = part_of(case), laws(case)
    randomizer = part.randomizer
    assert found == [part_law(part, cell) for cell in range(part.domain.size)]
    assert all(sum(law.values()) == 1 for law in found)
    kernels = isinstance(randomizer, (FiniteKernel, Dithered)) or "pair" in case["name"]
    assert len(found[0]) == payload_count(randomizer) or kernels
    worst = max(one[payload] / two[payload] for one in found for two in found for payload in one if two[payload])
    ratio = randomizer.likelihood_ratio()
    assert ratio is not None
    assert worst == Fraction(*ratio)
    payloads = np.array([list(payload) for payload in found[0]], dtype=np.uint8)
    assert in_alphabet(randomizer, payloads).all()


def test_a_kernel_is_listed_as_it_is_counted_out() -> None:
    """Sixteen bits: every word of the generator is tried, so the sampler's whole law is known without chance."""
    table = np.random.default_rng(5).integers(6000, 12000, (5, 4))
    kernel = FiniteKernel(16, DenseRows(array_of(table, "<u8")))

    class EveryWord(SeededRandomness):
        def bytes(self, count: int) -> bytes:
            return (np.arange(count // 8, dtype=np.uint64) << np.uint64(48)).astype("<u8").tobytes()

    for cell in range(4):
        drawn = np.bincount(randomize_many(kernel, np.full(2**16, cell), EveryWord(0))[:, 0], minlength=6)
        assert [Fraction(int(n), 2**16) for n in drawn] == [chance for _, chance in payload_law(kernel, cell)]


def test_a_direction_is_listed_as_it_is_drawn() -> None:
    seeds = np.random.default_rng(6).integers(256, size=(20, 16), dtype=np.uint8)
    drawn = directions(seeds, 9).tolist()
    assert [direction(seed.tobytes(), 9) for seed in seeds] == drawn
    case = next(case for case in CASES if case["name"] == "seeded_direction_long")
    randomizer = part_of(case).randomizer
    assert isinstance(randomizer, SeededDirection)
    for given in case["seeds"]:
        g = directions(np.frombuffer(bytes.fromhex(given["seed"]), dtype=np.uint8).reshape(1, 16), 12)[0]
        sides = (ndarray(randomizer.vectors).astype(np.int64) @ g.astype(np.int64) >= 0).astype(int).tolist()
        assert [each["side"] for each in given["types"]] == sides


def test_a_law_with_a_seed_is_not_listed() -> None:
    case = next(case for case in CASES if case["name"] == "seeded_direction")
    with pytest.raises(InvalidValue, match="seed of 128 bits"):
        next(payload_law(part_of(case).randomizer, 0))


def test_large_randomizers_are_counted_by_what_payloads_have_in_common() -> None:
    large = SubsetSelection(1000, 250, 60, 2**59)
    payloads = randomize_many(large, np.full(3000, 17), SeededRandomness(3))
    counted = all_counts(large, 17, payloads)
    assert min(each.worst()[0] for each in counted) * len(counted) > 1e-6
    payloads[:, 0] |= 1
    assert min(each.worst()[0] for each in all_counts(large, 17, payloads)) < 1e-100
    assert truth(large, 17) == Fraction(1, 2)
