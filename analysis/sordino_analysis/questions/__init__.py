"""Workloads of linear queries, pairwise statistics, and their specifications."""
