"""Linear algebra in one thread while a plan is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def one_thread(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Limit BLAS to one thread while `function` runs, and give it its threads back afterwards.

    Most matrices of a search are small: with two threads they take five times the processor time. Only libraries that
    are loaded can be limited: modules with such a function import NumPy and SciPy at their head.
    """

    @wraps(function)
    def limited(*arguments: _Arguments.args, **keywords: _Arguments.kwargs) -> _Result:
        with threadpool_limits(limits=1, user_api="blas"):
            return function(*arguments, **keywords)

    return limited
