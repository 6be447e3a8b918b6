"""An OpenID provider on loopback: discovery, JWKS, codes with PKCE that work once, ID tokens signed with RS256.

Its address is http://localhost, and the console's http://127.0.0.1: for a browser these are two sites.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

CLIENT, SECRET = "sordino", "a secret: with % and blanks"
Change = Callable[[dict[str, Any]], dict[str, Any]]


def unpadded(content: bytes) -> str:
    """Base64 as addresses have it."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@dataclass
class OpenIdIssuer:
    """The provider: `people` are known to it by subject, and `signed_in` is who sits before every browser."""

    address: str = ""
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    signed_in: str | None = None
    keys: dict[str, RSAPrivateKey] = field(default_factory=dict)
    kid: str = ""
    # Changes of metadata and claims, and another way to make a token of claims.
    metadata: Change = dict
    claims: Change = dict
    encode: Callable[[dict[str, Any]], str] | None = None
    asked: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def rotate(self) -> None:
        """Sign with a new key, and publish it alone."""
        self.kid = secrets.token_hex(4)
        self.keys = {self.kid: generate_private_key(65537, 2048)}

    def published(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return self.metadata(
                {
                    "issuer": self.address,
                    "authorization_endpoint": f"{self.address}/authorize?tenant=1",
                    "token_endpoint": f"{self.address}/token",
                    "jwks_uri": f"{self.address}/jwks",
                    "end_session_endpoint": f"{self.address}/bye",
                    "id_token_signing_alg_values_supported": ["RS256"],
                }
            )
        if path == "/jwks":
            algorithm = jwt.algorithms.RSAAlgorithm
            keys = [algorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": kid} for kid, key in self.keys.items()]
            return {"keys": [{"kty": "oct", "k": "AA", "kid": "old"}, *keys]}
        return None

    def authorize(self, asked: dict[str, str]) -> str | None:
        """Where the browser goes; None where the person has to be asked."""
        back = {"state": asked["state"], "session_state": "x"}
        if self.signed_in not in self.people:
            if asked.get("prompt") != "none":
                return None
            return f"{asked['redirect_uri']}?{urlencode({'error': 'login_required', **back})}"
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked | {"sub": self.signed_in or ""}
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'iss': self.address, **back})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """An ID token for a code, once."""
        pair = urlencode({"": CLIENT})[1:] + ":" + urlencode({"": SECRET})[1:].replace("+", "%20")
        if authorization != "Basic " + base64.b64encode(pair.encode()).decode():
            return 401, {"error": "invalid_client"}
        asked = self._codes.pop(form["code"], None)
        challenge = unpadded(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.address,
            "sub": asked["sub"],
            "aud": asked["client_id"],
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.people[asked["sub"]],
        }
        claims = self.claims(claims)
        if self.encode is not None:
            return 200, {"id_token": self.encode(claims), "token_type": "Bearer", "access_token": "x"}
        token = jwt.encode(claims, self.keys[self.kid], algorithm="RS256", headers={"kid": self.kid})
        return 200, {"id_token": token, "token_type": "Bearer", "access_token": "x"}


def _handler(issuer: OpenIdIssuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            issuer.asked.append(parts.path)
            if parts.path == "/authorize":
                self._authorize(dict(parse_qsl(parts.query)))
                return
            found = issuer.published(parts.path)
            self._send(404 if found is None else 200, json.dumps(found), "application/json")

        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            issuer.asked.append(parts.path)
            form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            if parts.path == "/login":
                issuer.signed_in = form["who"]
                self._authorize(dict(parse_qsl(form["asked"])))
                return
            status, found = issuer.token(form, self.headers.get("Authorization", ""))
            self._send(status, json.dumps(found), "application/json")

        def _authorize(self, asked: dict[str, str]) -> None:
            target = issuer.authorize(asked)
            if target is not None:
                self.send_response(303)
                self.send_header("Location", target)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            kept = html.escape(urlencode(asked), quote=True)
            self._send(
                200,
                f'<!doctype html><html lang="en"><title>Issuer</title><link rel="icon" href="data:,">'
                f'<form method="post" action="/login"><input type="hidden" name="asked" value="{kept}">'
                '<label>Who <input name="who"></label><button>Go</button></form></html>',
                "text/html",
            )

        def _send(self, status: int, text: str, kind: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def open_id_issuer() -> Iterator[OpenIdIssuer]:
    """A provider that runs as long as the block."""
    issuer = OpenIdIssuer()
    issuer.rotate()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(issuer)) as server:
        issuer.address = f"http://localhost:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
