"""Experiments: when may one look, what counts as a difference, how long must it run."""
