"""An attribute that is asked about: its numbers, the types that devices round them to, and what each measure takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.number_queries import AskedNumber, NumberMeasure
from sordino_analysis.figures import SHARE, amount
from sordino_analysis.questions.linear.dithering import even_knots
from sordino_analysis.questions.linear.numbers.scale import NumberScale, scale_of
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, Domain, Integers, Ordered, Ordinal
from sordino_shared.domains import Number as NumberAttribute
from sordino_shared.randomizers.dithered import MAX_KNOTS

# What needs the levels of the numbers themselves, and what squares, too.
OF_MEAN = frozenset({"mean", "sum", "variance", "sd"})
OF_SQUARE = frozenset({"variance", "sd"})
# Members that `top` lists.
_MOST_TOP = 1024
# Levels between the ends of a mean of a part of the range.
_LEVELS_WITHIN = 9


@dataclass(frozen=True, eq=False, kw_only=True)
class RowPart:
    """What a row holds of one attribute: `values` of its ordered types, in `unit`. `at` tells parts of a name apart.

    Of a mean `middle` is what a category's row is less by, so that no entry is larger than it must be.
    """

    name: str
    at: tuple[float, ...]
    label: str
    unit: str
    values: Floats
    middle: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class NumberPlace:
    """The attribute at `place` of a domain, its `scale` unless only its most frequent members are asked for."""

    place: int
    attribute: Attribute
    scale: NumberScale | None
    asked: AskedNumber

    @classmethod
    def of(cls, domain: Domain, asked: AskedNumber) -> NumberPlace:
        """Raises WorkloadError where the measures do not fit the attribute."""
        names = [attribute.name for attribute in domain.attributes]
        if asked.attribute not in names:
            raise WorkloadError(f"there is no attribute {asked.attribute!r}; the domain has {', '.join(names)}", asked)
        place = names.index(asked.attribute)
        attribute = domain.attributes[place]
        needs_numbers = any(measure.name != "top" for measure in asked.measures)
        if any(measure.name == "top" for measure in asked.measures):
            _check_members(attribute)
        scale = scale_of(attribute) if needs_numbers else None
        if any(measure.name == "clipped" for measure in asked.measures):
            _check_clipped(attribute)
        return cls(place, attribute, scale, asked)

    @property
    def numbers(self) -> NumberScale:
        """The scale, which every measure but `top` has."""
        assert self.scale is not None
        return self.scale

    @property
    def absent(self) -> range:
        """The members that are no number: `missing` and `other`."""
        if self.scale is None or not isinstance(self.attribute, (Ordered, NumberAttribute)):
            return range(0)
        return range(self.attribute.bins, self.attribute.size)

    def asks(self, name: str) -> list[NumberMeasure]:
        """The measures of this name."""
        return [measure for measure in self.asked.measures if measure.name == name]

    @cached_property
    def knots(self) -> tuple[int, ...]:
        """The levels and jumps of the measures; empty where each member is a type. Raises WorkloadError."""
        scale = self.scale
        if scale is None or scale.listed is not None or scale.last < self.asked.levels or not self.asked.bins:
            return ()
        names = {measure.name for measure in self.asked.measures}
        jumps = {scale.first_above(*each.at) for each in self.asks("share_above")}
        jumps |= {scale.first_above(edge) for edge in self.edges}
        levels = set(even_knots(scale.last, self.asked.levels if names & OF_MEAN else 2))
        if self.asks("clipped"):
            # No member lies between an end and its neighbour, so that the type of an end has those at it alone.
            levels |= {1, scale.last - 1}
        for measure in self.asks("mean_within"):
            first, end = scale.within(*measure.at)
            jumps |= {jump for jump in (first, end) if 0 < jump <= scale.last}
            last, within = min(end, scale.last) - first, min(self.asked.levels, _LEVELS_WITHIN)
            levels |= {first + last * level // (within - 1) for level in range(within)}
        knots = tuple(sorted([*levels - jumps, *jumps, *jumps]))
        if len(knots) > MAX_KNOTS:
            raise WorkloadError(f"{len(knots)} knots, at most {MAX_KNOTS} are sent to a device: ask for less", knots)
        return knots

    @cached_property
    def types(self) -> Sequence[int]:
        """The member of each ordered type: the knots, or all."""
        listed = self.attribute.size if self.scale is None else self.scale.last + 1
        return self.knots or range(listed)

    @property
    def size(self) -> int:
        """How many types there are, those that are no number last."""
        return len(self.types) + len(self.absent)

    @cached_property
    def edges(self) -> list[float]:
        """The numbers at which the bins of quantiles end, but for the last, where bins are not the members."""
        if self.asked.bins < 2:
            return []
        scale, bins = self.numbers, self.asked.bins
        even = [scale.low + (scale.high - scale.low) * each / bins for each in range(1, bins)]
        return sorted({float(np.floor(edge)) for edge in even} if isinstance(self.attribute, Integers) else even)

    @property
    def told(self) -> Ordered:
        """The bins between which quantiles are told, as an attribute."""
        if self.asked.bins > 1:
            return Ordinal(self.attribute.name, tuple(self.edges), unit=self.numbers.unit)
        assert isinstance(self.attribute, Ordered)
        return self.attribute

    def label(self, measure: NumberMeasure) -> str:
        """What a person reads for a measure."""
        name = self.asked.attribute
        if measure.name == "top":
            return name
        unit = self.numbers.unit
        if measure.name == "share_above":
            return f"{name} > {amount(measure.at[0], unit, 0.0)}"
        if measure.name == "mean_within":
            low, high = (amount(end, unit, 0.0) for end in measure.at)
            return f"mean of {name} from {low} to {high}"
        if measure.name == "quantile":
            return f"{measure.at[0]:g} quantile of {name}"
        return f"{measure.name} of {name}"

    def end_label(self, *, high: bool) -> str:
        """What a person reads for the numbers at an end of the range, and those beyond it, which count as it."""
        end = amount(self.numbers.high if high else self.numbers.low, self.numbers.unit, 0.0)
        return f"{self.asked.attribute} at {end} or {'above' if high else 'below'}"

    def parts(self) -> Iterator[RowPart]:
        """What rows are made for, in the order of answers: of the mean, squares, and each further measure."""
        of_mean, of_square = self._weight(OF_MEAN), self._weight(OF_SQUARE)
        if of_mean:
            yield self._mean(of_mean)
        if of_square:
            yield self._square(of_square)
        for measure in self.asked.measures:
            match measure.name:
                case "share_above":
                    values = from_jump(self.types, self.numbers.first_above(*measure.at))
                    yield self._share(measure.name, measure.at, self.label(measure), values, measure.weight)
                case "mean_within":
                    yield from self._within(measure)
                case "clipped":
                    yield from self._at_ends(measure)
        if quantiles := self.asks("quantile"):
            yield from self._prefixes(max(each.weight for each in quantiles))
        for measure in self.asks("top"):
            yield from self._members(measure)

    def _weight(self, names: frozenset[str]) -> float:
        """The largest weight of the measures of these names, 0 where there are none."""
        return max((each.weight for each in self.asked.measures if each.name in names), default=0.0)

    def _mean(self, weight: float) -> RowPart:
        scale = self.numbers
        return RowPart(
            name="mean",
            at=(),
            label=f"mean of {self.asked.attribute}",
            unit=scale.unit,
            values=scale.numbers(self.types),
            middle=(scale.low + scale.high) / 2,
            weight=weight,
        )

    def _square(self, weight: float) -> RowPart:
        """Squares of the numbers in shares of the range, from the low end of it."""
        scale = self.numbers
        shares = (scale.numbers(self.types) - scale.low) / (scale.high - scale.low)
        label = f"mean square of {self.asked.attribute}"
        return RowPart(name="square", at=(), label=label, unit="", values=shares**2, weight=weight)

    def _share(self, name: str, at: tuple[float, ...], label: str, values: Floats, weight: float) -> RowPart:
        return RowPart(name=name, at=at, label=label, unit=SHARE, values=values, weight=weight)

    def _within(self, measure: NumberMeasure) -> Iterator[RowPart]:
        """Numbers of a part of the range less its middle, 0 outside, and who has one."""
        first, end = self.numbers.within(*measure.at)
        inside = from_jump(self.types, first) - from_jump(self.types, end)
        low, high = self.numbers.numbers([first, end - 1]).tolist()
        middle, name, unit = (low + high) / 2, self.asked.attribute, self.numbers.unit
        part = f"{name} from {amount(measure.at[0], unit, 0.0)} to {amount(measure.at[1], unit, 0.0)}"
        centred = inside * (self.numbers.numbers(self.types) - middle)
        label = f"{part}, less {amount(middle, unit, 0.0)}"
        yield RowPart(name="mean_within", at=measure.at, label=label, unit=unit, values=centred, weight=measure.weight)
        yield self._share("within", measure.at, part, inside, measure.weight)

    def _at_ends(self, measure: NumberMeasure) -> Iterator[RowPart]:
        """Who has the first and who the last member, which numbers out of the range count as."""
        for high in (False, True):
            values = np.eye(len(self.types))[-1 if high else 0]
            yield self._share(measure.name, (float(high),), self.end_label(high=high), values, measure.weight)

    def _prefixes(self, weight: float) -> Iterator[RowPart]:
        """Who has a number at or below the end of each bin, but for all who have one."""
        if self.edges:
            ends = [(edge, self.numbers.first_above(edge)) for edge in self.edges]
        else:
            ends = [(float(member), member + 1) for member in range(self.numbers.last)]
        for place, (edge, jump) in enumerate(ends):
            shown = amount(edge, self.numbers.unit, 0.0) if self.edges else self.attribute.label(int(edge))
            label = f"{self.asked.attribute} ≤ {shown}"
            yield self._share("below", (float(place),), label, 1.0 - from_jump(self.types, jump), weight)

    def _members(self, measure: NumberMeasure) -> Iterator[RowPart]:
        """The share of each member."""
        for place in range(len(self.types)):
            label = f"{self.asked.attribute}: {self.attribute.label(place)}"
            yield self._share("member", (float(place),), label, np.eye(len(self.types))[place], measure.weight)


def from_jump(types: Sequence[int], jump: int) -> Floats:
    """(types,) 1 from the second of the two knots at the jump on."""
    values = np.array(types) >= jump
    knots = list(types)
    if knots.count(jump) > 1:
        values[knots.index(jump)] = False
    return np.asarray(values, dtype=float)


def _check_members(attribute: Attribute) -> None:
    """Raise WorkloadError where no list of members is asked for the most frequent one."""
    if isinstance(attribute, NumberAttribute):
        raise WorkloadError(
            f"{attribute.name!r} is of kind number, of which no value is frequent: `top` is for labels, bins or whole "
            "numbers; for the largest numbers ask {quantile: [.99]}",
            attribute,
        )
    if attribute.size > _MOST_TOP or not attribute.listed:
        raise WorkloadError(
            f"{attribute.name!r} has {attribute.size} members, of which `top` lists at most {_MOST_TOP}: ask for the "
            "histogram",
            attribute.size,
        )


def _check_clipped(attribute: Attribute) -> None:
    """Raise WorkloadError where numbers out of the range do not count as its ends."""
    if isinstance(attribute, Ordinal):
        raise WorkloadError(
            f"the first and the last bin of {attribute.name!r} have no end, so that nothing is clipped: ask for `top`, "
            "which has their shares",
            attribute,
        )
    if attribute.other:
        raise WorkloadError(
            f"numbers out of the range of {attribute.name!r} are `other`, whose share is told: leave out `clipped`",
            attribute,
        )
