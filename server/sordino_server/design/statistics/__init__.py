"""Pairwise statistics: what an analyst asks of pairs of users, as quadratic forms of the histogram."""

from sordino_server.design.statistics.statistic import QuadraticForm, Statistic

__all__ = ["QuadraticForm", "Statistic"]
