"""Counts over the payloads of one value of a device part: those of its randomizer, or of a mixture where it dithers.

A dithered value becomes one of a few types, and the payload is drawn as for the type: each count's chance is the
mixture of the types' chances. Where the chance hangs on what the payload makes public, as the side of a direction does,
reports are counted apart by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.conformance.counts import MOST_LISTED, Counts, partition, share
from sordino_analysis.conformance.dithering import Types, types_of
from sordino_analysis.conformance.enumeration import digits, kernel_weights, payload_count, payload_law
from sordino_analysis.conformance.features import (
    SEED_BYTES,
    Payloads,
    all_counts,
    favoured_outputs,
    listed_counts,
    public_seed_counts,
    sides_of,
    tells_truth,
    truth,
)
from sordino_analysis.vectorized.arrays import ndarray
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import (
    Dithered,
    FiniteKernel,
    OrbitKernel,
    Pair,
    RandomizedResponse,
    Randomizer,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)

Law = dict[bytes, Fraction]
# Whether an event happened for each report (n,), and its chance (n, types) for each type that the value may become.
Event = tuple[NDArray[np.bool_], NDArray[np.float64]]


def counts_of(part: DevicePart, cell: int, payloads: Payloads) -> list[Counts]:
    """Every count of the payloads (n, width) of one value that is held against the law of the part."""
    if not isinstance(part.randomizer, Dithered):
        return all_counts(part.randomizer, cell, payloads)
    types = _types(part, part.randomizer, cell)
    return [*_listed(part.randomizer, types, payloads), *_mixed(part.randomizer.inner, types, payloads)]


def truth_of(part: DevicePart, cell: int) -> Fraction:
    """The probability of the most informative event of a value; of a dithered one that in favour of its likeliest type.

    Raises InvalidValue for a randomizer without a test.
    """
    if not isinstance(part.randomizer, Dithered):
        return truth(part.randomizer, cell)
    types = _types(part, part.randomizer, cell)
    return _mixed_truth(part.randomizer.inner, types)


def part_law(part: DevicePart, cell: int) -> Law:
    """Every payload of a value with its chance; raises `InvalidValue` where payloads begin with a seed."""
    if not isinstance(part.randomizer, Dithered):
        return dict(payload_law(part.randomizer, cell))
    return _mixture(part.randomizer.inner, _types(part, part.randomizer, cell))


def _types(part: DevicePart, randomizer: Dithered, cell: int) -> Types:
    return types_of(randomizer, digits(cell, part.domain.shape), part.domain.shape)


def _mixture(inner: Randomizer, types: Types) -> Law:
    law: Law = {}
    for number, chance in types:
        for payload, own in payload_law(inner, number):
            law[payload] = law.get(payload, Fraction(0)) + chance * own
    return law


def _listed(randomizer: Dithered, types: Types, payloads: Payloads) -> list[Counts]:
    count = payload_count(randomizer)
    return [] if count is None or count > MOST_LISTED else listed_counts(_mixture(randomizer.inner, types), payloads)


def _mixed_truth(inner: Randomizer, types: Types) -> Fraction:
    if isinstance(inner, Pair):
        parts = (_mixed_truth(inner.first, types), _mixed_truth(inner.second, types))
        return min(parts, key=lambda chance: abs(chance - Fraction(1, 2)))
    own = types[0][0]
    if isinstance(inner, SeededDirection):
        # Where all of the types have one side, which is when the bit tells most.
        return sum((chance * truth(inner, each) for each, chance in types), Fraction(0))
    return sum((chance * favouring(inner, own, each) for each, chance in types), Fraction(0))


def _mixed(inner: Randomizer, types: Types, payloads: Payloads) -> Iterator[Counts]:
    weights = np.array([float(chance) for _, chance in types])
    if not isinstance(inner, Pair):
        yield from _public(inner, types, payloads)
        yield from _shares(*_event(inner, types, payloads), weights)
        return
    width = inner.first.payload_bytes
    parts = (inner.first, payloads[:, :width]), (inner.second, payloads[:, width:])
    for part, columns in parts:
        yield from _mixed(part, types, columns)
    # Both parts are drawn for one type: their events are independent given the type, not otherwise.
    (one, first), (two, second) = (_event(part, types, columns) for part, columns in parts)
    four = [(1 - first) * (1 - second), (1 - first) * second, first * (1 - second), first * second]
    names = ("for neither part", "for the second part only", "for the first part only", "for both parts")
    for alike in _groups(np.hstack([first, second])):
        chances = [float(weights @ chance[alike][0]) for chance in four]
        outcomes = 2 * one[alike].astype(np.int64) + two[alike]
        yield from partition(outcomes, chances, "the truth told", lambda event: names[event])


def _shares(
    happened: NDArray[np.bool_], chances: NDArray[np.float64], weights: NDArray[np.float64]
) -> Iterator[Counts]:
    """How often the event happened, among the reports with the same chances."""
    for alike in _groups(chances):
        chance = float(weights @ chances[alike][0])
        yield from share(happened[alike], chance, "in favour of the likeliest type")


def _groups(chances: NDArray[np.float64]) -> Iterator[NDArray[np.intp]]:
    """Indices of the reports of each different row of chances (n, m)."""
    _, kinds = np.unique(chances, axis=0, return_inverse=True)
    for kind in range(int(kinds.max(initial=-1)) + 1):
        yield np.flatnonzero(kinds.ravel() == kind)


def _public(inner: Randomizer, types: Types, payloads: Payloads) -> Iterator[Counts]:
    """What is drawn before the value is looked at: seeds."""
    if isinstance(inner, SeededDirection):
        yield from public_seed_counts(inner, types[0][0], payloads)


def _event(inner: Randomizer, types: Types, payloads: Payloads) -> Event:
    """The event in favour of the likeliest type; of directions that the bit is the side of this type."""
    own = types[0][0]
    happened = tells_truth(inner, own, payloads)
    if not isinstance(inner, SeededDirection):
        chances = np.array([float(favouring(inner, own, each)) for each, _ in types])
        return happened, np.broadcast_to(chances, (len(payloads), len(types)))
    sides = np.stack([sides_of(inner, each, payloads[:, :SEED_BYTES]) for each, _ in types], axis=1)
    keep = np.array([int(ndarray(inner.keep_weights)[each]) / 2.0**inner.bits for each, _ in types])
    return happened, np.where(sides == sides[:, :1], keep, 1 - keep)


@singledispatch
def favouring(inner: Randomizer, own: int, cell: int) -> Fraction:
    """The chance that a report of the type `cell` is in favour of the type `own`; raises InvalidValue where unknown."""
    raise InvalidValue(f"a randomizer {type(inner).__name__} of two types is not known", inner)


@favouring.register
def _of_response(inner: RandomizedResponse, own: int, cell: int) -> Fraction:
    return truth(inner, own) if cell == own else Fraction(inner.other_weight, 1 << inner.bits)


@favouring.register
def _of_selection(inner: SubsetSelection, own: int, cell: int) -> Fraction:
    return _held(inner.size, inner.subset_size, Fraction(inner.include_weight, 1 << inner.bits), own == cell)


@favouring.register
def _of_mixture(inner: SubsetMixture, own: int, cell: int) -> Fraction:
    whole = 1 << inner.bits
    sizes = zip(inner.subset_sizes, inner.size_weights, inner.include_weights, strict=True)
    held = (
        Fraction(weight, whole) * _held(inner.size, chosen, Fraction(include, whole), own == cell)
        for chosen, weight, include in sizes
    )
    return sum(held, Fraction(0))


def _held(size: int, chosen: int, include: Fraction, is_own: bool) -> Fraction:
    """The chance that a set holds the device's own type, or another one."""
    return include if is_own else (include * (chosen - 1) + (1 - include) * chosen) / (size - 1)


@favouring.register
def _of_kernel(inner: FiniteKernel, own: int, cell: int) -> Fraction:
    favours = zip(kernel_weights(inner, cell), favoured_outputs(inner, own), strict=True)
    return Fraction(sum(weight for weight, is_favoured in favours if is_favoured), 1 << inner.bits)


@favouring.register
def _of_orbit(inner: OrbitKernel, own: int, cell: int) -> Fraction:
    count = payload_count(inner)
    if count is None or count > MOST_LISTED:
        raise InvalidValue(f"a dithered orbit kernel of {count} payloads has too many to test: at most {MOST_LISTED}")
    law = dict(payload_law(inner, cell))
    payloads = np.array([list(payload) for payload in law], dtype=np.uint8)
    favours = tells_truth(inner, own, payloads).tolist()
    return sum((chance for chance, is_favoured in zip(law.values(), favours, strict=True) if is_favoured), Fraction(0))
