"""What a release of a curator keeps, in a few words."""

from __future__ import annotations

from sordino_analysis.documents.curator_summary import CuratorPromise
from sordino_analysis.figures import chosen, figure


def promise_text(promise: CuratorPromise) -> str:
    """`pure ε = 1`, or ρ with the (ε, δ) that follows."""
    if promise.rho is None:
        return f"pure ε = {chosen(promise.epsilon)}"
    return f"ρ = {chosen(promise.rho)} (ε = {figure(promise.epsilon)} at δ = {chosen(promise.delta)})"
