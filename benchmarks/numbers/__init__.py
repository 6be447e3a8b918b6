"""Means of numbers beside the mechanisms of the literature."""
