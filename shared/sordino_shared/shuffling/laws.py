"""The loss of each randomizer, or one that is no easier to hide: what a claim of (ε, δ) is proved with.

The blanket of tables and sets is drawn as devices draw, of a uniform type; that of labels, shifts and directions has
the public part as a device draws it, and a uniform output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import (
    AnyRandomizer,
    Coarsened,
    Dithered,
    FiniteKernel,
    OrbitKernel,
    RandomizedResponse,
    ResidueLabel,
    SeededDirection,
    SubsetMixture,
    SubsetSelection,
)
from sordino_shared.randomizers.coarsened import Level
from sordino_shared.shuffling.envelope import envelope
from sordino_shared.shuffling.kinds import TwoLevels, mixture, of_random_labels, of_set
from sordino_shared.shuffling.overlaps import least_overlap
from sordino_shared.shuffling.profile import LossLaw

# A shuffler computes the envelope of a table in this many steps, types² times outputs: half a minute.
MAX_STEPS = 1 << 26

BlanketLaw = Literal["types", "outputs"]


def blanket_law(randomizer: AnyRandomizer) -> BlanketLaw:
    """How a report of the blanket is drawn: of a uniform type, or as a uniform output."""
    if isinstance(randomizer, Dithered):
        return blanket_law(randomizer.inner)
    drawn = (RandomizedResponse, SubsetSelection, SubsetMixture, FiniteKernel)
    return "types" if isinstance(randomizer, drawn) else "outputs"


def is_closed_form(randomizer: AnyRandomizer) -> bool:
    """Whether the loss takes some milliseconds: that of a table takes up to half a minute, dithered or not."""
    return not isinstance(randomizer.inner if isinstance(randomizer, Dithered) else randomizer, FiniteKernel)


def loss_of(randomizer: AnyRandomizer, power: float) -> LossLaw:
    """A law of the loss at `power` = e^ε that is no easier to hide than that of any two values.

    Raises:
        InvalidValue: the randomizer has no ε, is one for pairs, or has a table of more than 2^26 types² · outputs.
    """
    match randomizer:
        case FiniteKernel():
            return envelope(_columns(randomizer), power)
        case RandomizedResponse() | SubsetSelection() | SubsetMixture() | Coarsened() | OrbitKernel():
            return mixture(_parts(randomizer), power)
        case SeededDirection():
            # As if every seed told any two values apart.
            return TwoLevels(_ratio(randomizer), 0.5, 0.0).losses(power)
        case Dithered():
            # Laws of values are mixtures of the types', and δ is convex in both laws: some two types are hidden least.
            return loss_of(randomizer.inner, power)
        case _:
            raise InvalidValue(
                f"reports of kind {randomizer.kind!r} have no blanket: ask one linear question", randomizer
            )


def _ratio(randomizer: AnyRandomizer) -> float:
    ratio = randomizer.likelihood_ratio()
    if ratio is None:
        raise InvalidValue("some report is possible for one value only: it has no ε", randomizer)
    return float(Fraction(*ratio))


def _parts(
    randomizer: RandomizedResponse | SubsetSelection | SubsetMixture | Coarsened | OrbitKernel,
) -> Iterator[tuple[float, TwoLevels]]:
    """(chance, levels) of each public choice that a device makes before it looks at its value."""
    match randomizer:
        case RandomizedResponse():
            yield 1.0, of_set(randomizer.size, 1, _ratio(randomizer))
        case SubsetSelection():
            yield 1.0, of_set(randomizer.size, randomizer.subset_size, _ratio(randomizer))
        case SubsetMixture():
            for weight, part in zip(randomizer.size_weights, randomizer.parts, strict=True):
                yield weight / (1 << randomizer.bits), of_set(part.size, part.subset_size, _ratio(part))
        case Coarsened():
            total = math.fsum(level.chance for level in randomizer.levels)
            for level in randomizer.levels:
                yield level.chance / total, _of_level(level, _ratio(randomizer))
        case OrbitKernel():
            for weight, row in zip(randomizer.row_weights, randomizer.rows, strict=True):
                members = int.from_bytes(row.members.data, "little")
                yield weight / (1 << randomizer.bits), _of_shifts(members, row.shape, _ratio(randomizer))


def _of_level(level: Level, ratio: float) -> TwoLevels:
    """As if the partition never joined two values: joined values are told apart by nothing."""
    members = int.from_bytes(level.members, "little")
    if isinstance(level.label, ResidueLabel):
        return _of_shifts(members, level.label.moduli, ratio)
    return of_random_labels(members.bit_count(), level.label.count, ratio)


def _of_shifts(members: int, shape: tuple[int, ...], ratio: float) -> TwoLevels:
    """Shifts of a value's cell by a member of the set: two values share the least over all differences."""
    axes = tuple(size for size in shape if size > 1)
    cells = 1
    for size in axes:
        cells *= size
    return TwoLevels(ratio, members.bit_count() / cells, least_overlap(members, axes) / cells)


def _columns(kernel: FiniteKernel) -> list[list[float]]:
    """(types, outputs) chances, the null output last where there is one."""
    outputs, whole = kernel.outputs, 1 << kernel.bits
    if kernel.size**2 * outputs > MAX_STEPS:
        raise InvalidValue(
            f"a table of {kernel.size} types and {outputs} outputs is too large for a proof of its blanket: ask for "
            "another mechanism, or for fewer types",
            kernel.size,
        )
    columns = []
    for cell in range(kernel.size):
        column = [int(entry) for entry in kernel.rows.column(cell)]
        if outputs > len(column):
            column.append(whole - sum(column))
        columns.append([entry / whole for entry in column])
    return columns
