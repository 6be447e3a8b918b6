"""Reports from devices: read, checked, counted exactly once, answered after the commit."""

from sordino_server.reports.repository import add_refusals, insert_new, refusals
from sordino_server.reports.uploads import Overloaded, PlanMismatch, RefusedRequest, RoundNotOpen, Upload
from sordino_server.reports.writer import ReportWriter

__all__ = [
    "Overloaded",
    "PlanMismatch",
    "RefusedRequest",
    "ReportWriter",
    "RoundNotOpen",
    "Upload",
    "add_refusals",
    "insert_new",
    "refusals",
]
