"""Second moments of attributes: the mean of x_i x_j for every two of them and for each with itself."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Literal

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.queries import MatrixQueries
from sordino_analysis.questions.linear.attributes import Strict
from sordino_analysis.questions.linear.operators import DENSE_LIMIT
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.domains import Attribute, Domain, Integers


class MomentQueries(Strict):
    """The upper triangle of E xxᵀ, row by row, for the numbers x of all attributes."""

    kind: Literal["second_moments"]


def published_moments(domain: Domain) -> MatrixQueries:
    """A row x_i x_j over all cells for each pair i ≤ j of attributes.

    Raises WorkloadError for an attribute without numbers, or more cells than are listed.
    """
    attributes = domain.attributes
    pairs = list(combinations_with_replacement(range(len(attributes)), 2))
    for attribute in attributes:
        _check_numbers(attribute)
    if len(pairs) * domain.size > DENSE_LIMIT:
        raise WorkloadError(
            f"second moments list all cells, and {len(pairs)} of them over {domain.size} cells are too many: ask about "
            "fewer attributes, or for marginals of `width: 2`",
            domain.size,
        )
    grid = np.meshgrid(*map(_numbers, attributes), indexing="ij")
    values = np.stack([each.ravel() for each in grid])
    rows = np.stack([values[one] * values[other] for one, other in pairs])
    labels = tuple(f"{attributes[one].name} × {attributes[other].name}" for one, other in pairs)
    return MatrixQueries(array_of(rows, "<f8"), labels)


def _check_numbers(attribute: Attribute) -> None:
    if attribute.size != attribute.listed:
        raise WorkloadError(
            f"{attribute.name!r} has a member without a number: leave out `missing` and `other` for second moments",
            attribute,
        )
    if not isinstance(attribute, Integers) and attribute.size != 2:
        raise WorkloadError(
            "second moments are of attributes of kind integers, or of two members, which count as 0 and 1; "
            f"{attribute.name!r} is neither",
            attribute,
        )


def _numbers(attribute: Attribute) -> Floats:
    """(members,) the number of each member: an integer itself, 0 and 1 of two labels."""
    low = attribute.low if isinstance(attribute, Integers) else 0
    return low + np.arange(attribute.size, dtype=float)
