"""The least overlap of a set with its shifts, against counting."""

from __future__ import annotations

import itertools
import random

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened, GridPartition, Level, ResidueLabel
from sordino_shared.randomizers.coarsened.level import families_of
from sordino_shared.shuffling.laws import least_overlap, loss_of


@pytest.mark.parametrize("shape", [(2,), (7,), (64,), (2, 2, 2), (3, 4), (2, 5, 3), (16, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_counted(shape: tuple[int, ...], seed: int):
    cells = list(itertools.product(*(range(size) for size in shape)))
    chosen = set(random.Random(seed).sample(cells, max(1, len(cells) * (seed + 1) // 5)))
    members = sum(1 << place for place, cell in enumerate(cells) if cell in chosen)

    def shared(shift: tuple[int, ...]) -> int:
        moved = {tuple((c + d) % n for c, d, n in zip(cell, shift, shape, strict=True)) for cell in chosen}
        return len(chosen & moved)

    assert least_overlap(members, shape) == min(shared(shift) for shift in cells if any(shift))


def test_the_sets_of_one_part_share_one_budget() -> None:
    """A part of some hundred bytes would hold a device for minutes."""
    label, partition = ResidueLabel((256, 256)), GridPartition((1, 1))
    levels = tuple(Level(chance, partition, label, bytes([3 + at])) for at, chance in enumerate((1, 1, (1 << 32) - 2)))
    with pytest.raises(InvalidValue, match="shifts of 3 sets are too many"):
        loss_of(Coarsened((255, 255), 1, 3, families_of(levels)), 1.0)
