"""The pure ε that a release of a trusted curator is made with."""

from __future__ import annotations

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import NANO, PureEpsilon

# Below nothing is answered, above nothing is protected.
LEAST_EPSILON, MOST_EPSILON = PureEpsilon(NANO // 1000), PureEpsilon(64 * NANO)


def in_range(guarantee: PureEpsilon) -> bool:
    """Whether releases are made with this ε."""
    return LEAST_EPSILON <= guarantee <= MOST_EPSILON


def check_epsilon(guarantee: PureEpsilon) -> None:
    """Raise InvalidValue for an ε that a release is not made with."""
    if not in_range(guarantee):
        raise InvalidValue(f"a release is made with ε from 0.001 to 64, got {guarantee}", guarantee)
