"""Matrices in, matrices out: factorizations, searches for kernels, lower bounds, symmetric programs."""
