"""Factorizations W = LᵀR + c1ᵀ with certificates of how close to the best they are."""

from sordino_server.design.factorization.certificate import (
    Factorization,
    FactorizationError,
    Objective,
    Progress,
    check_certificate,
    dual_value,
)
from sordino_server.design.factorization.gamma2 import factorize

__all__ = [
    "Factorization",
    "FactorizationError",
    "Objective",
    "Progress",
    "check_certificate",
    "dual_value",
    "factorize",
]
