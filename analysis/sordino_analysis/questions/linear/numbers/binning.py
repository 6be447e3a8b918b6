"""Between how many bins quantiles are told, and the attribute that devices hold for them."""

from __future__ import annotations

from sordino_analysis.documents.number_queries import MAX_BINS
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, Categorical, Domain, EvenEdges, Integers, Number, Ordered, Ordinal

# Of one attribute alone, whose plan answers about intervals of any number of bins with little more variance.
ALONE, MOST_ALONE = 1024, 1 << 16
# Beside other measures, and split by categories, each bin is a type or two of a kernel: so many in all.
_TYPES, _MOST_BESIDE, _LEAST = 96, 32, 4
_TYPES_OF_A_BIN = 2


def bins_of(attribute: Attribute, given: int | None, domain: Domain, *, only: bool) -> int:
    """The number of bins: `given`, or what a plan of reasonable cost tells; 0 for the members themselves.

    Where `only` quantiles are asked bins are types. Raises WorkloadError where a plan cannot have so many.
    """
    if not isinstance(attribute, (Ordered, Number)):
        raise WorkloadError(f"{attribute.name!r} is {attribute.kind} and has no order: ask for its `top`", attribute)
    categories = 1
    for other in domain.attributes:
        categories *= other.size if other.name != attribute.name and isinstance(other, Categorical) else 1
    if only and categories == 1:
        most, usual = MOST_ALONE, ALONE
    else:
        room = _TYPES // categories // (1 if only else _TYPES_OF_A_BIN)
        most, usual = MAX_BINS, min(_MOST_BESIDE, max(room, _LEAST))
    if given is not None and given > most:
        raise WorkloadError(
            f"{given} bins; beside other measures or categories quantiles are told between at most {most}: ask for "
            "quantiles alone, or give fewer bins",
            given,
        )
    alone = only and categories == 1
    if attribute.bins <= (given or (most if alone and not isinstance(attribute, Number) else usual)):
        return 0
    if isinstance(attribute, Integers) and attribute.other:
        raise WorkloadError(
            f"{attribute.name!r} has {attribute.bins} numbers and `other`: quantiles of so many are told between bins, "
            "which have no `other`: leave it out",
            attribute,
        )
    if isinstance(attribute, Ordinal):
        if only and attribute.bins > most:
            raise WorkloadError(
                f"{attribute.name!r} has {attribute.bins} bins, at most {most} are told: use fewer", given
            )
        if given is not None:
            raise WorkloadError(f"{attribute.name!r} has bins of its own: leave `bins` out", given)
        return 0
    return given or usual


def binned(attribute: Attribute, bins: int) -> Attribute:
    """The attribute cut into so many bins of one width; itself for 0."""
    if not bins:
        return attribute
    match attribute:
        case Number():
            width = (attribute.high - attribute.low) / bins
            edges = EvenEdges(attribute.low + width, width, bins - 1)
            return Ordinal(attribute.name, edges, unit=attribute.unit, missing=attribute.missing)
        case Integers():
            width = (attribute.bins - 1) / bins
            edges = EvenEdges(attribute.low + width, width, bins - 1)
            return Ordinal(attribute.name, edges, unit=attribute.unit, missing=attribute.missing)
    return attribute
