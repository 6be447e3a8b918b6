"""Operators' keys: who may do what."""

from sordino_server.keys.repository import WARNED_S, ending_before

__all__ = ["WARNED_S", "ending_before"]
