"""Estimates of closed rounds: computed once, stored as bytes, the same on every read."""
