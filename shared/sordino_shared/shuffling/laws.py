"""The loss of each randomizer, or one that is no easier to hide: what a claim of (ε, δ) is proved with.

The blanket of tables and sets is drawn as devices draw, of a uniform type; that of labels, shifts and directions has
the public part as a device draws it, and a uniform output.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

from sordino_shared._records import dataclass
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
from sordino_shared.randomizers.coarsened import Label, Level
from sordino_shared.shuffling.envelope import envelope
from sordino_shared.shuffling.profile import LossLaw

# A shuffler computes the envelope of a table in this many steps, types² times outputs: half a minute. The overlaps of
# shifts take as many at most, all levels together, so that no manifest holds a device or a shuffler for longer.
MAX_STEPS = 1 << 26

BlanketLaw = Literal["types", "outputs"]


@dataclass(frozen=True)
class TwoLevels:
    """Outputs of a uniform blanket of which a share is `ratio` times as likely as the others for any value.

    `overlap` is the share that is high for both of two values, at its least over pairs: moving mass into it makes
    E[(L − t)₊] smaller for every t, so the least one is the pair that is hardest to hide.
    """

    ratio: float
    share: float
    overlap: float

    def __post_init__(self) -> None:
        least = max(0.0, 2 * self.share - 1)
        if not (self.ratio > 1 and 0 < self.share < 1 and least - 1e-12 <= self.overlap <= self.share):
            raise InvalidValue("two levels need a ratio above 1, a share below 1 and an overlap that fits it", self)

    @property
    def levels(self) -> tuple[float, float]:
        """(high, low), the likelihoods relative to the blanket."""
        total = self.ratio * self.share + 1 - self.share
        return self.ratio / total, 1 / total

    def losses(self, power: float) -> list[tuple[float, float]]:
        """(value, chance) of the four kinds of report at `power` = e^ε; kinds of no chance are left out."""
        high, low = self.levels
        apart = self.share - self.overlap
        kinds = (
            (high - power * low, apart),
            (low - power * high, apart),
            (high * (1 - power), self.overlap),
            (low * (1 - power), 1 - 2 * self.share + self.overlap),
        )
        return [(value, chance) for value, chance in kinds if chance > 0]


def of_set(size: int, subset: int, ratio: float) -> TwoLevels:
    """Sets of `subset` of `size` members: a set with the value is `ratio` times as likely as one without it.

    With one member it is randomized response. Two values are both in a share s(s − 1)/(k(k − 1)) of the sets.
    """
    return TwoLevels(ratio, subset / size, subset * (subset - 1) / (size * (size - 1)))


def of_random_labels(members: int, labels: int, ratio: float) -> TwoLevels:
    """Labels of which those of two values are independent (`linear`, `field`): both are members with chance w²."""
    share = members / labels
    return TwoLevels(ratio, share, share * share)


def mixture(parts: Iterable[tuple[float, TwoLevels]], power: float) -> LossLaw:
    """The loss where the report says which part it is of; `parts` are (chance, levels), the chances summing to 1.

    Raises:
        InvalidValue: the chances do not sum to 1.
    """
    losses = [(value, chance * part) for chance, levels in parts for value, part in levels.losses(power)]
    if not math.isclose(math.fsum(chance for _, chance in losses), 1, abs_tol=1e-9):
        raise InvalidValue("the chances of a mixture do not sum to 1", losses)
    return losses


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
            found = _of_levels(randomizer.levels, _ratio(randomizer))
            for level in randomizer.levels:
                yield level.chance / total, found[level.label, level.members]
        case OrbitKernel():
            for weight, row in zip(randomizer.row_weights, randomizer.rows, strict=True):
                members = int.from_bytes(row.members.data, "little")
                yield weight / (1 << randomizer.bits), _of_shifts(members, row.shape, _ratio(randomizer))


def _of_levels(levels: Sequence[Level], ratio: float) -> dict[tuple[Label, bytes], TwoLevels]:
    """What is the same for all levels of one label and one set; raises InvalidValue where all take too many steps."""
    kinds = dict.fromkeys((level.label, level.members) for level in levels)
    steps = sum(overlap_steps(_axes(label.moduli)) for label, _ in kinds if isinstance(label, ResidueLabel))
    if steps > MAX_STEPS:
        raise InvalidValue(f"shifts of {len(kinds)} sets are too many for a proof of their blanket", len(kinds))
    return {(label, members): _of_level(label, members, ratio) for label, members in kinds}


def _of_level(label: Label, content: bytes, ratio: float) -> TwoLevels:
    """As if the partition never joined two values: joined values are told apart by nothing."""
    members = int.from_bytes(content, "little")
    if isinstance(label, ResidueLabel):
        return _of_shifts(members, label.moduli, ratio)
    return of_random_labels(members.bit_count(), label.count, ratio)


def _axes(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size > 1)


def _of_shifts(members: int, shape: tuple[int, ...], ratio: float) -> TwoLevels:
    """Shifts of a value's cell by a member of the set: two values share the least over all differences."""
    axes = _axes(shape)
    cells = math.prod(axes)
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


def overlap_steps(shape: Sequence[int]) -> int:
    """The cells times the sum of `shape`, or the square of the cells over 64 for one axis."""
    cells = math.prod(shape)
    return cells**2 // 64 if len(shape) == 1 else cells * sum(shape)


def least_overlap(members: int, shape: Sequence[int]) -> int:
    """min over d ≠ 0 of |S ∩ (S + d)|; bit c of `members` is 1 where cell c, numbered row by row, is in S.

    Cells are those of a product of cyclic groups. The number of cells that S shares with its shift is its
    autocorrelation, the inverse transform of |F|² of its indicator.
    The cost grows with `overlap_steps`. Raises InvalidValue where these are more than 2^26.
    """
    cells = math.prod(shape)
    if overlap_steps(shape) > MAX_STEPS:
        raise InvalidValue(f"shifts of {cells} cells are too many for a proof of their blanket", cells)
    if len(shape) == 1:
        whole = (1 << cells) - 1
        shifts = ((members << d | members >> (cells - d)) & whole for d in range(1, cells))
        return min((members & shift).bit_count() for shift in shifts)
    indicator = [complex(members >> cell & 1) for cell in range(cells)]
    powers = [complex(abs(wave) ** 2) for wave in _transform(indicator, shape)]
    # Counts are whole, and rounding is far below one half; the transform of a real even function is its inverse.
    return min(round(count.real / cells) for count in _transform(powers, shape)[1:])


def _transform(points: list[complex], shape: Sequence[int]) -> list[complex]:
    """The Fourier transform along every axis, each by its definition: axes are short."""
    stride = len(points)
    for size in shape:
        stride //= size
        roots = [cmath.exp(-2j * math.pi * k / size) for k in range(size)]
        result = [0j] * len(points)
        for start in range(0, len(points), stride * size):
            for inner in range(start, start + stride):
                line = points[inner : inner + stride * size : stride]
                result[inner : inner + stride * size : stride] = [
                    sum(point * roots[j * k % size] for j, point in enumerate(line)) for k in range(size)
                ]
        points = result
    return points
