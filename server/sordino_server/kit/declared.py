"""Functions whose parameters a framework reads, made from others that take a few more or less of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """The parameters by name, each with its annotation as a type."""
    hints = get_type_hints(function, include_extras=True)
    return [
        each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[each.name])
        for each in signature(function).parameters.values()
    ]


def declare(function: Callable[..., Any], like: Callable[..., Any], parameters: Iterable[Parameter]) -> None:
    """Give `function`, which takes anything by name, the name and docstring of another one, and these parameters."""
    listed = list(parameters)
    function.__name__, function.__doc__ = like.__name__, like.__doc__
    function.__annotations__ = {each.name: each.annotation for each in listed}
    function.__signature__ = Signature(listed)  # type: ignore[attr-defined]
