"""The written form of each statistic that has a name, and the statistic that it becomes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.questions.linear.attributes import (
    CategoricalSpecification,
    EvenBins,
    Number,
    OrdinalSpecification,
    Strict,
)
from sordino_analysis.questions.linear.specification import checked_matrix
from sordino_analysis.questions.pairwise import named
from sordino_analysis.questions.pairwise import pair_kernels as kernels
from sordino_analysis.questions.pairwise.binning import OpenBins
from sordino_analysis.questions.pairwise.named import Subject
from sordino_analysis.questions.pairwise.pairwise_statistic import PairwiseStatistic
from sordino_analysis.strict_model import Listed
from sordino_shared.domains import Categorical, Domain, Ordinal
from sordino_shared.quantities import quantity

# The number that stands for each bin of a line.


def values_of(
    line: OrdinalSpecification, values: Sequence[float] | None, outer: tuple[float, float] | None
) -> tuple[Floats, str]:
    """(b,) values that stand for the bins, and a sentence that says which.

    They are `values`, or the middles of the bins; the first and the last bin have a middle where they are even, and
    else stand for the two numbers of `outer`. Raises WorkloadError for a value outside its bin.
    """
    edges = tuple(line.attribute().edges)
    unit = f" {line.unit}" if line.unit else ""
    if values is not None:
        if outer is not None:
            raise WorkloadError("statistic: give values or outer, not both", outer)
        return _within(
            np.array(values), edges
        ), f"bins of {line.name} stand for the values listed{unit and ', in' + unit}"
    if isinstance(line.edges, EvenBins):
        if outer is not None:
            raise WorkloadError("statistic.outer: even bins stand for their middles, the outer ones too", outer)
        found = line.edges.midpoints()
        return np.array(found), f"bins of {line.name} stand for their middles, {found[0]:g} to {found[-1]:g}{unit}"
    if outer is None:
        raise WorkloadError(
            f"statistic: the outer bins of {line.name!r} are unbounded: say what they stand for with "
            "outer: [number, number], or give values, one for each bin",
            line.name,
        )
    if not edges:
        raise WorkloadError(f"statistic: {line.name!r} has one bin only: cut it at one edge at least", line.name)
    found = (outer[0], *((a + b) / 2 for a, b in pairwise(edges)), outer[1])
    sentence = f"bins of {line.name} stand for their middles, the outer ones for {outer[0]:g} and {outer[1]:g}{unit}"
    return _within(np.array(found), edges), sentence


def _within(values: Floats, edges: Sequence[float]) -> Floats:
    if len(values) != len(edges) + 1:
        raise WorkloadError(
            f"statistic.values: {quantity(len(values), 'value')} for {quantity(len(edges) + 1, 'bin')}: give one a bin",
            values,
        )
    bounds = [-np.inf, *edges, np.inf]
    for place, value in enumerate(values):
        if not bounds[place] <= value <= bounds[place + 1]:
            raise WorkloadError(
                f"statistic: {value:g} stands for bin {place + 1}, which is from {bounds[place]:g} to "
                f"{bounds[place + 1]:g}: it must lie inside",
                value,
            )
    return values


Written = list[OrdinalSpecification | CategoricalSpecification]
A = TypeVar("A", Ordinal, Categorical)


class GiniDiversity(Strict):
    """1[x ≠ x'], of one attribute or of all together; `missing` and `other` are members like any."""

    forms: ClassVar[int] = 1
    kind: Literal["gini_diversity"]
    attribute: str | None = None

    def statistic(self, subject: Subject, written: Written) -> PairwiseStatistic:
        """P(x ≠ x')."""
        if self.attribute is not None:
            _place(subject.domain, self.attribute, "attribute")
        return named.gini_diversity(subject, self.attribute)


class OfValues(Strict):
    """A kernel of the numbers that stand for the bins of one ordinal attribute."""

    forms: ClassVar[int] = 1
    kind: str
    attribute: str | None = None
    values: Listed[Number] | None = None
    outer: tuple[Number, Number] | None = None

    def line(self, written: Written) -> OrdinalSpecification:
        """The attribute measured: the one named, or the only one.

        Raises WorkloadError where that is not one ordinal attribute.
        """
        if self.attribute is None and len(written) > 1:
            names = [attribute.name for attribute in written]
            raise WorkloadError(f"statistic.attribute: say which of {names} is measured", self)
        found = next((a for a in written if self.attribute in (None, a.name)), None)
        if not isinstance(found, OrdinalSpecification):
            raise WorkloadError(
                f"statistic.attribute: {self.attribute or written[0].name!r} is no ordinal attribute of the domain",
                self.attribute,
            )
        return found

    @abstractmethod
    def smoothness(self, low: float, high: float) -> float | None:
        """G such that |f(x, x') − f(z, x')| ≤ G·|x − z| between `low` and `high`, where it is known for any bins."""

    @abstractmethod
    def kernel(self, values: Floats) -> Floats:
        """f at (b,) values of the bins, (b, b)."""

    def statistic(self, subject: Subject, written: Written) -> PairwiseStatistic:
        """The mean of the kernel over pairs."""
        line = self.line(written)
        values, note = values_of(line, self.values, self.outer)
        notes = (note, *self._moved_by_binning(line))
        return named.mean_over_line(subject, line.attribute(), self.kind, self.kernel(values), notes)

    def _moved_by_binning(self, line: OrdinalSpecification) -> tuple[str, ...]:
        if not isinstance(line.edges, EvenBins) or self.values is not None:
            return ()
        low, high = line.edges.low, line.edges.high
        smoothness = self.smoothness(low, high)
        if not smoothness:
            return ()
        bound = OpenBins(low, high, smoothness).bias_bound(line.edges.count)
        return (f"binning moves the statistic by at most {bound:.3g}, for values from {low:g} to {high:g}",)


class GiniMeanDifference(OfValues):
    """|x − x'| in the unit of the attribute."""

    kind: Literal["gini_mean_difference"]

    def smoothness(self, low: float, high: float) -> float:
        return 1.0

    def kernel(self, values: Floats) -> Floats:
        return kernels.distances(values)


class Variance(OfValues):
    """½(x − x')² in the squared unit of the attribute."""

    kind: Literal["variance"]

    def smoothness(self, low: float, high: float) -> float:
        return high - low

    def kernel(self, values: Floats) -> Floats:
        return kernels.half_squares(values)


class Function(Strict):
    """f(|x − x'|): straight lines between `values` at `distances`, which begin at 0; constant beyond the last."""

    distances: Listed[Number] = Field(min_length=2)
    values: Listed[Number]

    def checked(self) -> Function:
        """Itself; raises WorkloadError where the two lists make no function."""
        if len(self.values) != len(self.distances):
            raise WorkloadError(
                f"statistic.function: {quantity(len(self.values), 'value')} at "
                f"{quantity(len(self.distances), 'distance')}: give one each",
                self,
            )
        if self.distances[0] != 0 or np.any(np.diff(self.distances) <= 0):
            raise WorkloadError("statistic.function.distances must begin at 0 and increase", self.distances)
        return self

    def slope(self) -> float:
        """The steepest rise or fall."""
        self.checked()
        return float(np.abs(np.diff(self.values) / np.diff(self.distances)).max())


class Lipschitz(OfValues):
    """A kernel of one ordinal attribute by its values: by steps between bins, by pairs of bins, or by distance."""

    kind: Literal["lipschitz"]
    table: Listed[Number] | None = None
    matrix: Listed[Listed[Number]] | None = None
    function: Function | None = None

    def smoothness(self, low: float, high: float) -> float | None:
        return None if self.function is None else self.function.slope()

    def kernel(self, values: Floats) -> Floats:
        assert self.function is not None
        function = self.function.checked()
        return np.asarray(np.interp(kernels.distances(values), function.distances, function.values))

    def statistic(self, subject: Subject, written: Written) -> PairwiseStatistic:
        given = [form for form in ("table", "matrix", "function") if getattr(self, form) is not None]
        if len(given) != 1:
            raise WorkloadError(f"statistic: give one of table, matrix and function, not {given or 'none'}", given)
        if self.function is not None:
            return super().statistic(subject, written)
        if self.values is not None or self.outer is not None:
            raise WorkloadError(f"statistic: a {given[0]} goes by bins: leave values and outer out", given)
        line = self.line(written).attribute()
        matrix = self._by_steps(line) if self.table is not None else self._by_pairs(line)
        return named.mean_over_line(subject, line, self.kind, matrix)

    def _by_steps(self, line: Ordinal) -> Floats:
        table = np.array(self.table)
        if len(table) != line.bins:
            raise WorkloadError(
                f"statistic.table: {quantity(len(table), 'value')} for the {quantity(line.bins, 'bin')} of "
                f"{line.name!r}: give one for each number of steps from 0 to {line.bins - 1}",
                self.table,
            )
        return kernels.of_steps(table)

    def _by_pairs(self, line: Ordinal) -> Floats:
        matrix = checked_matrix(self.matrix or [], Domain((Ordinal(line.name, line.edges),)))
        if matrix.shape[0] != matrix.shape[1] or not np.array_equal(matrix, matrix.T):
            raise WorkloadError(
                "statistic.matrix: a kernel takes two users in either order, so its table is square and symmetric; "
                "kind: matrix takes any square table and says what it made of it",
                self.matrix,
            )
        return matrix


class Kendall(Strict):
    """sgn(x − x') sgn(y − y') of two ordinal attributes: τ_a, or τ_b by the ratio that leaves ties out."""

    kind: Literal["kendall"]
    attributes: tuple[str, str]
    variant: Literal["a", "b"]

    @property
    def forms(self) -> int:
        """How many quadratic forms there are."""
        return 1 if self.variant == "a" else 3

    def statistic(self, subject: Subject, written: Written) -> PairwiseStatistic:
        """τ_a or τ_b; raises WorkloadError where the fields do not fit the domain."""
        if self.attributes[0] == self.attributes[1]:
            raise WorkloadError(
                f"statistic.attributes: {self.attributes[0]!r} is named twice: name two", self.attributes
            )
        x, y = (_of_kind(subject.domain, name, "attributes", Ordinal) for name in self.attributes)
        return (named.kendall_a if self.variant == "a" else named.kendall_b)(subject, x, y)


class Auc(Strict):
    """P(s > s' | positive, negative) + ½P(s = s' | …) of a score (ordinal) against a label (categorical)."""

    forms: ClassVar[int] = 2
    kind: Literal["auc"]
    score: str
    label: str
    positive: str

    def statistic(self, subject: Subject, written: Written) -> PairwiseStatistic:
        """The area under the curve; raises WorkloadError where the fields do not fit the domain."""
        score = _of_kind(subject.domain, self.score, "score", Ordinal)
        label = _of_kind(subject.domain, self.label, "label", Categorical)
        if self.positive not in label.categories:
            raise WorkloadError(
                f"statistic.positive: {label.name!r} lists {list(label.categories)}, and not {self.positive!r}",
                self.positive,
            )
        if len(label.categories) < 2:
            raise WorkloadError(f"statistic.label: {label.name!r} lists no label but the positive one", self.label)
        return named.area_under_curve(subject, score, label, self.positive)


class CustomMatrix(Strict):
    """A square table over all cells of the domain; of one that is not symmetric the mean with its transpose counts."""

    forms: ClassVar[int] = 1
    kind: Literal["matrix"]
    matrix: Listed[Listed[Number]]

    def statistic(self, subject: Subject, written: Written) -> PairwiseStatistic:
        """The mean of the table over pairs; raises WorkloadError where the fields do not fit the domain."""
        matrix = checked_matrix(self.matrix, subject.domain)
        if matrix.shape[0] != matrix.shape[1]:
            raise WorkloadError(
                f"statistic.matrix: {quantity(len(matrix), 'row')} for {quantity(subject.domain.size, 'cell')}: "
                "give one row a cell",
                self.matrix,
            )
        return named.custom(subject, matrix)


StatisticKind = Annotated[
    GiniDiversity | GiniMeanDifference | Variance | Lipschitz | Kendall | Auc | CustomMatrix,
    Field(discriminator="kind"),
]


def is_open(line: OrdinalSpecification | CategoricalSpecification) -> bool:
    """Whether the planner has yet to choose the number of bins."""
    return isinstance(line, OrdinalSpecification) and isinstance(line.edges, EvenBins) and line.edges.is_open


def _place(domain: Domain, name: str, field: str) -> int:
    names = [attribute.name for attribute in domain.attributes]
    if name not in names:
        raise WorkloadError(f"statistic.{field}: the domain has no attribute {name!r}; it has {names}", name)
    return names.index(name)


def _of_kind(domain: Domain, name: str, field: str, kind: type[A]) -> A:
    attribute = domain.attributes[_place(domain, name, field)]
    if not isinstance(attribute, kind):
        raise WorkloadError(f"statistic.{field}: {name!r} is {attribute.kind}, and must be {kind.kind}", name)
    return attribute
