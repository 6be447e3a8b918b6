"""Strategies of least Laplace noise: matrices whose columns have ℓ₁ norm 1."""
