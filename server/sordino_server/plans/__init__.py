"""Requests for plans, and the immutable parts of the plans that were computed."""

from sordino_server.plans.repository import count_by_state, oldest_waiting

__all__ = ["count_by_state", "oldest_waiting"]
