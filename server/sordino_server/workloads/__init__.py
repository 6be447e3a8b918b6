"""Workloads as operators register them."""
