"""Certified lower bounds: what no unbiased one-round mechanism can beat."""

from sordino_server.design.bounds.trace import TraceBound, recheck, trace_bound

__all__ = ["TraceBound", "recheck", "trace_bound"]
