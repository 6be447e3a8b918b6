"""Candidate mechanisms that the planner compares."""

from sordino_server.design.candidates.base import Candidate, CandidateFailed, Proposal, SharedWork
from sordino_server.design.candidates.registry import CANDIDATES, mechanism_names

__all__ = ["CANDIDATES", "Candidate", "CandidateFailed", "Proposal", "SharedWork", "mechanism_names"]
