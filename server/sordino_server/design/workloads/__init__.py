"""Workloads: what an analyst asks, as linear maps over a domain, and the files that describe them."""

from sordino_server.design.workloads.files import load_specification
from sordino_server.design.workloads.operators import LinearMap, TooLargeForDense
from sordino_server.design.workloads.specification import (
    WorkloadSpecification,
    builtin,
    parse_specification,
)
from sordino_server.design.workloads.workload import Workload, WorkloadError

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
