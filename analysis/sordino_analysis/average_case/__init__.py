"""Aldà and Simon's setting: one known rule, answered right on average over databases, not for each of them."""
