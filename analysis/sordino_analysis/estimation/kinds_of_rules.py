"""Rules that a symmetry of the class takes to one another, so that the errors of one of them are those of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.linear.widths import CharacterBlock, CharacterMap

# With the label; of wider rules there are thousands of images each.
_WIDEST = 5


def kinds_of_class(operator: CharacterMap) -> list[KindOfRules] | None:
    """The kinds of all rules, or None where some image of a rule is not in the class, and where rules are wide.

    Images are by turning indicators over and exchanging them; of a class such as that of rules about indicators that
    are on, by exchanging them alone.
    """
    if operator.characters.width > _WIDEST:
        return None
    for turned in (True, False):
        kinds = [kind for block in operator.blocks for kind in kinds_of_rules(block, turned=turned)]
        if all(kind.closed for kind in kinds):
            return kinds
    return None


@dataclass(frozen=True, eq=False)
class KindOfRules:
    """Numbers of rules (n,) that a symmetry takes to one another.

    `closed` says whether every rule that it takes one to is among them.
    """

    rules: Indices
    closed: bool


def kinds_of_rules(block: CharacterBlock, *, turned: bool = True) -> list[KindOfRules]:
    """The kinds in a block whose last attribute is the label; unless `turned`, indicators are exchanged alone."""
    indicators = len(block.shape) - 1
    cubes = np.round(block.values, 6).reshape(-1, *block.shape)
    members: dict[bytes, set[bytes]] = {}
    rows: dict[bytes, list[int]] = {}
    for row, cube in enumerate(cubes):
        images = {image.tobytes() for image in _images(cube, indicators, turned=turned)}
        name = min(images)
        members[name] = images
        rows.setdefault(name, []).append(row)
    return [KindOfRules(block.queries[:, own].ravel(), len(own) == len(members[name])) for name, own in rows.items()]


def _images(cube: Floats, indicators: int, *, turned: bool) -> Iterator[Floats]:
    """A rule's losses with indicators exchanged, and turned over, in every way."""
    for order in permutations(range(indicators)):
        moved = cube.transpose(*order, indicators)
        for flips in product((False, True) if turned else (False,), repeat=indicators):
            flipped = np.flip(moved, tuple(axis for axis, flip in enumerate(flips) if flip))
            yield np.ascontiguousarray(flipped)
