"""Wrong types of arguments of the public functions, refused at the door in words."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sordino_shared.errors import InvalidValue

P = ParamSpec("P")
R = TypeVar("R")


class WrongType(InvalidValue, TypeError):
    """An argument of another type than the function takes; `value` is the argument."""

    code = "wrong-type"
    advice = "give an argument of the type that the message names"


@dataclass(frozen=True)
class Kind:
    """What an argument may be: `name` in words, with its article, and the test."""

    name: str
    accepts: Callable[[object], bool]

    def __or__(self, other: Kind) -> Kind:
        return Kind(f"{self.name} or {other.name}", lambda value: self.accepts(value) or other.accepts(value))


def instance(*types: type, advice: str = "") -> Kind:
    """A value of one of these types; `advice` says where it comes from."""
    names = " or ".join(f"{'an' if each.__name__[0] in 'AEIOU' else 'a'} {each.__name__}" for each in types)
    return Kind(names + advice, lambda value: isinstance(value, types))


def _is_path(value: object) -> bool:
    if not isinstance(value, (str, os.PathLike)):
        return False
    try:
        text = os.fspath(value)
        return isinstance(text, str) and "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, (bool, np.bool_))


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


NONE = Kind("None", lambda value: value is None)
NUMBER = Kind("a number", _is_number)
WHOLE = Kind("a whole number", _is_whole)
SEED = Kind("a whole number of at least 0", lambda value: _is_whole(value) and int(value) >= 0)  # type: ignore[call-overload]
TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("True or False", lambda value: isinstance(value, (bool, np.bool_)))
BYTES = Kind("bytes", lambda value: isinstance(value, bytes))
PATH = Kind("the path of a file or folder", _is_path)
MAPPING = Kind("a mapping", lambda value: isinstance(value, Mapping))
FUNCTION = Kind("a function", lambda value: callable(value) and not isinstance(value, type))
PAIR = Kind(
    "a pair (ε, δ)",
    lambda value: (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(each, str) or _is_number(each) for each in value)
    ),
)
NAMES = Kind(
    "a list of names",
    lambda value: isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value),
)


def takes(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator whose function raises WrongType, an InvalidValue and a TypeError, for arguments of other kinds."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = list(inspect.signature(function).parameters)
        assert kinds.keys() <= set(names)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            given: dict[str, Any] = dict(zip(names, args, strict=False)) | kwargs
            for name, kind in kinds.items():
                if name in given:
                    check_argument(function.__name__, name, kind, given[name])
            return function(*args, **kwargs)

        return checked

    return decorate


def check_argument(function: str, name: str, kind: Kind, value: object) -> None:
    """Raise WrongType where an argument is of another kind."""
    if not kind.accepts(value):
        raise WrongType(f"{function}: {name} must be {kind.name}, not {_described(value)}", value)


def _described(value: object) -> str:
    kind = type(value).__name__
    plain = isinstance(value, (str, bytes, bool, int, float)) and len(text := repr(value)) <= 40
    return f"{kind} {text}" if plain else f"a value of type {kind}"
