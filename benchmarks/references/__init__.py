"""Mechanisms and figures of the literature that plans are compared with; no plan chooses them."""
