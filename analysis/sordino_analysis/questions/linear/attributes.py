"""The written form of a domain: its attributes, in YAML or JSON."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic_core import PydanticCustomError

from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed, StrictModel
from sordino_analysis.validation_messages import reason
from sordino_shared.domains import (
    MAX_MEMBERS,
    Attribute,
    Categorical,
    Domain,
    EvenEdges,
    Hashed,
    Integers,
    Ordinal,
)
from sordino_shared.domains import Number as NumberAttribute
from sordino_shared.errors import InvalidValue

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Strict(StrictModel):
    """A frozen part of a specification that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True)


class EvenBins(Strict):
    """`bins` bins of one width from `low` to `high`; what lies outside falls into the first or the last.

    With `auto` the planner chooses their number by how far bins may mislead a statistic at most, with `auto_smooth` by
    how far they mislead it where users are spread smoothly.
    """

    low: Number
    high: Number
    bins: Annotated[int, Field(strict=True, ge=2, le=MAX_MEMBERS)] | Literal["auto", "auto_smooth"]

    @property
    def count(self) -> int:
        """How many bins there are; raises WorkloadError while that is open."""
        if isinstance(self.bins, str):
            raise WorkloadError(
                f"bins: {self.bins} is for a pairwise statistic: say how many bins there are", self.bins
            )
        return self.bins

    @property
    def is_open(self) -> bool:
        """Whether the planner has yet to choose their number."""
        return isinstance(self.bins, str)

    def edges(self) -> tuple[float, ...]:
        """The edges between the bins."""
        return tuple(self._at(cut) for cut in range(1, self.count))

    def midpoints(self) -> tuple[float, ...]:
        """The middle of every bin."""
        return tuple(self._at(cut + 0.5) for cut in range(self.count))

    def _at(self, cut: float) -> float:
        if not self.low < self.high:
            raise WorkloadError(f"low {self.low:g} must be below high {self.high:g}", self)
        # In this order, so that whole numbers stay whole where they can.
        return self.low + (self.high - self.low) * cut / self.count


class EvenSteps(Strict):
    """The edges start + i·step for i below `count`, which a document holds as three numbers."""

    start: Number
    step: Number
    count: Annotated[int, Field(strict=True)]

    def edges(self) -> EvenEdges:
        """The edges; raises InvalidValue."""
        return EvenEdges(self.start, self.step, self.count)


def _form_of_edges(value: Any) -> str:
    if isinstance(value, EvenSteps) or (isinstance(value, dict) and {"start", "step", "count"} & value.keys()):
        return "steps"
    return "even" if isinstance(value, (dict, EvenBins)) else "listed"


def _check_asked(written: Any) -> Any:
    """Refuse the kinds of a domain of strings, about which no linear queries are asked."""
    kind = written.get("kind") if isinstance(written, dict) else None
    if kind == "text":
        raise PydanticCustomError("of_strings", "an attribute of kind text is asked alone and with `queries: strings`")
    if kind == "prefix":
        raise PydanticCustomError("of_strings", "prefixes of a text are made by its plan: leave them out")
    return written


class OrdinalSpecification(Strict):
    """Bins of a line, cut at `edges`; the first and the last bin are unbounded."""

    name: str
    kind: Literal["ordinal"]
    edges: Annotated[
        Annotated[Listed[Number], Tag("listed")]
        | Annotated[EvenBins, Tag("even")]
        | Annotated[EvenSteps, Tag("steps")],
        Discriminator(_form_of_edges),
    ]
    unit: str = ""
    missing: bool = False
    other: bool = False

    def attribute(self) -> Ordinal:
        """The attribute; raises WorkloadError or InvalidValue."""
        edges = tuple(self.edges) if isinstance(self.edges, list) else self.edges.edges()
        return Ordinal(name=self.name, edges=edges, unit=self.unit, missing=self.missing, other=self.other)


class CategoricalSpecification(Strict):
    """Unordered labels."""

    name: str
    kind: Literal["categorical"]
    labels: Listed[str]
    missing: bool = False
    other: bool = False

    def attribute(self) -> Categorical:
        """The attribute; raises InvalidValue."""
        return Categorical(self.name, tuple(self.labels), self.missing, self.other)


class IntegersSpecification(Strict):
    """The whole numbers from `low` to `high`."""

    name: str
    kind: Literal["integers"]
    low: Annotated[int, Field(strict=True)]
    high: Annotated[int, Field(strict=True)]
    unit: str = ""
    missing: bool = False
    other: bool = False

    def attribute(self) -> Integers:
        """The attribute; raises InvalidValue."""
        return Integers(self.name, self.low, self.high, unit=self.unit, missing=self.missing, other=self.other)


class NumberSpecification(Strict):
    """Numbers from `low` to `high`; what is outside counts as the nearer of both."""

    name: str
    kind: Literal["number"]
    low: Number
    high: Number
    unit: str = ""
    missing: bool = False

    def attribute(self) -> NumberAttribute:
        """The attribute; raises InvalidValue."""
        return NumberAttribute(self.name, self.low, self.high, unit=self.unit, missing=self.missing)


class HashedSpecification(Strict):
    """Any text, told apart by so many bits of a hash whose salt is drawn with the plan."""

    name: str
    kind: Literal["hashed"]
    bits: Annotated[int, Field(strict=True)]
    missing: bool = False
    other: bool = False

    def attribute(self) -> Hashed:
        """The attribute, without its salt; raises InvalidValue."""
        return Hashed(self.name, self.bits, missing=self.missing, other=self.other)


ListedAttribute = OrdinalSpecification | CategoricalSpecification
AnyAttribute = ListedAttribute | IntegersSpecification | NumberSpecification | HashedSpecification
ListedAttributeSpecification = Annotated[ListedAttribute, Field(discriminator="kind")]
AttributeSpecification = Annotated[AnyAttribute, Field(discriminator="kind"), BeforeValidator(_check_asked)]


def domain_of(attributes: Sequence[AnyAttribute]) -> Domain:
    """The domain described; raises WorkloadError where the attributes contradict themselves or each other."""
    try:
        written: list[Attribute] = [attribute.attribute() for attribute in attributes]
        return Domain(tuple(written))
    except InvalidValue as error:
        raise WorkloadError(f"domain: {error}", error.value) from error


def readable(error: ValidationError) -> str:
    """One sentence with the place of everything that does not fit."""
    shown = error.errors(include_url=False, include_context=False)[:5]
    places = (f"{'.'.join(map(str, item['loc'])) or 'workload'}: {reason(item)}" for item in shown)
    more = f" (and {error.error_count() - len(shown)} more)" if error.error_count() > len(shown) else ""
    return "the workload does not fit its form: " + "; ".join(places) + more
