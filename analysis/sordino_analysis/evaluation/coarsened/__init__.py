"""Sums over reports of coarsened randomizers: who is a member of which report, counted one by one or by transform."""

from sordino_analysis.evaluation.coarsened.membership import label_rows, membership, membership_counts
from sordino_analysis.evaluation.coarsened.walsh import add_spectrum, transform

__all__ = ["add_spectrum", "label_rows", "membership", "membership_counts", "transform"]
