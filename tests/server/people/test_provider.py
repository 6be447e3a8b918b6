"""What a provider publishes is checked: its name, and that what is sent to its addresses goes over TLS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.kit.db import Database
from sordino_server.models import Role
from sordino_server.people import provider as provider_module
from sordino_server.people.provider import IssuerFailed, Provider, RelyingParty

ISSUER = "https://id.example"
FOUND: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/jwks",
}


class Answer:
    """An answer with this content."""

    is_success, status = True, 200

    def __init__(self, content: bytes) -> None:
        self._content = content

    def content(self) -> bytes:
        return self._content


class Published(Provider):
    """A provider that publishes this of itself."""

    def __init__(self, found: dict[str, Any], issuer: str = ISSUER) -> None:
        super().__init__(RelyingParty(issuer, "sordino", "secret", "openid"))
        self._found = found

    def _read(self, url: str, *, again: bool = False) -> dict[str, Any]:
        return self._found


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://evil.example"},
        {"issuer": ISSUER + "/"},
        {"token_endpoint": "http://evil.example/token"},
        # Another machine's provider sends no request of this server to a program beside it.
        {"token_endpoint": "http://127.0.0.1:8000/v1/keys"},
        {"jwks_uri": "http://localhost/"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"jwks_uri": 7},
    ],
)
def test_another_provider_or_address_is_refused(change: dict[str, Any]) -> None:
    assert Published(FOUND).metadata() == FOUND
    with pytest.raises(IssuerFailed):
        Published(FOUND | change).metadata()


def test_a_provider_on_this_machine_may_do_without_tls() -> None:
    found = {name: value.replace(ISSUER, "http://127.0.0.1:81") for name, value in FOUND.items()}
    assert Published(found, "http://127.0.0.1:81").metadata() == found


def test_a_page_for_signing_out_is_one_over_tls() -> None:
    assert Published(FOUND | {"end_session_endpoint": f"{ISSUER}/bye"}).sign_out() == f"{ISSUER}/bye"
    for page in (None, "javascript:alert(1)", "http://127.0.0.1/"):
        assert Published(FOUND | {"end_session_endpoint": page}).sign_out() is None


@pytest.mark.parametrize(
    ("methods", "basic"),
    [(None, True), ([], True), (7, True), (["client_secret_post"], False), (["none", "client_secret_basic"], True)],
)
def test_the_secret_goes_as_the_provider_takes_it(methods: Any, basic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Mapping[str, str], bytes]] = []

    def ask(method: str, url: str, headers: Mapping[str, str], content: bytes = b"") -> Any:
        sent.append((headers, content))
        return Answer(b'{"id_token": "x"}')

    monkeypatch.setattr(provider_module, "_ask", ask)
    provider = Published(FOUND | {"token_endpoint_auth_methods_supported": methods})
    assert provider.exchange("code", "verifier", "https://sordino.example/back") == "x"
    ((headers, content),) = sent
    assert ("Authorization" in headers, b"client_secret" in content) == (basic, not basic)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 50_000])
def test_an_answer_that_is_no_object_is_the_providers_fault(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_module, "_ask", lambda *_, **__: Answer(content))
    with pytest.raises(IssuerFailed):
        Provider(RelyingParty(ISSUER, "sordino", None, "openid")).metadata()


def test_a_person_never_gets_the_row_of_another_operator(migrated_sqlite_url: str) -> None:
    """An id is the first 64 bits of a digest, and ids of keys are no secret."""
    database = Database(migrated_sqlite_url)
    with database.write("test") as session:
        key = keys.create(session, "machine", Role.ADMIN, 0).key
        with pytest.raises(ServerError, match="another operator has your id"):
            keys.put_person(session, key.id + "0" * 48, "issuer#ada", Role.ADMIN, 0)
        assert key.name == "machine"
    database.close()
