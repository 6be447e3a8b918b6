"""Releases: one workload answered once from a dataset, with noise; what is spent is committed before it is drawn."""

from sordino_server.releases.repository import oldest_waiting

__all__ = ["oldest_waiting"]
