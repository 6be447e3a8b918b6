"""From measures of numbers to rows over the types that devices round to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats, varying_rows
from sordino_analysis.documents.number_queries import AskedNumber, NumberMeasure, NumberQueries
from sordino_analysis.figures import SHARE, amount
from sordino_analysis.questions.linear.dithering import Dithering, even_knots
from sordino_analysis.questions.linear.factors import Factor
from sordino_analysis.questions.linear.numbers.scale import NumberScale, scale_of
from sordino_analysis.questions.linear.operators import Dense
from sordino_analysis.questions.linear.scopes import QueryScope
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Domain
from sordino_shared.randomizers.dithered import MAX_KNOTS

MEAN = "mean"
# A level for each measure that is about the numbers themselves, none for one about a threshold.
_OF_LEVELS = {"mean", "sum"}


@dataclass(frozen=True, eq=False)
class Row:
    """A linear query over the types: its `kind`, label and unit, and its `values` (types,)."""

    kind: str
    label: str
    unit: str
    values: Floats


class ScaledRows(Dense):
    """Rows of several units: the variance of each counts in squares of its own scale, its largest less least entry."""

    def query_weights(self) -> Floats:
        """(Q,) 1 over the squared scale, 1 on average over the rows that vary."""
        varying, scales = varying_rows(self.matrix), np.ptp(self.matrix, axis=1)
        weights = np.ones(len(self.matrix))
        if not varying.any():
            return weights
        weights[varying] = (scales[varying].max() / scales[varying]) ** 2
        return np.asarray(weights / weights[varying].mean())


@dataclass(frozen=True)
class ShownMeasure:
    """A measure as answers show it: the `row` of the workload that it is, or times the users of."""

    kind: str
    label: str
    row: int

    @property
    def is_sum(self) -> bool:
        """Whether the row's answer is multiplied by the number of users."""
        return self.kind == "sum"


def rows_of_numbers(domain: Domain, queries: NumberQueries) -> Factor:
    """The rows over the types, and how members become types, unless every member is one.

    Raises WorkloadError where the measures do not fit the domain.
    """
    [scale], [asked] = scales_of(domain, queries), queries.asked
    knots = knots_of(scale, asked)
    rows = list(rows_of(scale, asked, knots or range(scale.last + 1)))
    return Factor(
        ScaledRows(np.stack([row.values for row in rows])),
        lambda query: rows[query].label,
        lambda query: QueryScope(rows[query].kind, None, rows[query].unit),
        Dithering(domain, (knots,)) if knots else None,
    )


def scales_of(domain: Domain, queries: NumberQueries) -> list[NumberScale]:
    """The numbers of each attribute that is asked about; raises WorkloadError where the domain does not have them."""
    if len(domain.attributes) != 1 or len(queries.asked) != 1:
        raise WorkloadError("numbers are asked about in a domain of one attribute for now", queries)
    [asked], [attribute] = queries.asked, domain.attributes
    if asked.attribute != attribute.name:
        raise WorkloadError(f"there is no attribute {asked.attribute!r}; the domain has {attribute.name!r}", asked)
    scale = scale_of(attribute)
    if attribute.missing or attribute.other:
        raise WorkloadError(
            f"{attribute.name!r} has `missing` or `other`, and a mean of those with a number is not built yet: leave "
            "both out",
            attribute,
        )
    return [scale]


def shown_measures(domain: Domain, queries: NumberQueries) -> list[ShownMeasure]:
    """The measures in the order in which they were asked, with the rows that they come from."""
    [scale], [asked] = scales_of(domain, queries), queries.asked
    rows = list(rows_of(scale, asked, (0, scale.last)))
    places = {(row.kind, row.label): place for place, row in enumerate(rows)}
    found = []
    for measure in asked.measures:
        of_mean = measure.name in _OF_LEVELS
        kind = MEAN if of_mean else measure.name
        label = _label(scale, asked.attribute, replace(measure, name=kind))
        shown = _label(scale, asked.attribute, measure)
        found.append(ShownMeasure(measure.name, shown, places[kind, label]))
    return found


def knots_of(scale: NumberScale, asked: AskedNumber) -> tuple[int, ...]:
    """The levels and jumps of the measures; empty where each member is a type.

    Raises WorkloadError for a threshold outside the numbers, and for more knots than a device takes.
    """
    if scale.listed is not None or scale.last < asked.levels:
        return ()
    levels = asked.levels if any(measure.name in _OF_LEVELS for measure in asked.measures) else 2
    jumps = sorted({jump for measure in asked.measures for jump in _jumps(scale, measure)})
    knots = even_knots(scale.last, levels, jumps)
    if len(knots) > MAX_KNOTS:
        raise WorkloadError(f"{len(knots)} knots, at most {MAX_KNOTS} are sent to a device: ask for less", asked)
    return knots


def rows_of(scale: NumberScale, asked: AskedNumber, types: Sequence[int]) -> Iterator[Row]:
    """The linear queries that the measures need, each once, over `types`: the knots, or all members."""
    numbers = scale.numbers(types)
    if any(measure.name in _OF_LEVELS for measure in asked.measures):
        yield Row(MEAN, f"mean of {asked.attribute}", scale.unit, numbers)
    for measure in asked.measures:
        if measure.name == "share_above":
            above = _from_jump(types, scale.first_above(*measure.at))
            yield Row(measure.name, _label(scale, asked.attribute, measure), SHARE, above)


def _label(scale: NumberScale, name: str, measure: NumberMeasure) -> str:
    """What a person reads for a measure."""
    if measure.name == "share_above":
        return f"{name} > {amount(measure.at[0], scale.unit, 0.0)}"
    return f"{measure.name} of {name}"


def _jumps(scale: NumberScale, measure: NumberMeasure) -> Iterator[int]:
    """The first members on the other side of the measure's thresholds."""
    if measure.name == "share_above":
        yield scale.first_above(*measure.at)


def _from_jump(types: Sequence[int], jump: int) -> Floats:
    """(types,) 1 from the second of the two knots at the jump on."""
    values = np.array(types) >= jump
    knots = list(types)
    if knots.count(jump) > 1:
        values[knots.index(jump)] = False
    return np.asarray(values, dtype=float)
