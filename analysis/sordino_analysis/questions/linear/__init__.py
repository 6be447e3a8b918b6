"""Workloads: linear queries over a domain, and the files that describe them.

The names load on first use: machines that only add up reports have neither pydantic nor PyYAML, and specifications
need both.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino_analysis.questions.linear.files import load_specification
    from sordino_analysis.questions.linear.operators import LinearMap, TooLargeForDense
    from sordino_analysis.questions.linear.specification import (
        WorkloadSpecification,
        builtin,
        parse_specification,
    )
    from sordino_analysis.questions.linear.workload import Workload, WorkloadError

_PLACES = {
    "LinearMap": "operators",
    "TooLargeForDense": "operators",
    "Workload": "workload",
    "WorkloadError": "workload",
    "WorkloadSpecification": "specification",
    "builtin": "specification",
    "load_specification": "files",
    "parse_specification": "specification",
}

__all__ = [
    "LinearMap",
    "TooLargeForDense",
    "Workload",
    "WorkloadError",
    "WorkloadSpecification",
    "builtin",
    "load_specification",
    "parse_specification",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
