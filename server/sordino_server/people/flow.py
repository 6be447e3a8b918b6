"""One sign-in at an OpenID provider: everything that must come back comes from one secret in the browser's cookie.

`state`, `nonce` and the verifier of PKCE (RFC 7636) are HMACs under the secret, so that the server stores nothing
until the person is known, and another browser has none of them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import unquote

LIFETIME_S = 600
# Of a state, which tell the flows of a browser apart.
DIGITS = 16
_START = "/console/questions"
# Within the console alone: no other address of this server, and none of another one.
_LOCAL = re.compile(r"/console/[A-Za-z0-9._~/?&=%:+,-]{0,1000}")
_NO_TARGET = ("/console/sign-in", "/console/sign-out")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TYPES = [str, str, str, bool]


def local_page(path: str) -> str:
    """The page of the console that a sign-in goes to: `path`, or the first one where it is no page of the console."""
    # A browser takes dot segments out, also encoded ones, and so comes to other pages than the path begins with.
    dots = {".", ".."} & set(unquote(path.partition("?")[0]).split("/"))
    return path if _LOCAL.fullmatch(path) and not dots and not path.startswith(_NO_TARGET) else _START


@dataclass(frozen=True)
class Flow:
    """A sign-in that has begun: the page that it goes to, and the SHA-256 of the browser's session, or nothing.

    That session is renewed where the sign-in is silent, and ends with any other.
    """

    target: str
    before: str = ""
    silent: bool = False
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def state(self) -> str:
        """What the issuer sends back in the address."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What the ID token has to have."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What the token endpoint is shown with the code."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """S256 of the verifier."""
        return _base64(hashlib.sha256(self.verifier.encode()).digest())

    @property
    def cookie(self) -> str:
        """What the browser keeps."""
        return _base64(json.dumps([self.secret, self.target, self.before, self.silent]).encode())

    @classmethod
    def of_cookie(cls, value: str, state: str) -> Self | None:
        """The flow that began in this browser with this state, None for any other."""
        try:
            read = json.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
        except (ValueError, RecursionError):
            return None
        if not (isinstance(read, list) and [type(each) for each in read] == _TYPES):
            return None
        secret, target, before, silent = read
        known = bool(_DIGEST.fullmatch(before))
        flow = cls(local_page(target), before if known else "", silent and known, secret)
        return flow if hmac.compare_digest(flow.state.encode(), state.encode("utf-8", "surrogatepass")) else None

    def _derived(self, label: str) -> str:
        key = self.secret.encode("utf-8", "surrogatepass")
        return _base64(hmac.new(key, f"sordino sign-in {label}".encode(), hashlib.sha256).digest())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
