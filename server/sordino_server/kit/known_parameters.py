"""Query parameters that an operation does not have are refused, as unknown fields of a body are."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from sordino_shared.errors import InvalidValue


async def check_parameters(request: Request) -> None:
    """A dependency of routes: `?pagesize=5` is an error, and not a page of the usual size."""
    route = request.scope["route"]
    known = parameters_of(route.dependant) if isinstance(route, APIRoute) else set()
    check_known(request.query_params.keys(), known)
    for name, value in request.query_params.multi_items():
        if "\x00" in value:
            # PostgreSQL compares no such text.
            raise InvalidValue(f"/query/{name}: it has the character U+0000, which no text has: leave it out", value)


def check_known(given: Iterable[str], known: set[str]) -> None:
    """Raise InvalidValue, which names the first parameter that there is not and those that there are."""
    unknown = [name for name in given if name not in known]
    if unknown:
        there_are = f"there are {', '.join(sorted(known))}" if known else "this path takes none"
        raise InvalidValue(f"/query/{unknown[0][:100]}: there is no such parameter; {there_are}", unknown)


def parameters_of(dependant: Dependant) -> set[str]:
    """Names of the query parameters of an operation and of what it depends on."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*(parameters_of(inner) for inner in dependant.dependencies))
