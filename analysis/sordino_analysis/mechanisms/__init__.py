"""Mechanisms that the planner compares: one file each, all of them in `registry`."""
