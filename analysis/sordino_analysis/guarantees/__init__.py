"""Guarantees that a release may carry, and what each costs in an account.

On devices, in manifests and in device parts a guarantee is pure ε alone, `sordino_shared.guarantees.PureEpsilon`: what
runs there is proved from integers. The union here is that of analysts and of the server's ledgers. Another member
joins `Guarantee` and `restore`, and every accountant must price it before the types check.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, assert_never

from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

Guarantee: TypeAlias = PureEpsilon | Zcdp
GuaranteeKind = Literal["pure_epsilon", "zcdp"]


class Accountant(Protocol):
    """Prices guarantees such that the sum of the prices bounds what all releases together tell of one person."""

    def price(self, guarantee: Guarantee) -> int:
        """What an account is charged for one release with this guarantee, in billionths of the account's unit."""


class BasicComposition:
    """Accountant of sequential composition: releases under ε₁, …, εₙ are together (ε₁ + … + εₙ)-private."""

    def price(self, guarantee: Guarantee) -> int:
        """The least nano-ε whose pure guarantee implies this one; raises InvalidValue for zCDP, which none implies."""
        match guarantee:
            case PureEpsilon(nano):
                return nano
            case Zcdp():
                raise InvalidValue(f"an account of pure ε holds no {guarantee}: charge an account of ρ", guarantee)
        assert_never(guarantee)


class ConcentratedComposition:
    """Accountant of zCDP: releases under ρ₁, …, ρₙ are together (ρ₁ + … + ρₙ)-zCDP, also when chosen adaptively."""

    def price(self, guarantee: Guarantee) -> int:
        """The nano-ρ that this guarantee implies: ε·tanh(ε/2) for pure ε, rounded up."""
        match guarantee:
            case PureEpsilon():
                return Zcdp.implied_by(guarantee).nano_rho
            case Zcdp(nano_rho):
                return nano_rho
        assert_never(guarantee)


def kind_of(guarantee: Guarantee) -> GuaranteeKind:
    """The tag of a guarantee, as ledgers store it."""
    match guarantee:
        case PureEpsilon():
            return "pure_epsilon"
        case Zcdp():
            return "zcdp"
    assert_never(guarantee)


def nano_of(guarantee: Guarantee) -> int:
    """Its ε or ρ in billionths, from which `restore` makes it."""
    match guarantee:
        case PureEpsilon(nano):
            return nano
        case Zcdp(nano_rho):
            return nano_rho
    assert_never(guarantee)


def restore(kind: str, nano: int) -> Guarantee:
    """The guarantee that was stored under its tag; raises InvalidValue for a tag that this version does not know."""
    match kind:
        case "pure_epsilon":
            return PureEpsilon(nano)
        case "zcdp":
            return Zcdp(nano)
    raise InvalidValue(f"there is no guarantee of the kind {kind!r}; this version reads pure_epsilon and zcdp", kind)
