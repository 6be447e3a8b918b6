"""Draws and alphabets of every randomizer: what a device does for one value, for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.coarsened.reports import (
    coarsened_produces,
    numbered_codes,
    randomize_coarsened,
    with_even_labels,
)
from sordino_analysis.vectorized.directions import randomize_directions
from sordino_analysis.vectorized.kernels import kernel_produces, randomize_kernel
from sordino_analysis.vectorized.orbits import cell_codes, orbit_produces, randomize_orbits
from sordino_analysis.vectorized.payloads import (
    Payloads,
    check_cells,
    check_codes,
    check_payloads,
    pack_indices,
    unpack_indices,
)
from sordino_analysis.vectorized.randomness import MAX_BOUND, uniform_below, uniform_below_each, uniform_bits
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    Dithered,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)
from sordino_shared.randomizers.directions import SEED_BYTES
from sordino_shared.randomness import Randomness

Codes = NDArray[np.uint64]
# Keys are drawn for this many entries at a time: 32 MiB of them.
_BATCH_ENTRIES = 1 << 22
Cells = NDArray[np.int64]


def randomize_many(randomizer: AnyRandomizer, cells: Cells, randomness: Randomness) -> Payloads:
    """(n, payload_bytes) payloads, one independent draw for each of the (n,) cells."""
    check_cells(cells, randomizer.size)
    match randomizer:
        case RandomizedResponse():
            return _respond(randomizer, cells, randomness)
        case SubsetSelection():
            return randomize_subsets(randomizer, cells, randomness)
        case SubsetMixture():
            return randomize_mixture(randomizer, cells, randomness)
        case FiniteKernel():
            return randomize_kernel(randomizer, cells, randomness)
        case SeededDirection():
            return randomize_directions(randomizer, cells, randomness)
        case OrbitKernel():
            return randomize_orbits(randomizer, cell_codes(randomizer, cells), randomness)
        case Pair(first, second):
            drawn = [randomize_many(part, cells, randomness) for part in (first, second)]
            return np.concatenate(drawn, axis=1)
        case Coarsened():
            return randomize_coarsened(randomizer, numbered_codes(randomizer, cells), randomness)
        case Dithered():
            return randomize_codes(randomizer, cells[:, None].astype(np.uint64), (randomizer.size,), randomness)
        case _:
            assert_never(randomizer)


def randomize_codes(
    randomizer: AnyRandomizer, codes: Codes, shape: tuple[int, ...], randomness: Randomness
) -> Payloads:
    """(n, payload_bytes) payloads, one for each value of a domain of this shape.

    `codes` (n, attributes) are indices of members. They become cell numbers, except for randomizers of domains that are
    too large for these.
    """
    randomizer.check_domain(shape)
    check_codes(codes, shape)
    match randomizer:
        case OrbitKernel():
            return randomize_orbits(randomizer, codes.astype(np.int64), randomness)
        case Coarsened():
            return randomize_coarsened(randomizer, codes, randomness)
        case Dithered():
            types = dithered_types(randomizer, codes, randomness)
            return randomize_codes(randomizer.inner, types, randomizer.type_shape(shape), randomness)
        case _:
            return randomize_many(randomizer, _cell_numbers(codes, shape), randomness)


def randomize_part(part: DevicePart, codes: Codes, randomness: Randomness) -> Payloads:
    """(n, payload_bytes) one payload for each value, a row of `codes` (n, attributes): indices of its members."""
    return randomize_codes(part.randomizer, codes, part.domain.shape, randomness)


def in_alphabet(randomizer: AnyRandomizer, payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether each of the (n, payload_bytes) payloads is one that some value can produce."""
    check_payloads(payloads, randomizer.payload_bytes)
    match randomizer:
        case RandomizedResponse(size):
            return unpack_indices(payloads) < size
        case SubsetSelection(size, subset_size):
            return subset_of_sizes(size, (subset_size,), payloads)
        case SubsetMixture():
            return subset_of_sizes(randomizer.size, randomizer.subset_sizes, payloads)
        case FiniteKernel():
            return kernel_produces(randomizer, payloads)
        case SeededDirection():
            return np.asarray(payloads[:, SEED_BYTES] <= 1)
        case OrbitKernel():
            return orbit_produces(randomizer, payloads)
        case Pair(first, second):
            here, there = split_pair(randomizer, payloads)
            return in_alphabet(first, here) & in_alphabet(second, there)
        case Coarsened():
            return coarsened_produces(randomizer, payloads)
        case Dithered():
            return in_alphabet(randomizer.inner, payloads)
        case _:
            assert_never(randomizer)


def split_pair(pair: Pair, payloads: Payloads) -> tuple[Payloads, Payloads]:
    """The (n, width) payloads of either part."""
    width = pair.first.payload_bytes
    return payloads[:, :width], payloads[:, width:]


def _respond(randomizer: RandomizedResponse, cells: Cells, randomness: Randomness) -> Payloads:
    beyond = uniform_bits(randomness, randomizer.bits, len(cells)).astype(np.int64) - randomizer.own_weight
    others = beyond // randomizer.other_weight
    others += others >= cells
    return pack_indices(np.where(beyond < 0, cells, others), randomizer.payload_bytes)


def _cell_numbers(codes: Codes, shape: tuple[int, ...]) -> Cells:
    cells = np.zeros(len(codes), dtype=np.int64)
    for place, size in enumerate(shape):
        cells = cells * size + codes[:, place].astype(np.int64)
    return cells


def randomize_subsets(randomizer: SubsetSelection, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    """(n, width) a set for each cell. A device draws sets another way: the law is the same, the stream is not."""
    payloads = np.empty((len(cells), randomizer.payload_bytes), dtype=np.uint8)
    batch = max(1, _BATCH_ENTRIES // randomizer.size)
    for start in range(0, len(cells), batch):
        payloads[start : start + batch] = _randomize_batch(randomizer, cells[start : start + batch], randomness)
    return payloads


def _randomize_batch(randomizer: SubsetSelection, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    included = uniform_bits(randomness, randomizer.bits, len(cells)) < np.uint64(randomizer.include_weight)
    members = np.empty((len(cells), randomizer.size), dtype=np.bool_)
    pending = np.arange(len(cells))
    while len(pending):
        members[pending] = _smallest_keys(randomizer, cells[pending], included[pending], randomness)
        pending = pending[members[pending].sum(axis=1) != randomizer.subset_size]
    return np.packbits(members, axis=1, bitorder="little")


def _smallest_keys(
    randomizer: SubsetSelection, cells: NDArray[np.int64], included: NDArray[np.bool_], randomness: Randomness
) -> NDArray[np.bool_]:
    """(n, k) the types with the `subset_size` smallest of uniform keys, the value's own forced to either end.

    A tie at the boundary gives a larger set. Ties are as likely for every order of the other types, so a subset
    that is redrawn until there is none is exactly uniform.
    """
    size, chosen = randomizer.size, randomizer.subset_size
    keys = uniform_bits(randomness, 63, len(cells) * size).reshape(len(cells), size) + np.uint64(1)
    keys[np.arange(len(cells)), cells] = np.where(included, np.uint64(0), np.uint64(2**64 - 1))
    largest = np.partition(keys, chosen - 1, axis=1)[:, chosen - 1]
    return keys <= largest[:, None]


def randomize_mixture(randomizer: SubsetMixture, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    """(n, width) a set of a drawn size for each cell."""
    steps = np.cumsum(np.array(randomizer.size_weights, dtype=np.uint64))
    drawn = np.searchsorted(steps, uniform_bits(randomness, randomizer.bits, len(cells)), side="right")
    payloads = np.empty((len(cells), randomizer.payload_bytes), dtype=np.uint8)
    for index, part in enumerate(randomizer.parts):
        payloads[drawn == index] = randomize_subsets(part, cells[drawn == index], randomness)
    return payloads


def subset_of_sizes(size: int, sizes: tuple[int, ...], payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether each payload is a set of one of these sizes, of `size` cells."""
    bitmap = np.unpackbits(payloads, axis=1, bitorder="little")
    allowed: NDArray[np.bool_] = np.isin(bitmap[:, :size].sum(axis=1, dtype=np.int64), sizes)
    return allowed & ~bitmap[:, size:].any(axis=1)


def dithered_types(dithered: Dithered, codes: Codes, randomness: Randomness) -> Codes:
    """(n, attributes) the types that the inner randomizer takes, drawn for rows of member indices, one an attribute."""
    types = codes.copy()
    for place, knots in enumerate(dithered.knots):
        if knots:
            types[:, place] = _dithered(knots, codes[:, place], randomness)
    return types


def _dithered(knots: Sequence[int], members: Codes, randomness: Randomness) -> Codes:
    """(n,) types of (n,) members of one attribute; nothing is drawn for the last knot and what follows it."""
    ends = np.array(knots, dtype=np.uint64)
    places = np.searchsorted(ends, members, side="right") - 1
    types = places.astype(np.uint64)
    # On the last knot this is its place.
    after = members >= ends[-1]
    types[after] = np.uint64(len(knots) - 1) + members[after] - ends[-1]
    if (lower := places[~after]).size:
        drawn = uniform_below_each(randomness, ends[lower + 1] - ends[lower])
        types[~after] += drawn < members[~after] - ends[lower]
    return types


def draw_blanket(randomizer: AnyRandomizer, count: int, randomness: Randomness) -> Payloads:
    """(count, width) payloads: of uniform types, or with a public part as devices draw it and a uniform output.

    Over all types shifts of an orbit kernel are uniform by themselves.
    """
    if isinstance(randomizer, Coarsened) and randomizer.size >= MAX_BOUND:
        # Of any value: all of its label is drawn again.
        none = np.zeros((count, len(randomizer.sizes)), dtype=np.uint64)
        return with_even_labels(randomizer, randomize_codes(randomizer, none, randomizer.sizes, randomness), randomness)
    cells = uniform_below(randomness, randomizer.size, count).astype(np.int64)
    payloads = randomize_many(randomizer, cells, randomness)
    match randomizer:
        case Coarsened():
            return with_even_labels(randomizer, payloads, randomness)
        case SeededDirection():
            # The sign is the last byte.
            payloads[:, -1] = uniform_bits(randomness, 1, count)
    return payloads
