"""Counts over the payloads of one value, for each randomizer, and the whole distribution if it is small.

Every function reads the definition in docs/protocol.md: which part of a payload depends on the value and with what
chance, and which part is uniform.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from sordino_analysis.conformance.coarsened_counts import coarsened_counts, favours_value, member_chance, read_reports
from sordino_analysis.conformance.counts import MOST_LISTED, BoundedCounts, Counts, partition, share, types_looked_at
from sordino_analysis.conformance.enumeration import (
    MOST_ATOM,
    digits,
    kernel_weights,
    likeliest_atom,
    payload_count,
    payload_law,
    slot_places,
)
from sordino_analysis.vectorized.arrays import ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.kernels import kernel_integers
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import (
    BaseRow,
    Coarsened,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

Payloads = NDArray[np.uint8]
# Bytes of a seed, as the page of the wire has it.
SEED_BYTES = 16
# Types whose sides of a direction are counted for each value: more take as much time again, and share its false alarms.
_MOST_TYPES = 64
# Floating point is exact below.
_EXACT = 1 << 53
# Tables whose means are kept.
_KEPT = 4
# Entries that are held at once: 32 MiB.
_BATCH_ENTRIES = 1 << 22


def all_counts(randomizer: Randomizer, cell: int, payloads: Payloads) -> list[Counts]:
    """Every count of the payloads (n, width) of one value that is held against the law."""
    listed = payload_count(randomizer)
    is_small = listed is not None and listed <= MOST_LISTED
    whole = listed_counts(dict(payload_law(randomizer, cell)), payloads) if is_small else []
    return [*whole, *features(randomizer, cell, payloads)]


def listed_counts(law: dict[bytes, Fraction], payloads: Payloads) -> list[Counts]:
    """How often each payload of a law came among the (n, width) payloads."""
    names, places = list(law), {payload: place for place, payload in enumerate(law)}
    outcomes = np.array([places[bytes(row)] for row in payloads], dtype=np.int64)
    return partition(outcomes, list(map(float, law.values())), "the payload", lambda place: names[place].hex())


@singledispatch
def truth(randomizer: Randomizer, cell: int) -> Fraction:
    """The probability of the most informative event: the one whose odds a too large ε multiplies.

    Raises InvalidValue for a randomizer without a test.
    """
    raise InvalidValue(f"a randomizer {type(randomizer).__name__} is not known", randomizer)


@singledispatch
def tells_truth(randomizer: Randomizer, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether that event happened; raises InvalidValue for a randomizer without a test."""
    raise InvalidValue(f"a randomizer {type(randomizer).__name__} is not known", randomizer)


@singledispatch
def features(randomizer: Randomizer, cell: int, payloads: Payloads) -> Iterator[Counts]:
    """Counts of what many payloads have in common."""
    happened, chance = tells_truth(randomizer, cell, payloads), float(truth(randomizer, cell))
    yield from share(happened, chance, "in favour of the value")


@truth.register
def _response_truth(randomizer: RandomizedResponse, cell: int) -> Fraction:
    return 1 - (randomizer.size - 1) * Fraction(randomizer.other_weight, 1 << randomizer.bits)


@tells_truth.register
def _response_tells(randomizer: RandomizedResponse, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    return np.asarray(_indices(payloads) == cell)


@features.register
def _response_features(randomizer: RandomizedResponse, cell: int, payloads: Payloads) -> Iterator[Counts]:
    own = _response_tells(randomizer, cell, payloads)
    yield from share(own, float(truth(randomizer, cell)), "of the value itself")
    uniform = np.full(randomizer.size - 1, 1 / (randomizer.size - 1))
    others = _indices(payloads[~own])
    rank = others - (others > cell)
    yield from partition(rank, uniform.tolist(), "another value", lambda at: str(at + (at >= cell)))


@truth.register
def _kernel_truth(randomizer: FiniteKernel, cell: int) -> Fraction:
    weights = kernel_weights(randomizer, cell)
    favoured = [weight for weight, favours in zip(weights, favoured_outputs(randomizer, cell), strict=True) if favours]
    return Fraction(sum(favoured), 1 << randomizer.bits)


@tells_truth.register
def _kernel_tells(randomizer: FiniteKernel, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    favours: NDArray[np.bool_] = favoured_outputs(randomizer, cell)[_indices(payloads)]
    return favours


@lru_cache(maxsize=_KEPT)
def _row_means(randomizer: FiniteKernel) -> NDArray[np.float64]:
    """(m,) the mean of each row of the table; a large table is not averaged again for every value."""
    return np.asarray(kernel_integers(randomizer.rows).mean(axis=1, dtype=np.float64))


def favoured_outputs(randomizer: FiniteKernel, cell: int) -> NDArray[np.bool_]:
    """(outputs,) whether an output is likelier for this value than for the mean of all."""
    mean, weights = _row_means(randomizer), np.array(kernel_weights(randomizer, cell), dtype=np.float64)
    null = [2.0**randomizer.bits - mean.sum()] if len(weights) > len(mean) else []
    return weights > np.concatenate([mean, null])


@features.register
def _kernel_features(randomizer: FiniteKernel, cell: int, payloads: Payloads) -> Iterator[Counts]:
    yield from share(
        _kernel_tells(randomizer, cell, payloads), float(truth(randomizer, cell)), "in favour of the value"
    )
    chances = [weight / 2**randomizer.bits for weight in kernel_weights(randomizer, cell)]
    yield from partition(_indices(payloads), chances, "the output", str)


@truth.register
def _selection_truth(randomizer: SubsetSelection, cell: int) -> Fraction:
    return Fraction(randomizer.include_weight, 1 << randomizer.bits)


@tells_truth.register(SubsetSelection)
@tells_truth.register(SubsetMixture)
def _subset_tells(randomizer: SubsetSelection | SubsetMixture, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    held: NDArray[np.bool_] = payloads[:, cell // 8] >> np.uint8(cell % 8) & 1 == 1
    return held


@features.register
def _selection_features(randomizer: SubsetSelection, cell: int, payloads: Payloads) -> Iterator[Counts]:
    yield from _subset_counts(randomizer.size, randomizer.subset_size, truth(randomizer, cell), cell, payloads)


@truth.register
def _mixture_truth(randomizer: SubsetMixture, cell: int) -> Fraction:
    weights = zip(randomizer.size_weights, randomizer.include_weights, strict=True)
    return Fraction(sum(weight * include for weight, include in weights), 1 << 2 * randomizer.bits)


@features.register
def _mixture_features(randomizer: SubsetMixture, cell: int, payloads: Payloads) -> Iterator[Counts]:
    sizes, whole = list(randomizer.subset_sizes), 1 << randomizer.bits
    held = np.searchsorted(sizes, np.unpackbits(payloads, axis=1).sum(axis=1, dtype=np.int64))
    chances = [weight / whole for weight in randomizer.size_weights]
    yield from partition(held, chances, "the size of the set", lambda at: str(sizes[at]))
    for index, (chosen, include) in enumerate(zip(sizes, randomizer.include_weights, strict=True)):
        yield from _subset_counts(randomizer.size, chosen, Fraction(include, whole), cell, payloads[held == index])


def _subset_counts(size: int, chosen: int, include: Fraction, cell: int, payloads: Payloads) -> Iterator[Counts]:
    """Sets of one size: whether they hold the value, each other value, and how the others lie."""
    bits = np.unpackbits(payloads, axis=1, bitorder="little")[:, :size]
    own = bits[:, cell] == 1
    yield from share(own, float(include), f"a set of {chosen} with the value")
    chances = np.full(size, float((include * (chosen - 1) + (1 - include) * chosen) / (size - 1)))
    chances[cell] = float(include)
    yield Counts(len(bits), bits.sum(axis=0, dtype=np.int64), chances, lambda at: f"a set of {chosen} held value {at}")
    # Values in a row, or one half of them, would keep every single share: the number in one half would not.
    others = np.delete(bits, cell, axis=1)
    half = others[:, : (size - 1) // 2].sum(axis=1, dtype=np.int64)
    for holds, left in ((True, chosen - 1), (False, chosen)):
        law = hypergeom(size - 1, (size - 1) // 2, left).pmf(np.arange(left + 1)).tolist()
        of = f"among the first half of the others, a set of {chosen} {'with' if holds else 'without'} the value"
        yield from partition(half[own == holds], law, of, lambda held: f"{held} members")


@truth.register
def _direction_truth(randomizer: SeededDirection, cell: int) -> Fraction:
    return Fraction(int(ndarray(randomizer.keep_weights)[cell]), 1 << randomizer.bits)


@tells_truth.register
def _direction_tells(randomizer: SeededDirection, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    return np.asarray(sides_of(randomizer, cell, payloads) == (payloads[:, SEED_BYTES] == 1))


def sides_of(randomizer: SeededDirection, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether the direction of each payload's seed is on the side of the type's vector."""
    return np.asarray(_products(randomizer, [cell], payloads)[:, 0] >= 0)


def _products(randomizer: SeededDirection, types: Sequence[int], payloads: Payloads) -> NDArray[Any]:
    """(n, types) ⟨g, vector⟩ of each report's direction and each type, exact."""
    vectors = ndarray(randomizer.vectors)[list(types)].astype(np.int64)
    is_exact = int(np.abs(vectors).sum(axis=1).max()) * MOST_ATOM < _EXACT
    columns = vectors.T.astype(np.float64 if is_exact else np.int64)
    batch = max(1, _BATCH_ENTRIES // len(columns))
    found: list[NDArray[Any]] = [np.zeros((0, len(types)), columns.dtype)]
    for at in range(0, len(payloads), batch):
        drawn = directions(payloads[at : at + batch, :SEED_BYTES], len(columns))
        found.append(drawn.astype(columns.dtype) @ columns)
    return np.concatenate(found)


@features.register
def _direction_features(randomizer: SeededDirection, cell: int, payloads: Payloads) -> Iterator[Counts]:
    side, keep = sides_of(randomizer, cell, payloads), float(truth(randomizer, cell))
    kept = side == (payloads[:, SEED_BYTES] == 1)
    for positive, name in ((True, "≥ 0"), (False, "< 0")):
        yield from share(kept[side == positive], keep, f"with its true bit where ⟨g, vector⟩ {name}")
    yield from public_seed_counts(randomizer, cell, payloads)


def public_seed_counts(randomizer: SeededDirection, cell: int, payloads: Payloads) -> Iterator[Counts]:
    """The sides of a type and of others, which are fair; the bits of the seeds, and whether one came again."""
    types = types_looked_at(randomizer.size, cell, _MOST_TYPES)
    yield from _fair_sides(randomizer, types, _products(randomizer, types, payloads))
    seeds = np.ascontiguousarray(payloads[:, :SEED_BYTES])
    bits = np.unpackbits(seeds, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    yield Counts(len(seeds), bits, np.full(len(bits), 0.5), lambda bit: f"bit {bit % 8} of seed byte {bit // 8} was 1")
    repeated = len(seeds) - len(np.unique(seeds, axis=0))
    # A seed equals one of n before it with chance n/2^128 at most.
    yield Counts(len(seeds), np.array([repeated]), np.array([len(seeds) / 2.0**128]), lambda _: "a seed came again")


def _fair_sides(randomizer: SeededDirection, types: list[int], products: NDArray[Any]) -> Iterator[Counts]:
    """A seed is drawn before anything is looked at: no type's vector has a side that comes more often.

    The law of g is that of −g, so that a product that is not 0 is above 0 with chance ½. One that is 0 takes one atom
    of the last coordinate that counts, given the others.
    """
    ties = np.count_nonzero(products == 0, axis=0).astype(np.int64)
    above = np.count_nonzero(products > 0, axis=0).astype(np.int64)
    half, what = np.full(len(types), 0.5), [f"⟨g, vector of type {each}⟩ was" for each in types]
    yield Counts(len(products) - ties, above, half, lambda at: f"{what[at]} above 0, not below,")
    has_side = np.any(ndarray(randomizer.vectors)[types] != 0, axis=1)
    bounds = np.where(has_side, likeliest_atom(), 1.0)
    yield BoundedCounts(len(products), ties, bounds, lambda at: f"{what[at]} 0")


@truth.register
def _orbit_truth(randomizer: OrbitKernel, cell: int) -> Fraction:
    chances = (
        Fraction(weight * _mass_inside(randomizer, row), _mass(randomizer, row)) for weight, row in _rows(randomizer)
    )
    return sum(chances, Fraction(0)) / (1 << randomizer.bits)


def _rows(randomizer: OrbitKernel) -> Iterator[tuple[int, BaseRow]]:
    return zip(randomizer.row_weights, randomizer.rows, strict=True)


def _mass_inside(randomizer: OrbitKernel, row: BaseRow) -> int:
    return sum(map(int.bit_count, row.members.data)) * randomizer.high


def _mass(randomizer: OrbitKernel, row: BaseRow) -> int:
    members = sum(map(int.bit_count, row.members.data))
    return members * randomizer.high + (math.prod(row.shape) - members) * randomizer.low


@tells_truth.register
def _orbit_tells(randomizer: OrbitKernel, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    found = np.zeros(len(payloads), dtype=np.bool_)
    for number, row in enumerate(randomizer.rows):
        mine = payloads[:, 0] == number
        found[mine] = _members(row)[_drawn(randomizer, row, cell, payloads[mine])]
    return found


@features.register
def _orbit_features(randomizer: OrbitKernel, cell: int, payloads: Payloads) -> Iterator[Counts]:
    """The row; the attribute of each slot; the cell z that the shift and the value give back."""
    yield from share(_orbit_tells(randomizer, cell, payloads), float(truth(randomizer, cell)), "in favour of the value")
    chances = [weight / 2**randomizer.bits for weight in randomizer.row_weights]
    yield from partition(payloads[:, 0].astype(np.int64), chances, "the row", str)
    for number, row in enumerate(randomizer.rows):
        mine = payloads[payloads[:, 0] == number]
        for slot, taken in enumerate(slot_places(randomizer, row)):
            places = np.array(taken)
            uniform = np.full(len(places), 1 / len(places)).tolist()
            where = np.searchsorted(places, mine[:, 1 + slot])
            yield from partition(where, uniform, f"the attribute of slot {slot} of row {number}", _named(places))
        levels = np.where(_members(row), float(randomizer.high), float(randomizer.low)) / _mass(randomizer, row)
        yield from partition(_drawn(randomizer, row, cell, mine), levels.tolist(), f"the cell of row {number}", str)


def _named(places: NDArray[np.int64]) -> Callable[[int], str]:
    return lambda at: str(places[at])


def _members(row: BaseRow) -> NDArray[np.bool_]:
    cells = math.prod(row.shape)
    return np.array([row.members.data[z // 8] >> z % 8 & 1 for z in range(cells)], dtype=np.bool_)


def _drawn(randomizer: OrbitKernel, row: BaseRow, cell: int, payloads: Payloads) -> NDArray[np.int64]:
    """(n,) the cell z = value − shift, slot by slot modulo the sizes."""
    values = np.array(digits(cell, randomizer.shape), dtype=np.int64)[payloads[:, 1 : 1 + len(row.shape)]]
    shifts = np.stack(np.unravel_index(_indices(payloads[:, -2:]), row.shape), axis=1)
    cells = (values - shifts) % np.array(row.shape)
    return np.asarray(np.ravel_multi_index(tuple(cells.T), row.shape), dtype=np.int64)


@truth.register
def _coarsened_truth(randomizer: Coarsened, cell: int) -> Fraction:
    return member_chance(randomizer)


@tells_truth.register
def _coarsened_tells(randomizer: Coarsened, cell: int, payloads: Payloads) -> NDArray[np.bool_]:
    return favours_value(randomizer, read_reports(randomizer, digits(cell, randomizer.sizes), payloads))


@features.register
def _coarsened_features(randomizer: Coarsened, cell: int, payloads: Payloads) -> Iterator[Counts]:
    yield from coarsened_counts(randomizer, digits(cell, randomizer.sizes), payloads)


@truth.register
def _pair_truth(randomizer: Pair, cell: int) -> Fraction:
    """Of the two the one that is nearer to a fair coin, which needs the most reports."""
    return min(
        truth(randomizer.first, cell), truth(randomizer.second, cell), key=lambda chance: abs(chance - Fraction(1, 2))
    )


@features.register
def _pair_features(randomizer: Pair, cell: int, payloads: Payloads) -> Iterator[Counts]:
    """Those of either part, and whether the two are independent."""
    width = randomizer.first.payload_bytes
    parts = (randomizer.first, payloads[:, :width]), (randomizer.second, payloads[:, width:])
    for part, columns in parts:
        yield from features(part, cell, columns)
    first, second = (tells_truth(part, cell, columns) for part, columns in parts)
    one, two = (float(truth(part, cell)) for part, _ in parts)
    chances = [(1 - one) * (1 - two), (1 - one) * two, one * (1 - two), one * two]
    names = ("for neither part", "for the second part only", "for the first part only", "for both parts")
    yield from partition(2 * first + second, chances, "the truth told", lambda event: names[event])
    if width == randomizer.second.payload_bytes == SEED_BYTES + 1:
        same = (payloads[:, :SEED_BYTES] == payloads[:, width : width + SEED_BYTES]).all(axis=1)
        yield Counts(len(same), np.array([same.sum()]), np.array([2.0**-128]), lambda _: "both parts had one seed")


def _indices(payloads: Payloads) -> NDArray[np.int64]:
    """(n,) little-endian indices."""
    weights = 256 ** np.arange(payloads.shape[1], dtype=np.int64)
    indices: NDArray[np.int64] = payloads.astype(np.int64) @ weights
    return indices
