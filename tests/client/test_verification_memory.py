"""What a device allocates to verify a part and to answer is little, bounded, and what its plan says."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_client import PlanRefused
from sordino_client._session import verify_part
from sordino_shared.audit import verification_memory
from sordino_shared.domains import Categorical, Domain, Hashed, Integers, Ordinal
from sordino_shared.errors import InvalidValue, OversizedDocument
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart, Digest
from sordino_shared.randomizers import (
    Coarsened,
    Dithered,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    Pair,
    RandomizedResponse,
    SeededDirection,
)
from sordino_shared.randomizers.finite_kernel import DenseRows
from sordino_shared.randomness import ShakeRandomness

EPSILON = PureEpsilon.of(8)
RNG = np.random.default_rng(0)


def line(size: int) -> Domain:
    return Domain((Ordinal("x", tuple(map(float, range(size - 1)))),))


def two_level(rows: int, types: int) -> FiniteKernel:
    low, high = (np.full(rows, (1 << 60) // (share * rows), dtype=np.uint64) for share in (4, 2))
    return FiniteKernel(60, two_level_rows(low, high, RNG.random((rows, types)) < 0.5))


def dense(rows: int, types: int) -> FiniteKernel:
    table = RNG.integers((1 << 60) // (4 * rows), (1 << 60) // (2 * rows), (rows, types))
    return FiniteKernel(60, DenseRows(array_of(table, "<u8")))


def seeded(types: int, dimension: int) -> SeededDirection:
    vectors = array_of(RNG.integers(-1000, 1000, (types, dimension)), "<i4")
    return SeededDirection(60, vectors, array_of(np.full(types, 5 << 57, dtype=np.uint64), "<u8"))


LABELS = Domain((Categorical("x", tuple(f"label {number:x}" for number in range(1 << 16))),))
PARTS = {
    "labels": lambda: (LABELS, RandomizedResponse.for_guarantee(LABELS.size, EPSILON)),
    "many outputs": lambda: (line(16), two_level(1 << 17, 16)),
    "outputs": lambda: (line(16), two_level(1 << 14, 16)),
    "many types": lambda: (
        Domain(tuple(Categorical(f"a{number}", ("0", "1")) for number in range(17))),
        two_level(16, 1 << 17),
    ),
    "dense": lambda: (line(500), dense(500, 500)),
    "seeds": lambda: (line(500), seeded(500, 500)),
    "hashed texts": lambda: (
        Domain((Hashed("x", 64, bytes(16)),)),
        Coarsened.for_guarantee((1 << 64,), (Level(1 << 32, GridPartition((1,)), LinearLabel(3), b"\x01"),), EPSILON),
    ),
    "many labels": lambda: (
        line(1 << 16),
        Coarsened.for_guarantee(
            (1 << 16,),
            (Level(1 << 32, GridPartition((1,)), LinearLabel(16), bytes(4096) + b"\x01"),),
            EPSILON,
            low=1 << 30,
        ),
    ),
    "knots": lambda: (
        Domain((Integers("x", 0, 1 << 61),)),
        Dithered(((*range(0, 1 << 61, 1 << 51), 1 << 61),), RandomizedResponse.for_guarantee(1025, EPSILON)),
    ),
    "pair": lambda: (line(4096), Pair(two_level(4096, 4096), two_level(4096, 4096))),
}


def peak_of(content: bytes, digest: Digest) -> int:
    tracemalloc.start()
    verified = verify_part(bytes(bytearray(content)), digest)
    verified.part.randomize([0] * len(verified.part.domain.shape), ShakeRandomness(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


# Python counts the memory of millions of numbers slowly.
LONG = {"many outputs", "many labels"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in PARTS])
def test_a_part_is_verified_within_the_memory_that_its_plan_states(name) -> None:
    domain, randomizer = PARTS[name]()
    part = DevicePart(domain, EPSILON, randomizer)
    content, digest, stated = part.content, part.digest, verification_memory(part)
    del part, domain, randomizer
    peak = peak_of(content, digest)
    assert peak <= stated <= 4 * peak + (6 << 20)
    if name == "pair":
        assert len(content) > 4_300_000
        assert peak < 30_000_000


def test_a_part_above_the_devices_class_is_refused_before_it_is_read(world, make_client) -> None:
    size = len(world.part.content)
    client = make_client(largest_part=size - 1)
    campaign = client.join(world.campaign)
    with pytest.raises(PlanRefused, match=f"larger than the {size - 1} bytes that this app's largest_part") as caught:
        client.answer(campaign, "red")
    assert isinstance(caught.value.__cause__, OversizedDocument)
    assert client.account().lifetime_nano == 0
    assert make_client(largest_part=size).answer(campaign, "red").round == 0


def test_a_kept_part_above_the_devices_class_is_not_read_either(world, make_client) -> None:
    make_client().answer(make_client().join(world.campaign), "red")
    twin = type(world)(world.part, created_at=1_700_000_001)
    client = make_client(twin, largest_part=10)
    with pytest.raises(PlanRefused, match="largest_part"):
        client.answer(client.join(twin.campaign), "red")


def test_a_device_takes_a_mebibyte_unless_its_app_says_more(make_client, make_part) -> None:
    assert make_client()._device.config.largest_part == 1 << 20
    for size in (0, DevicePart.limit + 1, 1.0):
        with pytest.raises(InvalidValue, match="largest part"):
            make_client(largest_part=size)
