"""Counts of the product's source: its size, its functions, and what is said in more than one place."""
