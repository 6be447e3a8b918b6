"""Workloads: linear queries over a domain, and the files that describe them."""

from sordino_analysis.questions.linear.files import load_specification
from sordino_analysis.questions.linear.operators import LinearMap, TooLargeForDense
from sordino_analysis.questions.linear.specification import (
    WorkloadSpecification,
    builtin,
    parse_specification,
)
from sordino_analysis.questions.linear.workload import Workload, WorkloadError

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
