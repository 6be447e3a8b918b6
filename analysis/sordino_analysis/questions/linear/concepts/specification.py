"""The written form of a concept class, and how it becomes the domain of its indicators and published queries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from sordino_analysis.documents import queries as documents
from sordino_analysis.documents.elimination_plan import RoundShares
from sordino_analysis.questions.linear.attributes import Number, Strict
from sordino_analysis.questions.linear.concepts.labels import Label, label_of, named
from sordino_analysis.questions.linear.concepts.rules import WIDEST
from sordino_analysis.questions.linear.concepts.tested import Tested, indicators_of
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_shared.domains import Attribute, Domain, Ordered

# One kind of mistake may cost at most so many times the other.
_LARGEST_RATIO = 1e6

Cost = Annotated[Number, Field(gt=0)]


class Costs(Strict):
    """What a positive that is missed costs, and what a false alarm costs."""

    miss: Cost = 1.0
    false_alarm: Cost = 1.0


class Rounds(Strict):
    """Three rounds: the share of devices that answers each, and how many rules the second one asks about."""

    shares: Listed[Number] = Field(default_factory=lambda: list(RoundShares().shares))
    top: Annotated[int, Field(strict=True)] = 32


class ConceptSpecification(Strict):
    """A class of rules over indicators: how wide they are, and what they predict."""

    model_config = ConfigDict(frozen=True, validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    family: Literal["conjunctions", "clauses", "juntas", "parities", "lists", "thresholds", "intervals", "boxes"] = (
        Field(alias="class")
    )
    label: Label
    width: Annotated[int, Field(strict=True)] | None = None
    length: Annotated[int, Field(strict=True)] | None = None
    changes: Annotated[int, Field(strict=True, ge=0)] | None = None
    over: Listed[str | Tested] | None = None
    negations: bool = True
    exactly: bool = False
    cost: Costs = Costs()
    bias: Literal["allowed"] | None = None
    protocol: Rounds | None = None

    @property
    def rounds(self) -> RoundShares | None:
        """The rounds asked for; None for one. Raises InvalidValue for shares that are none."""
        return None if self.protocol is None else RoundShares(tuple(self.protocol.shares), self.protocol.top)


def published_concepts(written: ConceptSpecification, domain: Domain) -> tuple[Domain, documents.RuleQueries]:
    """The domain of what rules look at and then the label, and the queries.

    Raises WorkloadError where they do not fit.
    """
    label, positive = label_of(written.label, domain)
    ratio = max(written.cost.miss, written.cost.false_alarm) / min(written.cost.miss, written.cost.false_alarm)
    if ratio > _LARGEST_RATIO:
        raise WorkloadError(f"one mistake costs {ratio:g} times the other, at most {_LARGEST_RATIO:g} is asked", ratio)
    if written.family in documents.ORDERED_FAMILIES:
        ordered = documents.OrderedConceptQueries(
            family=written.family,
            positive=positive,
            miss=written.cost.miss,
            false_alarm=written.cost.false_alarm,
            bias_allowed=written.bias is not None,
        )
        return Domain((*_ordered(written, domain), label)), ordered
    indicators = indicators_of(written.over, domain, written.label.attribute)
    width = _width(written, len(indicators))
    queries = documents.ConceptQueries(
        family=written.family,
        width=width,
        exactly=written.exactly,
        negations=written.negations,
        changes=written.changes,
        positive=positive,
        miss=written.cost.miss,
        false_alarm=written.cost.false_alarm,
        bias_allowed=written.bias is not None,
    )
    return Domain((*indicators, label)), queries


def _ordered(written: ConceptSpecification, domain: Domain) -> list[Attribute]:
    """The ordered attributes that thresholds, intervals or boxes are about."""
    _check_ordered_fields(written)
    if written.over is None:
        others = (attribute for attribute in domain.attributes if attribute.name != written.label.attribute)
        found: list[Attribute] = [attribute for attribute in others if isinstance(attribute, Ordered)]
    else:
        found = [_whole(each, domain, written) for each in written.over]
    names = [attribute.name for attribute in found]
    if len(set(names)) < len(names):
        raise WorkloadError(f"`over` has {next(n for n in names if names.count(n) > 1)!r} twice", names)
    if not found:
        raise WorkloadError(f"there is no ordered attribute besides the label: {written.family} need one", domain)
    if written.family != "boxes" and len(found) > 1:
        raise WorkloadError(
            f"{written.family} are about one attribute: say which of {', '.join(names)} with `over`, or ask for boxes",
            names,
        )
    return found


def _check_ordered_fields(written: ConceptSpecification) -> None:
    """Raise WorkloadError for a field that rules over ordered attributes do not have."""
    usual = ConceptSpecification.model_construct(label=written.label, family=written.family)
    for name in ("width", "length", "changes", "negations", "exactly"):
        if getattr(written, name) != getattr(usual, name):
            raise WorkloadError(f"{written.family} have no `{name}`: leave it out", getattr(written, name))


def _whole(each: str | Tested, domain: Domain, written: ConceptSpecification) -> Attribute:
    tested = Tested(attribute=each) if isinstance(each, str) else each
    if tested != Tested(attribute=tested.attribute):
        raise WorkloadError(
            f"{written.family} look at all bins of {tested.attribute!r}: give its name alone", tested.attribute
        )
    if tested.attribute == written.label.attribute:
        raise WorkloadError(f"`over` names the label {tested.attribute!r}: a rule may not look at it", tested.attribute)
    attribute = named(domain, tested.attribute, "over")
    if not isinstance(attribute, Ordered):
        raise WorkloadError(
            f"attribute {attribute.name!r} is {attribute.kind} and has no order: {written.family} need one that is "
            "ordinal or integers",
            attribute.name,
        )
    return attribute


def _width(written: ConceptSpecification, indicators: int) -> int:
    is_list = written.family == "lists"
    width, other = (written.length, written.width) if is_list else (written.width, written.length)
    name = "length" if is_list else "width"
    if width is None or other is not None:
        raise WorkloadError(f"{written.family} have a `{name}`: say how many indicators a rule may use", written)
    most = min(indicators, WIDEST[written.family])
    if not 1 <= width <= most:
        raise WorkloadError(f"the {name} of {written.family} over {indicators} indicators is 1 to {most}", width)
    if written.changes is not None and not is_list:
        raise WorkloadError("`changes` is for decision lists only", written.changes)
    if written.family == "juntas" and not written.negations:
        raise WorkloadError("juntas are all functions of their attributes: leave `negations` out", written.negations)
    return width
