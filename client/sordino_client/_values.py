"""The app's value in a campaign's domain; what the domain refuses is an error of the SDK."""

from __future__ import annotations

from sordino_client._errors import NotListed, WrongShape
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue, OutsideDomain


def codes_of(domain: Domain, value: object, *, strict: bool) -> list[int]:
    """The indices of a value's members; raises `WrongShape`, and `NotListed` where `strict`."""
    try:
        domain.check_shape(value)
    except InvalidValue as error:
        raise WrongShape(str(error)) from None
    try:
        return domain.codes(value, strict=strict)
    except OutsideDomain as error:
        raise NotListed(str(error), error.value, error.attribute) from None
