"""The written form of a concept class, and how it becomes the domain of its indicators and published queries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from sordino_analysis.documents import queries as documents
from sordino_analysis.questions.linear.attributes import Number, Strict
from sordino_analysis.questions.linear.concepts.rules import WIDEST
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_shared.domains import Attribute, Domain

_LARGEST_RATIO = 1e6

Cost = Annotated[Number, Field(gt=0)]


class Label(Strict):
    """The attribute that rules predict, and the member of it that counts as yes."""

    attribute: str
    positive: str


class Costs(Strict):
    """What a positive that is missed costs, and what a false alarm costs."""

    miss: Cost = 1.0
    false_alarm: Cost = 1.0


class ConceptSpecification(Strict):
    """A class of rules over indicators: how wide they are, and what they predict."""

    model_config = ConfigDict(frozen=True, validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    family: Literal["conjunctions", "clauses", "juntas", "parities", "lists"] = Field(alias="class")
    label: Label
    width: Annotated[int, Field(strict=True)] | None = None
    length: Annotated[int, Field(strict=True)] | None = None
    changes: Annotated[int, Field(strict=True, ge=0)] | None = None
    over: Listed[str] | None = None
    negations: bool = True
    exactly: bool = False
    cost: Costs = Costs()


def published_concepts(written: ConceptSpecification, domain: Domain) -> tuple[Domain, documents.ConceptQueries]:
    """The domain of the indicators and then the label, and the queries; raises WorkloadError where they do not fit."""
    label = _label(written, domain)
    indicators = _indicators(written, domain, label)
    ratio = max(written.cost.miss, written.cost.false_alarm) / min(written.cost.miss, written.cost.false_alarm)
    if ratio > _LARGEST_RATIO:
        raise WorkloadError(f"one mistake costs {ratio:g} times the other, at most {_LARGEST_RATIO:g} is asked", ratio)
    width = _width(written, len(indicators))
    queries = documents.ConceptQueries(
        family=written.family,
        width=width,
        exactly=written.exactly,
        negations=written.negations,
        changes=written.changes,
        positive=_member(label, written.label.positive),
        miss=written.cost.miss,
        false_alarm=written.cost.false_alarm,
    )
    return Domain((*indicators, label)), queries


def _label(written: ConceptSpecification, domain: Domain) -> Attribute:
    label = _named(domain, written.label.attribute, "the label")
    if label.size != 2:
        raise WorkloadError(
            f"the label {label.name!r} has {label.size} members, and a rule says yes or no: give it two members",
            label.name,
        )
    return label


def _indicators(written: ConceptSpecification, domain: Domain, label: Attribute) -> list[Attribute]:
    if written.over is None:
        found = [attribute for attribute in domain.attributes if attribute.name != label.name]
    else:
        found = [_named(domain, name, "over") for name in written.over]
        if label.name in written.over:
            raise WorkloadError(f"`over` names the label {label.name!r}: a rule may not look at it", written.over)
        if len(set(written.over)) < len(written.over):
            raise WorkloadError("`over` names an attribute twice", written.over)
    if not found:
        raise WorkloadError("there is no attribute besides the label: rules need at least one", domain)
    for attribute in found:
        if attribute.size != 2:
            raise WorkloadError(
                f"attribute {attribute.name!r} has {attribute.size} members, and rules test indicators of two: leave "
                "it out with `over`, or ask for marginals",
                attribute.name,
            )
    return found


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


def _named(domain: Domain, name: str, where: str) -> Attribute:
    for attribute in domain.attributes:
        if attribute.name == name:
            return attribute
    names = ", ".join(attribute.name for attribute in domain.attributes)
    raise WorkloadError(f"{where}: the domain has no attribute {name!r}; it has {names[:1000]}", name)


def _member(attribute: Attribute, text: str) -> int:
    members = [attribute.label(index) for index in range(attribute.size)]
    if text not in members:
        raise WorkloadError(f"the label {attribute.name!r} has the members {' and '.join(members)}, not {text!r}", text)
    return members.index(text)
