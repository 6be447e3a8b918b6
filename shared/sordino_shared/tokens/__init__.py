"""Anonymous tokens: who issued one cannot tell which it is when it is redeemed (RFC 9497, over RFC 9496's group)."""

from sordino_shared.tokens.ristretto import ELEMENT_BYTES
from sordino_shared.tokens.voprf import (
    OUTPUT_BYTES,
    PROOF_BYTES,
    SEED_BYTES,
    InvalidProof,
    IssuerKey,
    blind,
    evaluate,
    finalize,
    redeem,
)

__all__ = [
    "ELEMENT_BYTES",
    "OUTPUT_BYTES",
    "PROOF_BYTES",
    "SEED_BYTES",
    "InvalidProof",
    "IssuerKey",
    "blind",
    "evaluate",
    "finalize",
    "redeem",
]
