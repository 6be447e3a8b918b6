"""Factorizations W = LᵀR + c1ᵀ with certificates of how close to the best they are."""

from sordino_analysis.optimisation.factorization.approximation import (
    Approximation,
    Witness,
    approximate,
    cheapest,
    zeta,
)
from sordino_analysis.optimisation.factorization.certificate import (
    Factorization,
    FactorizationError,
    check_certificate,
    counted_rows,
    dual_value,
)
from sordino_analysis.optimisation.factorization.gamma2 import factorize
from sordino_analysis.optimisation.factorization.reduction import ReducedFactorization, reduce_dimension

__all__ = [
    "Approximation",
    "Factorization",
    "FactorizationError",
    "ReducedFactorization",
    "Witness",
    "approximate",
    "cheapest",
    "check_certificate",
    "counted_rows",
    "dual_value",
    "factorize",
    "reduce_dimension",
    "zeta",
]
