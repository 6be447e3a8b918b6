"""Exact variances and biases of shipped integers, moments of accumulators, manipulation bounds."""
