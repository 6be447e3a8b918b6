"""The whole law of small randomizers, payload by payload, and the bit of a direction for every seed and type."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from dithering import sampled_part
from good_documents import small_directions, small_kernel, two_level_kernel
from good_numbers import SEEDS

from sordino_analysis.conformance.enumeration import bit_law, payload_law
from sordino_analysis.conformance.part_counts import part_law
from sordino_analysis.vectorized.arrays import array_of
from sordino_analysis.vectorized.kernels import two_level_rows
from sordino_analysis.vectorized.orbits import base_row
from sordino_shared.domains import Categorical, Domain, Integers
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    DenseRows,
    Dithered,
    FieldLabel,
    FiniteKernel,
    GridPartition,
    Level,
    LinearLabel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    ResidueLabel,
    SeededDirection,
    SubsetMixture,
    SubsetPartition,
    SubsetSelection,
)

ONE = PureEpsilon.of(1)


def uneven_kernel() -> FiniteKernel:
    """Four rows over five types with another sum in every column: the null output's chance depends on the type."""
    members = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=np.bool_)
    low = np.array([2**57, 2**57, 2**56, 2**55], dtype=np.uint64)
    return FiniteKernel(60, two_level_rows(low, 2 * low, members))


def square_kernel() -> FiniteKernel:
    """As many outputs as types, and not symmetric: a table that is read by columns has another law."""
    weights = np.array([1 << 59, 1 << 58, 1 << 57, 1 << 57], dtype=np.uint64)
    table = np.stack([np.roll(weights, cell) for cell in range(4)], axis=1)
    return FiniteKernel(60, DenseRows(array_of(table, "<u8")))


def three_attributes() -> OrbitKernel:
    """Attributes of sizes 3, 2 and 3; a row over one of size 3, one over both of them, one over a 3 and the 2."""
    one = base_row(np.array([True, True, False]))
    two = base_row(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=np.bool_))
    mixed = base_row(np.array([[1, 0], [0, 0], [0, 1]], dtype=np.bool_))
    weights = (1 << 58, 1 << 59, 1 << 58)
    return OrbitKernel(
        shape=(3, 2, 3),
        width=2,
        overlaps=False,
        bits=60,
        low=1 << 50,
        high=5 << 49,
        row_weights=weights,
        rows=(one, two, mixed),
    )


def pinned_attribute() -> OrbitKernel:
    """Three attributes of two members, the middle one pinned; rows over it alone, and over it and another."""
    rows = (base_row(np.array([True, False])), base_row(np.array([[1, 0], [0, 1]], dtype=np.bool_)))
    return OrbitKernel(
        shape=(2, 2, 2),
        width=2,
        overlaps=False,
        bits=60,
        low=1 << 50,
        high=5 << 49,
        row_weights=(1 << 58, 3 << 58),
        rows=rows,
        pinned=1,
    )


def long_directions() -> SeededDirection:
    """Three types of twelve dimensions and unequal lengths."""
    vectors = np.arange(36).reshape(3, 12) * np.array([[7], [-11], [2]]) % 101 - 50
    keep = SeededDirection.largest_keep_weight(ONE)
    weights = np.array([keep, 2**59 + 2**57, keep - 5], dtype=np.uint64)
    return SeededDirection(60, array_of(vectors, "<i4"), array_of(weights, "<u8"))


def coarsened(sizes: tuple[int, ...], *levels: Level) -> Coarsened:
    """A coarsened randomizer within ε = 1."""
    return Coarsened.for_guarantee(sizes, levels, ONE)


def coarsened_samples() -> dict[str, Coarsened]:
    """Every kind of partition and label; members that another order of bits, or another difference, would change."""
    return {
        "coarsened_linear": coarsened((5,), Level(1 << 32, GridPartition((1,)), LinearLabel(2), b"\x03")),
        "coarsened_field": coarsened((5,), Level(1 << 32, GridPartition((1,)), FieldLabel(2), b"\x03")),
        "coarsened_grids": coarsened(
            (5,),
            Level(1 << 31, GridPartition((2,)), LinearLabel(1), b"\x02"),
            Level(1 << 30, GridPartition((10,)), LinearLabel(1), b"\x02"),
            Level(1 << 30, GridPartition((3,)), ResidueLabel((4,)), b"\x03"),
        ),
        "coarsened_offsets": coarsened((20,), Level(1 << 32, GridPartition((40,)), ResidueLabel((2,)), b"\x01")),
        "coarsened_axes": coarsened((3, 4), Level(1 << 32, GridPartition((2, 1)), ResidueLabel((2, 3)), b"\x03")),
        "coarsened_attributes": coarsened(
            (2, 3, 2, 2),
            Level(1 << 30, SubsetPartition((3, 2)), ResidueLabel((3, 2)), b"\x15"),
            Level(3 << 30, SubsetPartition((2, 2)), LinearLabel(1), b"\x01"),
        ),
    }


def sampled() -> dict[str, AnyRandomizer]:
    """Randomizers whose payloads are few, by name; those with a seed come after them."""
    return {
        "randomized_response": RandomizedResponse.for_guarantee(5, ONE),
        "subset_selection": SubsetSelection.for_guarantee(5, 2, ONE),
        "subset_mixture": SubsetMixture.for_guarantee(4, (1, 2), (0.25, 0.75), ONE),
        "finite_kernel_dense": small_kernel(),
        "finite_kernel_square": square_kernel(),
        "finite_kernel_two_level": two_level_kernel(),
        "finite_kernel_null": uneven_kernel(),
        "orbit_kernel": three_attributes(),
        "orbit_kernel_pinned": pinned_attribute(),
        **coarsened_samples(),
        "pair_of_kernels": Pair(two_level_kernel(), small_kernel()),
        "seeded_direction": small_directions(),
        "seeded_direction_long": long_directions(),
        "pair_with_directions": Pair(long_directions(), small_directions()),
    }


def sampling_parts() -> dict[str, DevicePart]:
    """Device parts around them, whose ε covers the integers."""
    return {
        name: DevicePart(_domain(randomizer), PureEpsilon.of(3), randomizer) for name, randomizer in sampled().items()
    } | {name: DevicePart(domain, PureEpsilon.of(3), randomizer) for name, (domain, randomizer) in dithered().items()}


def dithered() -> dict[str, tuple[Domain, Dithered]]:
    """Dithered ones, which know numbers from other members by their domain."""
    few = Domain((Integers("a", 0, 6), Categorical("b", ("x", "y")), Integers("c", 1, 4, missing=True)))
    return {
        "dithered": sampled_part(),
        "dithered_attributes": (few, Dithered(((0, 2, 6), (), (0, 3)), three_attributes())),
        "dithered_kernel": (Domain((Integers("a", 0, 12),)), Dithered(((0, 3, 12),), two_level_kernel())),
        "dithered_direction": (Domain((Integers("a", 0, 12),)), Dithered(((0, 3, 12),), long_directions())),
    }


def _domain(randomizer: AnyRandomizer) -> Domain:
    shape = (randomizer.size,)
    if isinstance(randomizer, OrbitKernel):
        shape = randomizer.shape
    if isinstance(randomizer, Coarsened):
        shape = randomizer.sizes
    labels = "vwxyzabcdefghijklmno"
    return Domain(tuple(Categorical(f"a{at}", tuple(labels[:size])) for at, size in enumerate(shape)))


def _listed(laws: list[dict[bytes, Fraction]]) -> dict[str, Any]:
    denominator = math.lcm(*(chance.denominator for law in laws for chance in law.values()))
    numerators = [{payload.hex(): str(int(p * denominator)) for payload, p in law.items()} for law in laws]
    types = [{"type": cell, "numerators": law} for cell, law in enumerate(numerators)]
    return {"denominator": str(denominator), "types": types}


def _given_seeds(randomizer: SeededDirection) -> dict[str, Any]:
    seeds = []
    for seed in SEEDS:
        bits = [bit_law(randomizer, cell, seed) for cell in range(randomizer.size)]
        types = [
            {"type": cell, "side": side, "numerators": {"00": str(zero), "01": str(one)}}
            for cell, (side, zero, one) in enumerate(bits)
        ]
        seeds.append({"seed": seed.hex(), "types": types})
    return {"denominator_given_seed": str(1 << randomizer.bits), "seeds": seeds}


def _law_of_part(part: DevicePart) -> dict[str, Any]:
    if isinstance(part.randomizer, Dithered) and not isinstance(part.randomizer.inner, SeededDirection):
        return _listed([part_law(part, cell) for cell in range(part.domain.size)])
    return _law(part.randomizer)


def _law(randomizer: AnyRandomizer) -> dict[str, Any]:
    if isinstance(randomizer, Dithered):
        return {"inner": _law(randomizer.inner)}
    if isinstance(randomizer, SeededDirection):
        return _given_seeds(randomizer)
    if isinstance(randomizer, Pair) and isinstance(randomizer.first, SeededDirection):
        return {"first": _law(randomizer.first), "second": _law(randomizer.second)}
    return _listed([dict(payload_law(randomizer, cell)) for cell in range(randomizer.size)])


def sampling() -> dict[str, Any]:
    """The file of laws, by path."""
    vectors = [
        {"name": name, "device_part": part.content.hex(), **_law_of_part(part)}
        for name, part in sampling_parts().items()
    ]
    return {"good/sampling.json": {"vectors": vectors}}
