"""Measures of numbers of one estimate less those of another: means, sums, deviations and shares, of all or a category.

A measure that is no linear query, as a standard deviation, has an interval of its own on each side. The interval of the
difference recovers both errors from their ends (Zou and Donner 2008).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    verdict_of,
)
from sordino_analysis.comparisons.lifts import Answered, lifts
from sordino_analysis.comparisons.matching import NotComparable, check_same_domain, common_labels
from sordino_analysis.comparisons.parts import MeasureCells, MeasuredSide
from sordino_analysis.comparisons.several import differences
from sordino_analysis.estimation.normality import Normality
from sordino_shared.quantities import quantity

# What a row says of its measure, besides the bounds of its attributes.
_ABOUT = ("kind", "label", "unit")
# Of a quantile, on either side.
_IS_RANGE = "it is a range and no number, whose shift is asked alone"
Rows = Sequence[MeasureCells]


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
    lift: Floats
    lift_interval: Floats
    lift_band: Floats
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
    return compared_with(left, [right], only=only, population=population)[0]


def compared_with(
    base: Side, others: Sequence[Side], *, only: Sequence[str] | None = None, population: bool = False
) -> list[AnyDifference]:
    """Each of the `others` less the `base`, as `compared` has it; their bands hold all of them at once.

    Of queries by the exact covariance of all errors, of measures by Bonferroni's inequality.
    """
    if base.measures is None or any(each.measures is None for each in others):
        return [*differences(base, others, only=only, population=population)]
    found: list[AnyDifference] = []
    for other in others:
        check_sides(base, other)
        assert other.measures is not None
        found.append(
            measures_difference(
                base.measures, other.measures, base.level, only=only, population=population, pairs=len(others)
            )
        )
    return found


def compared_arms(base: Side, others: Sequence[Side], *, only: Sequence[str] | None = None) -> list[AnyDifference]:
    """Arms of one experiment less the `base`, as `compared_with` has it about their one population.

    A sum is over the users of an arm: where these are not as many a warning says so.
    """
    found = compared_with(base, others, only=only, population=True)
    return [replace(each, warnings=_of_arms(each, base, other)) for each, other in zip(found, others, strict=True)]


def _of_arms(found: AnyDifference, base: Side, other: Side) -> tuple[str, ...]:
    # Arms are samples of one population, whose devices each have one arm.
    kept = tuple(each for each in found.warnings if each != DIFFERENT_PEOPLE)
    if base.users == other.users or "sum" not in found.described["kind"]:
        return kept
    return (
        *kept,
        f"sums are over the users of each arm, {base.users:,} and {other.users:,}: compare means, and lifts of these",
    )


def measures_difference(
    left: MeasuredSide,
    right: MeasuredSide,
    level: float,
    *,
    only: Sequence[str] | None = None,
    population: bool = False,
    pairs: int = 1,
) -> MeasuresDifference:
    """Right less left of the measures that both sides ask, `only` those with these labels.

    The band holds all of them, in so many `pairs` of sides, at once by Bonferroni's inequality, however their errors
    depend; where it is too wide for ends of its own, as of a small category, it ends where the measure's numbers do. A
    measure that has no number on one side, as a mean of a category that may be empty, is left out with a warning.
    Raises NotComparable for another domain, for a label that a side does not ask, and where no measure is left.
    """
    check_same_domain(left.domain, right.domain)
    ours, theirs = (_by_label(side.at(level)) for side in (left, right))
    labels = common_labels((ours, theirs), only)
    banded = 1 - (1 - level) / (len(labels) * pairs)
    wide = [_with_ends(side, _by_label(side.at(banded))) for side in (left, right)]
    told = [label for label in labels if _has_number(ours[label]) and _has_number(theirs[label])]
    warnings = [*_left_out(labels, told, ours, theirs), *_unasked(ours, theirs, only)]
    if not told:
        raise NotComparable(warnings[0], tuple(labels))
    sides = [[rows[label] for label in told] for rows in (ours, theirs, *wide)]
    values, whom = (_numbers(sides[0], "uncut"), _numbers(sides[1], "uncut")), "population_" if population else ""
    levelled = [_answered(values, sides[place : place + 2], whom) for place in (0, 2)]
    interval, band = map(_recovered, levelled)
    (lift, lift_interval), (_, lift_band) = (lifts(*each) for each in levelled)
    of_population = [_numbers(rows, "population_standard_error") for rows in sides[:2]]
    return MeasuresDifference(
        about=[_about(row) for row in sides[0]],
        left=values[0],
        right=values[1],
        standard_error=np.hypot(*(_numbers(rows, "standard_error") for rows in sides[:2])),
        interval=_recovered(_answered(values, sides[:2], "")),
        band=band,
        lift=lift,
        lift_interval=lift_interval,
        lift_band=lift_band,
        population_standard_error=np.hypot(*of_population) if population else None,
        population_interval=interval if population else None,
        users=left.users + right.users,
        level=level,
        bias_bound=left.bias + right.bias,
        warnings=(*warnings, *([DIFFERENT_PEOPLE] if population else [])),
    )


def _answered(values: tuple[Floats, Floats], rows: Sequence[Rows], whom: str) -> tuple[Answered, Answered]:
    """Answers and ends of both sides; the answers of a measure are the same at every level."""
    left, right = (
        Answered(own, np.column_stack([_numbers(of_side, f"{whom}{end}") for end in ("lower", "upper")]))
        for own, of_side in zip(values, rows, strict=True)
    )
    return left, right


def _recovered(sides: tuple[Answered, Answered]) -> Floats:
    """(Q, 2) r − l ∓ √((r − its end)² + (l − its other end)²)."""
    left, right = sides
    (ours_below, ours_above), (below, above) = left.reaches, right.reaches
    value = right.values - left.values
    return np.column_stack([value - np.hypot(below, ours_above), value + np.hypot(above, ours_below)])


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


def _numbers(rows: Rows, name: str) -> Floats:
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
            reason = f"{row['sentence']}, on the {side} side" if row.get("sentence") else _IS_RANGE
            said.append(f"not compared: {label}: {reason}")
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
