"""Symmetric questions: characters of the group of shifts, orbits of kernels and the bounds that go with them."""
