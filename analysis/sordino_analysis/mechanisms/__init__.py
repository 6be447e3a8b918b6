"""Candidate mechanisms that the planner compares."""

from sordino_analysis.mechanisms.mechanism import Candidate, CandidateFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.registry import CANDIDATES, mechanism_names

__all__ = ["CANDIDATES", "Candidate", "CandidateFailed", "Proposal", "SharedWork", "mechanism_names"]
