"""Experiments: the pinned rule of a campaign with arms, and one immutable look for each planned day."""
