"""Operators' keys: who may do what."""
