"""Releases: one workload answered once from a dataset, with noise; what is spent is committed before it is drawn."""
