"""The gate of a campaign with tokens, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from sordino_analysis.strict_model import StrictModel
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import AccountGate, AddressGate, Gate, HookGate
from sordino_shared.protocol.tokens import MAX_PER_DAY


class GateTerms(StrictModel):
    """Through what a device gets the token of its report."""

    kind: Literal["account", "address", "hook"] = Field(
        description="account: your backend asks, with a key of role issuer, once for each account. address: a quota "
        "for each network address. hook: the program SORDINO_TOKEN_HOOK decides by what the device sends."
    )
    per_day: int | None = Field(
        None, strict=True, ge=1, le=MAX_PER_DAY, description="Gate address: tokens for each address and day (UTC)."
    )

    def gate(self) -> Gate:
        """The gate of the manifest; raises InvalidValue for a quota of another gate, or an address without one."""
        if (self.per_day is None) is (self.kind == AddressGate.kind):
            raise InvalidValue("/gate/per_day: the gate address has a number of tokens a day, and no other has", None)
        if self.per_day is not None:
            return AddressGate(self.per_day)
        return AccountGate() if self.kind == AccountGate.kind else HookGate()

    def in_words(self) -> str:
        """Who gets a token, and what of that is kept."""
        return {
            "account": "one report for each token, which each account of the app gets once a round; the server keeps a "
            "keyed hash of the account's name",
            "address": f"one report for each token, of which a network address gets {self.per_day} a day; addresses "
            "are in memory alone",
            "hook": "one report for each token, which devices get that a program of the server's operator accepts by "
            "what they attest",
        }[self.kind] + "; no token tells which of the devices with one sent a report"

    @classmethod
    def of(cls, gate: Gate) -> Self:
        """What is shown of a manifest's gate."""
        return cls(kind=gate.kind, per_day=gate.per_day if isinstance(gate, AddressGate) else None)


def check_gate(gate: Gate | None, token_hook: Path | None) -> None:
    """Raise InvalidValue for a gate that this server cannot keep."""
    if isinstance(gate, HookGate) and token_hook is None:
        raise InvalidValue("/gate: the gate hook needs a program: set SORDINO_TOKEN_HOOK on this server", None)
