"""Candidate mechanisms that the planner compares."""

from sordino_analysis.mechanisms.mechanism import Mechanism, MechanismFailed, Proposal, SharedWork
from sordino_analysis.mechanisms.registry import MECHANISMS, mechanism_names

__all__ = ["MECHANISMS", "Mechanism", "MechanismFailed", "Proposal", "SharedWork", "mechanism_names"]
