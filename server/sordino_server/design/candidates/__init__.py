"""Candidate mechanisms that the planner compares."""

from sordino_server.design.candidates.base import Candidate, Proposal, SharedWork
from sordino_server.design.candidates.registry import CANDIDATES, mechanism_names

__all__ = ["CANDIDATES", "Candidate", "Proposal", "SharedWork", "mechanism_names"]
