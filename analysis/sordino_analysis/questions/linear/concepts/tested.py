"""What rules look at: attributes of two members, and indicators made of others."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from sordino_analysis.questions.linear.attributes import Strict
from sordino_analysis.questions.linear.concepts.indicators import member_indicator, range_indicator
from sordino_analysis.questions.linear.concepts.labels import End, named
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.strict_model import Listed
from sordino_shared.domains import Attribute, Domain


class Tested(Strict):
    """What rules look at of an attribute: whether it is each of `members`, or lies in a range."""

    model_config = ConfigDict(frozen=True, validate_by_alias=True, validate_by_name=False, serialize_by_alias=True)

    attribute: str
    members: Listed[str] | None = None
    low: End | None = Field(default=None, alias="from")
    high: End | None = Field(default=None, alias="to")


def indicators_of(over: list[str | Tested] | None, domain: Domain, of_label: str | None) -> list[Attribute]:
    """Attributes of two members that rules look at; raises WorkloadError where there are none.

    Without `over` these are all attributes but that of the label.
    """
    if over is None:
        found = [_of_two(attribute) for attribute in domain.attributes if attribute.name != of_label]
    else:
        found = [indicator for each in over for indicator in _tests(each, domain, of_label)]
    if not found:
        raise WorkloadError("there is no attribute besides the label: rules need at least one", domain)
    names = [attribute.name for attribute in found]
    if len(set(names)) < len(names):
        raise WorkloadError(f"`over` has {next(n for n in names if names.count(n) > 1)!r} twice", names)
    return found


def _tests(each: str | Tested, domain: Domain, of_label: str | None) -> list[Attribute]:
    """The indicators of one entry of `over`."""
    tested = Tested(attribute=each) if isinstance(each, str) else each
    if tested.attribute == of_label:
        raise WorkloadError(f"`over` names the label {of_label!r}: a rule may not look at it", tested.attribute)
    attribute = named(domain, tested.attribute, "over")
    if tested.members is not None:
        if tested.low is not None or tested.high is not None or not tested.members:
            raise WorkloadError(f"test {attribute.name!r} for its `members`, or for a range, not both", tested.members)
        return [member_indicator(attribute, member) for member in tested.members]
    if tested.low is not None or tested.high is not None:
        return [range_indicator(attribute, tested.low, tested.high)]
    return [_of_two(attribute)]


def _of_two(attribute: Attribute) -> Attribute:
    if attribute.size != 2:
        raise WorkloadError(
            f"attribute {attribute.name!r} has {attribute.size} members, and rules test indicators of two: list the "
            f"members to test for, `over: [{{attribute: {attribute.name}, members: […]}}]`, or ask for marginals",
            attribute.name,
        )
    return attribute
