"""Certified lower bounds: what no unbiased one-round mechanism can beat."""

from sordino_analysis.optimisation.bounds.doubly_nonnegative import (
    DoublyNonnegativeBound,
    doubly_nonnegative_bound,
    recheck_doubly_nonnegative,
)
from sordino_analysis.optimisation.bounds.trace import TraceBound, recheck, trace_bound

__all__ = [
    "DoublyNonnegativeBound",
    "TraceBound",
    "doubly_nonnegative_bound",
    "recheck",
    "recheck_doubly_nonnegative",
    "trace_bound",
]
