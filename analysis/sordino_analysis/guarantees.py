"""Guarantees that a release may carry, and what each costs in an account of ε.

On devices, in manifests and in device parts a guarantee is pure ε alone, `sordino_shared.guarantees.PureEpsilon`: what
runs there is proved from integers. The union here is that of analysts and of the server's ledgers. Another member
joins `Guarantee` and `restore`, and every accountant must price it before the types check.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, assert_never

from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

Guarantee: TypeAlias = PureEpsilon
GuaranteeKind = Literal["pure_epsilon"]


class Accountant(Protocol):
    """Prices guarantees such that the sum of the prices bounds what all releases together tell of one person."""

    def price(self, guarantee: Guarantee) -> int:
        """Nano-ε that an account is charged for one release with this guarantee."""


class BasicComposition:
    """Accountant of sequential composition: releases under ε₁, …, εₙ are together (ε₁ + … + εₙ)-private."""

    def price(self, guarantee: Guarantee) -> int:
        """The least nano-ε whose pure guarantee implies this one."""
        match guarantee:
            case PureEpsilon(nano):
                return nano
        assert_never(guarantee)


def kind_of(guarantee: Guarantee) -> GuaranteeKind:
    """The tag of a guarantee, as ledgers store it."""
    match guarantee:
        case PureEpsilon():
            return "pure_epsilon"
    assert_never(guarantee)


def restore(kind: str, nano: int) -> Guarantee:
    """The guarantee that was stored under its tag; raises InvalidValue for a tag that this version does not know."""
    if kind == "pure_epsilon":
        return PureEpsilon(nano)
    raise InvalidValue(f"there is no guarantee of the kind {kind!r}; this version reads pure_epsilon", kind)
