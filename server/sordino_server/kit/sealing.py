"""Bytes sealed with a key that the database has not: AES-256-GCM, bound to a text that is stored beside them."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any

from sordino_shared.errors import InvalidValue, SordinoError

_HEX_KEY = re.compile("[0-9a-fA-F]{64}")
_FORM, _NONCE_BYTES = b"\x01", 12
# 32 random bytes have fewer distinct ones with a chance below 10⁻¹⁸.
_LEAST_DISTINCT = 16
MAKE_A_KEY = "make one with `openssl rand -hex 32`"


class CannotOpen(SordinoError):
    """Sealed bytes that this key does not open, or not beside this text."""


def check_key(written: str) -> None:
    """Raise InvalidValue unless the text is 64 hexadecimal digits that look random."""
    if _HEX_KEY.fullmatch(written) is None:
        raise InvalidValue(f"a key is 64 hexadecimal digits: {MAKE_A_KEY}")
    if len(set(bytes.fromhex(written))) < _LEAST_DISTINCT:
        raise InvalidValue(f"this key is no random one: {MAKE_A_KEY}")


class Sealer:
    """Seals with a key of 64 hexadecimal digits. Equal contents have unlike seals, 29 bytes longer than they are."""

    def __init__(self, key: str) -> None:
        # A server without datasets need not wait for it.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._key = bytes.fromhex(key)
        self._cipher: Any = AESGCM(self._key)

    def seal(self, content: bytes, beside: str) -> bytes:
        """The content, which opens beside the same text alone."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _FORM + nonce + bytes(self._cipher.encrypt(nonce, content, beside.encode()))

    def fingerprint(self, text: str) -> str:
        """64 hexadecimal digits, HMAC-SHA-256 under the key: without it nobody can test what the text was."""
        return hmac.new(self._key, f"sordino fingerprint\n{text}".encode(), hashlib.sha256).hexdigest()

    def open(self, sealed: bytes, beside: str) -> bytes:
        """What was sealed; raises CannotOpen."""
        from cryptography.exceptions import InvalidTag

        nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return bytes(self._cipher.decrypt(nonce, rest, beside.encode()))
        except (InvalidTag, ValueError):
            raise CannotOpen("it was sealed with another key, or was changed") from None
