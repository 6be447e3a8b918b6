"""Measures of numbers of one estimate less those of another: means, sums, deviations and shares, of all or a category.

A measure that is no linear query, as a standard deviation, has an interval of its own on each side. The interval of the
difference recovers both errors from their ends (Zou and Donner 2008).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.answers.columns import Cell, named
from sordino_analysis.arrays import Floats
from sordino_analysis.comparisons.difference import (
    DIFFERENT_PEOPLE,
    Difference,
    Side,
    Verdict,
    check_sides,
    difference,
    verdict_of,
)
from sordino_analysis.comparisons.matching import NotComparable, check_same_domain, common_labels
from sordino_analysis.comparisons.parts import MeasureCells, MeasuredSide
from sordino_analysis.estimation.normality import Normality
from sordino_shared.quantities import quantity

# What a row says of its measure, besides the bounds of its attributes.
_ABOUT = ("kind", "label", "unit")


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuresDifference:
    """Right less left of Q measures that both answer; all arrays are (Q,) or (Q, 2), in the measure's own unit.

    `about` has kind, label, unit and bounds of each. With `population` the band is about the populations.
    """

    about: Sequence[MeasureCells]
    left: Floats
    right: Floats
    standard_error: Floats
    interval: Floats
    band: Floats
    population_standard_error: Floats | None
    population_interval: Floats | None
    users: int
    level: float
    bias_bound: float
    warnings: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        """Names of the Q measures."""
        return [str(each["label"]) for each in self.about]

    @cached_property
    def value(self) -> Floats:
        """(Q,) unbiased, right less left."""
        return np.asarray(self.right - self.left)

    @property
    def verdict(self) -> tuple[Verdict, ...]:
        """(Q,) whether the right measure is surely higher or lower, by the band."""
        return tuple(verdict_of(low, high) for low, high in self.band.tolist())

    @property
    def normality(self) -> tuple[Normality | None, ...]:
        """(Q,) None: how often recovered intervals hold is not worked out for each estimate."""
        return (None,) * len(self.about)

    @property
    def described(self) -> dict[str, Sequence[Cell]]:
        """What the rows are about, as columns."""
        names = dict.fromkeys(name for each in self.about for name in each)
        return {name: [each.get(name) for each in self.about] for name in names}


AnyDifference = Difference | MeasuresDifference


def compared(left: Side, right: Side, *, only: Sequence[str] | None = None, population: bool = False) -> AnyDifference:
    """Right less left: of measures of numbers where both sides ask them, else of queries as `difference` has it."""
    if left.measures is None or right.measures is None:
        return difference(left, right, only=only, population=population)
    check_sides(left, right)
    return measures_difference(left.measures, right.measures, left.level, only=only, population=population)


def measures_difference(
    left: MeasuredSide,
    right: MeasuredSide,
    level: float,
    *,
    only: Sequence[str] | None = None,
    population: bool = False,
) -> MeasuresDifference:
    """Right less left of the measures that both sides ask, `only` those with these labels.

    The band holds all of them at once by Bonferroni's inequality, however their errors depend; where it is too wide for
    ends of its own, as of a small category, it ends where the measure's numbers do. A measure that has no
    number on one side, as a mean of a category that may be empty, is left out with a warning. Raises NotComparable for
    another domain, for a label that a side does not ask, and where no measure is left.
    """
    check_same_domain(left.domain, right.domain)
    ours, theirs = (_by_label(side.at(level)) for side in (left, right))
    labels = common_labels((ours, theirs), only)
    banded = 1 - (1 - level) / len(labels)
    wide = [_with_ends(side, _by_label(side.at(banded))) for side in (left, right)]
    told = [label for label in labels if _has_number(ours[label]) and _has_number(theirs[label])]
    warnings = [*_left_out(labels, told, ours, theirs), *_unasked(ours, theirs, only)]
    if not told:
        raise NotComparable(warnings[0], tuple(labels))
    sides = [[rows[label] for label in told] for rows in (ours, theirs, *wide)]
    values = [_numbers(rows, "uncut") for rows in sides[:2]]
    whom = "population_" if population else ""
    reporters = [_numbers(rows, "standard_error") for rows in sides[:2]]
    populations = [_numbers(rows, "population_standard_error") for rows in sides[:2]]
    return MeasuresDifference(
        about=[_about(row) for row in sides[0]],
        left=values[0],
        right=values[1],
        standard_error=np.hypot(*reporters),
        interval=_recovered(values, sides[:2], ""),
        band=_recovered(values, sides[2:], whom),
        population_standard_error=np.hypot(*populations) if population else None,
        population_interval=_recovered(values, sides[:2], "population_") if population else None,
        users=left.users + right.users,
        level=level,
        bias_bound=left.bias + right.bias,
        warnings=(*warnings, *([DIFFERENT_PEOPLE] if population else [])),
    )


def _recovered(values: Sequence[Floats], rows: Sequence[Sequence[MeasureCells]], whom: str) -> Floats:
    """(Q, 2) r − l ∓ √((r − its end)² + (l − its other end)²), of the ends at the rows' level."""
    (left, right), ends = values, [(_numbers(each, f"{whom}lower"), _numbers(each, f"{whom}upper")) for each in rows]
    # An end that was cut to what is possible may be past the unbiased answer.
    below = [np.maximum(value - low, 0.0) for value, (low, _) in zip(values, ends, strict=True)]
    above = [np.maximum(high - value, 0.0) for value, (_, high) in zip(values, ends, strict=True)]
    value = right - left
    return np.column_stack([value - np.hypot(below[1], above[0]), value + np.hypot(above[1], below[0])])


def _with_ends(side: MeasuredSide, rows: Mapping[str, MeasureCells]) -> Mapping[str, MeasureCells]:
    """The rows at a higher level, where one that no longer tells its category from nobody may be any number."""
    return {
        label: row if _has_number(row) or label not in side.reaches else {**row, **_any_number(side.reaches[label])}
        for label, row in rows.items()
    }


def _any_number(reach: tuple[float, float]) -> MeasureCells:
    names = (f"{whom}{end}" for whom in ("", "population_") for end in ("lower", "upper"))
    return dict(zip(names, reach * 2, strict=True))


def _by_label(rows: Sequence[MeasureCells]) -> dict[str, MeasureCells]:
    return {str(row["label"]): row for row in rows}


def _has_number(row: MeasureCells) -> bool:
    cell = row.get("uncut")
    return isinstance(cell, int | float) and math.isfinite(cell)


def _numbers(rows: Sequence[MeasureCells], name: str) -> Floats:
    return np.array([row[name] for row in rows], dtype=float)


def _about(row: MeasureCells) -> MeasureCells:
    return {name: cell for name, cell in row.items() if name in _ABOUT or named(name) is None}


def _left_out(
    labels: Sequence[str], told: Sequence[str], ours: Mapping[str, MeasureCells], theirs: Mapping[str, MeasureCells]
) -> list[str]:
    """Why measures that both ask are not compared, a sentence each."""
    said = []
    for label in labels:
        if label not in told:
            side, row = ("left", ours[label]) if not _has_number(ours[label]) else ("right", theirs[label])
            reason = row.get("sentence") or "it is a range and no number, whose shift is asked alone"
            said.append(f"not compared: {label}: {reason}, on the {side} side")
    return said


def _unasked(
    ours: Mapping[str, MeasureCells], theirs: Mapping[str, MeasureCells], only: Sequence[str] | None
) -> list[str]:
    """How many measures one side alone asks."""
    if only is not None:
        return []
    counts = (("left", len(ours.keys() - theirs.keys())), ("right", len(theirs.keys() - ours.keys())))
    return [
        f"{quantity(count, 'measure')} of the {side} side are not asked on the other and are left out"
        for side, count in counts
        if count
    ]
