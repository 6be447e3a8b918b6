"""Requests for plans, and the immutable parts of the plans that were computed."""
