"""Pairwise statistics: what an analyst asks of pairs of users, as quadratic forms of the histogram."""

from sordino_analysis.questions.pairwise.binning import OpenBins, choose_bins
from sordino_analysis.questions.pairwise.specification import StatisticSpecification, parse_statistic
from sordino_analysis.questions.pairwise.statistic import QuadraticForm, Statistic

__all__ = ["OpenBins", "QuadraticForm", "Statistic", "StatisticSpecification", "choose_bins", "parse_statistic"]
