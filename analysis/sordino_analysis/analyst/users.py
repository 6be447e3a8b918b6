"""Values of users in the forms that notebooks have, as the members of a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.frames import (
    adopted,
    check_collected,
    is_frame,
    rows_of_columns,
    rows_of_frame,
    values_of,
)
from sordino_analysis.questions.linear.concepts.indicators import held_domain
from sordino_analysis.vectorized.domains import codes_many
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue, OutsideDomain

# The last are data frames and series, which are told by their methods.
Values = Sequence[object] | NDArray[Any] | Mapping[str, Sequence[object]] | Any


def codes_of(domain: Domain, values: Values, *, strict: bool) -> NDArray[np.uint64]:
    """(n, attributes) the members that each user's value has.

    Raises InvalidValue with the place of a value that does not fit.
    """
    rows = rows_of(domain, values)
    if not rows:
        raise InvalidValue("there are no values: give one for each user")
    for index, row in enumerate(rows):
        try:
            domain.check_shape(row)
        except InvalidValue as error:
            raise InvalidValue(f"value {index}: {error}", index) from error
    try:
        return codes_many(domain, rows, strict=strict)
    except OutsideDomain as error:
        raise InvalidValue(f"{error}; strict=False simulates what a device reports for it", error.value) from error


def rows_of(domain: Domain, values: Values) -> Sequence[object]:
    """One value for each user: columns by name become rows, arrays (n,) or (n, attributes) and series plain values.

    Raises InvalidValue for columns and shapes that do not fit the domain.
    """
    check_collected(values)
    values = adopted(values)
    names = held_domain(domain).value_names
    if is_frame(values):
        return rows_of_frame(values, names)
    if isinstance(values, Mapping):
        return rows_of_columns(values, names)
    if isinstance(values, np.ndarray):
        wanted = (1,) if len(domain.value_names) == 1 else (2,)
        if values.ndim not in wanted:
            raise InvalidValue(
                f"an array of values must have shape (n,) for one attribute and (n, attributes) for several, "
                f"got {values.shape}",
                values.shape,
            )
    return values_of(values)
