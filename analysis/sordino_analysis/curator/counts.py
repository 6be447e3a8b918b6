"""Rows that a curator holds, as counts of the cells of a domain: integers before any noise, and nothing else.

No error of this file says a value, a row's number or how many rows are wrong: its text may end up in a log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sordino_shared.domains import Attribute, Domain, Hashed
from sordino_shared.errors import InvalidValue, OutsideDomain

Integers = NDArray[np.int64]
# Eight megabytes of counts.
MOST_CELLS = 2**20
_SCALARS = (str, bool, int, float, type(None))


def check_countable(domain: Domain) -> None:
    """Raise InvalidValue for a domain whose cells are not counted one by one."""
    if any(isinstance(attribute, Hashed) for attribute in domain.attributes):
        raise InvalidValue("a data set has no `hashed` attributes: list the labels, and give it `other: true`", domain)
    if domain.size > MOST_CELLS:
        raise InvalidValue(
            f"a data set has at most {MOST_CELLS} cells, this domain has {domain.size}: merge bins or labels, or leave "
            "attributes out",
            domain,
        )


def count_rows(domain: Domain, columns: Mapping[str, Sequence[object]], most_rows: int) -> Integers:
    """(k,) how many rows are in each cell; a column has the values of one attribute, row by row.

    Raises InvalidValue for columns that are not those of the domain or of different lengths, for more than `most_rows`
    rows or none, and for values that an attribute without `other` does not list.
    """
    names = [attribute.name for attribute in domain.attributes]
    if set(columns) != set(names):
        raise InvalidValue(f"the columns must be those of the domain, one each: {', '.join(names)}")
    lengths = {len(columns[name]) for name in names}
    if len(lengths) > 1:
        raise InvalidValue("the columns have different lengths: give every row a value of each attribute, or null")
    if not 1 <= next(iter(lengths)) <= most_rows:
        raise InvalidValue(f"a data set has from 1 to {most_rows} rows")
    cells = np.zeros(next(iter(lengths)), dtype=np.int64)
    for attribute, size in zip(domain.attributes, domain.shape, strict=True):
        cells *= size
        cells += _codes(attribute, columns[attribute.name])
    return np.bincount(cells, minlength=domain.size).astype(np.int64)


def marginal_counts(domain: Domain, counts: Integers, wanted: Domain) -> Integers:
    """(k′,) the counts (k,) over the attributes of another domain, in its order.

    A person is in one cell before and after, so that sensitivities are those of the other domain. Raises InvalidValue
    where it has an attribute that this domain has not.
    """
    places = check_part(domain, wanted)
    rest = tuple(axis for axis in range(len(domain.shape)) if axis not in places)
    summed = counts.reshape(domain.shape).sum(axis=rest)
    left = sorted(places)
    return np.ascontiguousarray(summed.transpose([left.index(place) for place in places])).reshape(-1)


def check_part(domain: Domain, wanted: Domain) -> list[int]:
    """The place of each wanted attribute; raises InvalidValue where one is not an attribute of the domain, as it is."""
    known = {attribute.name: place for place, attribute in enumerate(domain.attributes)}
    for attribute in wanted.attributes:
        place = known.get(attribute.name)
        if place is None or domain.attributes[place] != attribute:
            has = ", ".join(known) if place is None else "another one of this name"
            raise InvalidValue(
                f"the workload asks about the attribute {attribute.name!r}, the data set has {has}: write it "
                "in the workload as in the data set, bin by bin",
                attribute.name,
            )
    return [known[attribute.name] for attribute in wanted.attributes]


def _codes(attribute: Attribute, values: Sequence[object]) -> Integers:
    known: dict[tuple[type, object], int] = {}
    try:
        return np.fromiter((_code(attribute, value, known) for value in values), np.int64, len(values))
    except OutsideDomain:
        # Without its cause, which quotes the value.
        raise InvalidValue(
            f"the column {attribute.name!r} has values that the attribute does not list: give it `missing: true` "
            "(null) or `other: true`, or mend the rows"
        ) from None


def _code(attribute: Attribute, value: object, known: dict[tuple[type, object], int]) -> int:
    if type(value) not in _SCALARS or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidValue(
            f"the column {attribute.name!r} has values that are no text, no finite number and not null: mend the rows"
        )
    key = (type(value), value)
    if key not in known:
        known[key] = attribute.encode(value, strict=not attribute.other)
    return known[key]
