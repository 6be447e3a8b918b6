"""Sealing a report for the collector, so that a shuffler in between cannot read it: HPKE of RFC 9180, base mode.

Suite 1 is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM. What `info` names (campaign, round, plan) goes into
the key, so that a report opens to nothing anywhere else. `cryptography` is imported at the first use: only devices of
shuffled campaigns need it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from sordino_shared.errors import InvalidValue

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import Suite

KEY_BYTES = 32


def seal(public_key: bytes, info: bytes, plaintext: bytes) -> bytes:
    """The ephemeral key (32 bytes), then the encrypted plaintext and its tag: 48 bytes more than the plaintext.

    Two calls with the same values give different bytes. Raises InvalidValue for a key that is none, and where the
    library is missing.
    """
    suite = _suite()
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return suite.encrypt(plaintext, X25519PublicKey.from_public_bytes(public_key), info)
    except ValueError as error:
        raise InvalidValue("the collector's key is no X25519 key that seals", public_key) from error


def open_sealed(private_key: bytes, info: bytes, sealed: bytes) -> bytes | None:
    """The plaintext; None where the bytes were not sealed for this key and `info`, or were changed.

    Raises InvalidValue for a private key that is not 32 bytes long, and where the library is missing.
    """
    return opener(private_key, info)(sealed)


def opener(private_key: bytes, info: bytes) -> Callable[[bytes], bytes | None]:
    """`open_sealed` of many reports: the key is made ready once, which is two fifths of the work.

    Raises InvalidValue as `open_sealed` does.
    """
    suite = _suite()
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    if len(private_key) != KEY_BYTES:
        raise InvalidValue(f"a private key has {KEY_BYTES} bytes, got {len(private_key)}", len(private_key))
    key = X25519PrivateKey.from_private_bytes(private_key)

    def open_one(sealed: bytes) -> bytes | None:
        try:
            return suite.decrypt(sealed, key, info)
        except (InvalidTag, ValueError):
            return None

    return open_one


def check_available() -> None:
    """Raise InvalidValue where the library that seals is missing."""
    _suite()


def make_key() -> tuple[bytes, bytes]:
    """(private, public) of a new X25519 key, 32 bytes each; raises InvalidValue where the library is missing."""
    _suite()
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    private = X25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


@cache
def _suite() -> Suite:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise InvalidValue(
            "sealed reports need a library: pip install 'sordino-client[shuffled]', which is cryptography 50 or newer"
        ) from None
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
