"""Pairwise statistics as quadratic forms of the histogram."""

from sordino_analysis.questions.pairwise.binning import OpenBins, choose_bins
from sordino_analysis.questions.pairwise.pairwise_statistic import PairwiseStatistic, QuadraticForm
from sordino_analysis.questions.pairwise.specification import PairwiseSpecification, parse_statistic

__all__ = ["OpenBins", "PairwiseSpecification", "PairwiseStatistic", "QuadraticForm", "choose_bins", "parse_statistic"]
