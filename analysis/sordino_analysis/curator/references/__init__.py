"""Mechanisms of the literature, with exact noise, to compare releases with; no plan chooses them."""
