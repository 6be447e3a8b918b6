"""The levels of a device part as grids on one line of types, from its integers."""

from __future__ import annotations

from dataclasses import replace

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.evaluation.grids.levels import GridLevel, Pair, Shape
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened, GridPartition, Level, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS


def shipped_levels(randomizer: Coarsened, factors: Floats | None = None) -> tuple[GridLevel, ...]:
    """Every level of a randomizer of one attribute, whose reports count `factors` (L,) where they are given.

    Raises InvalidValue for another randomizer, for another label, or for another number of factors.
    """
    if len(randomizer.sizes) != 1:
        raise InvalidValue("grids on one line are for one attribute", randomizer.sizes)
    levels = tuple(_shipped(level, randomizer) for level in randomizer.levels)
    if factors is None:
        return levels
    if len(factors) != len(levels):
        raise InvalidValue(f"{len(levels)} levels have {len(factors)} factors", factors)
    return tuple(replace(level, counts=factor) for level, factor in zip(levels, factors.tolist(), strict=True))


def _shipped(level: Level, randomizer: Coarsened) -> GridLevel:
    if not isinstance(level.partition, GridPartition):
        raise InvalidValue("intervals are estimated from grids, not by places of attributes", level.partition)
    return _on_a_line(level, randomizer, level.partition.widths[0])


def _on_a_line(level: Level, randomizer: Coarsened, width: int) -> GridLevel:
    hashed = isinstance(level.label, LinearLabel)
    if not hashed and not isinstance(level.label, ResidueLabel):
        raise InvalidValue("sums of cells need linear labels or residues: of others their moments are not known", level)
    hits, labels = level.density
    if not hashed and int.from_bytes(level.members, "little") != (1 << hits) - 1:
        raise InvalidValue("the members of a comb are its first residues", level.members)
    mass = hits * randomizer.high + (labels - hits) * randomizer.low
    return GridLevel(
        chance=level.chance / (1 << CHANCE_BITS),
        width=width,
        labels=labels,
        hits=hits,
        high=labels * randomizer.high / mass,
        low=labels * randomizer.low / mass,
        hashed=hashed,
    )


def shipped_category_levels(randomizer: Coarsened, axis: int) -> tuple[CategoryLevel, ...]:
    """Every level of a randomizer whose attribute at `axis` is ordered; raises InvalidValue for one of another form."""
    return tuple(_beside_categories(level, randomizer, axis) for level in randomizer.levels)


def _beside_categories(level: Level, randomizer: Coarsened, axis: int) -> CategoryLevel:
    if not isinstance(level.partition, GridPartition):
        raise InvalidValue("categories are estimated from grids, not by places of attributes", level.partition)
    widths = level.partition.widths
    others = widths[:axis] + widths[axis + 1 :]
    line = _on_a_line(level, randomizer, widths[axis] or 1)
    if max(others) > 1 or (not line.hashed and (any(others) or not widths[axis])):
        raise InvalidValue("members without an order have cells of their own, and combs leave them out", widths)
    return CategoryLevel(line=line, axis=axis, apart=tuple(map(bool, others)), whole=not widths[axis])


def shipped_plane_levels(randomizer: Coarsened) -> tuple[PlaneLevel, ...]:
    """Every level of a randomizer of two attributes; raises InvalidValue for another one, or for another label."""
    if len(randomizer.sizes) != 2:
        raise InvalidValue("grids on a plane are for two attributes", randomizer.sizes)
    return tuple(_shipped_plane(level, randomizer) for level in randomizer.levels)


def _shipped_plane(level: Level, randomizer: Coarsened) -> PlaneLevel:
    first, second = _widths(level)
    return _on_a_plane(level, randomizer, (first, second))


def _widths(level: Level) -> Shape:
    if not isinstance(level.partition, GridPartition):
        raise InvalidValue("rectangles are estimated from grids, not by places of attributes", level.partition)
    return level.partition.widths


def shipped_plane_category_levels(randomizer: Coarsened, axes: Pair) -> tuple[PlaneCategoryLevel, ...]:
    """Every level of a randomizer whose attributes at `axes` are ordered.

    Raises InvalidValue for a randomizer of another form.
    """
    return tuple(_plane_beside_categories(level, randomizer, axes) for level in randomizer.levels)


def _plane_beside_categories(level: Level, randomizer: Coarsened, axes: Pair) -> PlaneCategoryLevel:
    widths = _widths(level)
    first, second = (widths[axis] for axis in axes)
    others = [width for place, width in enumerate(widths) if place not in axes]
    plane = _on_a_plane(level, randomizer, (first, second))
    if max(others) > 1 or (plane.residues is not None and (any(others) or not (first or second))):
        raise InvalidValue("members without an order have cells of their own, and combs leave them out", widths)
    return PlaneCategoryLevel(plane=plane, axes=axes, apart=tuple(map(bool, others)))


def _on_a_plane(level: Level, randomizer: Coarsened, widths: Pair) -> PlaneLevel:
    first, second = widths
    residues = None
    if isinstance(level.label, ResidueLabel):
        moduli = iter(level.label.moduli)
        residues = (next(moduli) if first else 1, next(moduli) if second else 1)
        if int.from_bytes(level.members, "little") != 1:
            raise InvalidValue("the member of a comb on a plane is its first residue", level.members)
    elif not isinstance(level.label, LinearLabel):
        raise InvalidValue("sums of cells need linear labels or residues: of others their moments are not known", level)
    hits, labels = level.density
    mass = hits * randomizer.high + (labels - hits) * randomizer.low
    return PlaneLevel(
        chance=level.chance / (1 << CHANCE_BITS),
        widths=(first, second),
        labels=labels,
        hits=hits,
        high=labels * randomizer.high / mass,
        low=labels * randomizer.low / mass,
        residues=residues,
    )
