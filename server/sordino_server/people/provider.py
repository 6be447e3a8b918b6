"""An OpenID provider: its published settings and keys, where browsers are sent, and ID tokens in exchange for codes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode

from sordino_server.errors import ServerError
from sordino_server.kit.addresses import is_this_machine
from sordino_server.kit.outgoing import server_at
from sordino_shared.errors import InvalidValue, NoAnswer, OversizedDocument
from sordino_shared.http.address import Address
from sordino_shared.http.exchange import HttpAnswer, HttpRequest
from sordino_shared.protocol import Problem

_LIMIT = 1 << 18
_WITHIN_S = 10.0
# Providers publish a new key a while before they sign with it; one that is not known is asked for at once.
_KEPT_S = 3600.0
_ASKED_AGAIN_S = 10.0
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class IssuerFailed(ServerError):
    """The OpenID provider does not answer, or not as OpenID Connect says."""

    def __init__(self, detail: str) -> None:
        super().__init__(Problem.UNAVAILABLE, f"the OpenID provider {detail}: try again, or sign in with a key")


@dataclass(frozen=True)
class RelyingParty:
    """This server at the provider."""

    issuer: str
    client_id: str
    secret: str | None
    scopes: str


@dataclass
class _Kept:
    value: dict[str, Any]
    until: float
    asked: float


class Provider:
    """Of one client; for any number of threads. What is published is read again after an hour."""

    def __init__(self, client: RelyingParty, *, tick: Callable[[], float] = monotonic) -> None:
        self.client = client
        self._tick = tick
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def metadata(self) -> Mapping[str, Any]:
        """What the provider says of itself; raises IssuerFailed, also where it is another issuer."""
        found = self._read(self.client.issuer.rstrip("/") + "/.well-known/openid-configuration")
        if found.get("issuer") != self.client.issuer:
            raise IssuerFailed(f"says that it is {str(found.get('issuer'))[:100]!r}, and not {self.client.issuer}")
        for name in _ENDPOINTS:
            self._check_endpoint(name, found.get(name))
        return found

    def keys(self, *, again: bool = False) -> list[Any]:
        """The published keys, as JWK; `again` reads them again where that was not done within ten seconds."""
        keys = self._read(self.metadata()["jwks_uri"], again=again).get("keys")
        if not isinstance(keys, list):
            raise IssuerFailed("publishes no list of keys")
        return keys

    def authorization(self, redirect_uri: str, state: str, nonce: str, challenge: str, *, silent: bool) -> str:
        """The address at which a browser asks for a code; `silent` shows the person nothing."""
        asked = {
            "response_type": "code",
            "client_id": self.client.client_id,
            "redirect_uri": redirect_uri,
            "scope": self.client.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        } | ({"prompt": "none"} if silent else {})
        endpoint = str(self.metadata()["authorization_endpoint"])
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    def exchange(self, code: str, verifier: str, redirect_uri: str) -> str:
        """The ID token for a code; raises `forbidden` where the provider refuses the code, as the second time."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
            "client_id": self.client.client_id,
        }
        found = self._post(fields)
        token = found.get("id_token")
        if not isinstance(token, str):
            raise IssuerFailed("answers without an ID token")
        return token

    def sign_out(self) -> str | None:
        """The page at which a person signs out of the provider, where it has one and answers."""
        try:
            found = self.metadata().get("end_session_endpoint")
            self._check_endpoint("end_session_endpoint", found)
        except IssuerFailed:
            return None
        return str(found)

    def _check_endpoint(self, name: str, url: object) -> None:
        """Raise IssuerFailed unless this is an address over TLS, or of this machine as the provider itself."""
        try:
            address, _ = Address.parse_url(url if isinstance(url, str) else "")
        except InvalidValue as error:
            raise IssuerFailed(f"names no {name}") from error
        near = is_this_machine(Address.parse(self.client.issuer).host)
        if address.scheme != "https" and not (near and is_this_machine(address.host)):
            raise IssuerFailed(f"names a {name} without TLS")

    def _post(self, fields: dict[str, str]) -> dict[str, Any]:
        metadata = self.metadata()
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self.client.secret is not None:
            methods = metadata.get("token_endpoint_auth_methods_supported")
            if not isinstance(methods, list) or not methods or "client_secret_basic" in methods:
                pair = f"{quote(self.client.client_id, safe='')}:{quote(self.client.secret, safe='')}"
                headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
            else:
                fields = fields | {"client_secret": self.client.secret}
        answer = _ask("POST", str(metadata["token_endpoint"]), headers, urlencode(fields).encode())
        content = answer.content()
        if answer.is_success:
            return _document(content)
        error = _error_in(content)
        if error == "invalid_grant":
            raise ServerError(
                Problem.FORBIDDEN, "the OpenID provider refused the code: it was used, or is too old; sign in again"
            )
        raise IssuerFailed(f"refused this server's request ({answer.status}{', ' + error if error else ''})")

    def _read(self, url: str, *, again: bool = False) -> dict[str, Any]:
        with self._lock:
            now, kept = self._tick(), self._kept.get(url)
            if kept is not None and now < kept.until and not (again and now >= kept.asked + _ASKED_AGAIN_S):
                return kept.value
            answer = _ask("GET", url, {"Accept": "application/json"})
            if not answer.is_success:
                raise IssuerFailed(f"answers with {answer.status} for {url}")
            value = _document(answer.content())
            self._kept[url] = _Kept(value, now + _KEPT_S, now)
            return value


def _ask(method: str, url: str, headers: Mapping[str, str], content: bytes | None = None) -> HttpAnswer:
    address, path = Address.parse_url(url)
    asked = HttpRequest(method=method, path=path, limit=_LIMIT, within_s=_WITHIN_S, headers=headers, content=content)
    try:
        return server_at(address.url("")).exchange(asked)
    except (NoAnswer, OversizedDocument) as error:
        raise IssuerFailed("does not answer as it should") from error


def _document(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise IssuerFailed("answers with what is no JSON") from error
    if not isinstance(found, dict):
        raise IssuerFailed("answers with another JSON than an object")
    return found


def _error_in(content: bytes) -> str:
    try:
        error = _document(content).get("error")
    except IssuerFailed:
        return ""
    return error if isinstance(error, str) and error.isascii() and error.replace("_", "").isalnum() else ""
