"""Estimates of several campaigns as one tidy table."""
