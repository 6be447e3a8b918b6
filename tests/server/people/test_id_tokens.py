"""ID tokens and published keys that no provider should send, without a server."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from sordino_server.errors import ServerError
from sordino_server.people.id_tokens import person_of
from sordino_server.people.person import Person
from sordino_server.people.provider import Provider, RelyingParty
from tests.openid_issuer import unpadded

ISSUER = "https://id.example"
KEY = generate_private_key(65537, 2048)
PUBLIC = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "a"}
# When this file is read: its tests may run an hour later.
NOW = int(time.time())
CLAIMS = {"iss": ISSUER, "sub": "ada-1", "aud": "sordino", "iat": NOW, "exp": NOW + 86_400, "nonce": "n"}
HEAD = {"alg": "RS256", "kid": "a"}


class Published(Provider):
    """A provider with these keys."""

    def __init__(self, *keys: Any) -> None:
        super().__init__(RelyingParty(ISSUER, "sordino", None, "openid"))
        self._published = list(keys)

    def keys(self, *, again: bool = False) -> list[Any]:
        return self._published


def token(head: dict[str, Any] = HEAD, **changed: Any) -> str:
    """As a provider signs it that checks nothing."""
    parts = [json.dumps(each).encode() for each in (head, CLAIMS | changed)]
    signed = ".".join(unpadded(each) for each in parts)
    rsa = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256)
    return f"{signed}.{unpadded(rsa.sign(signed.encode(), KEY))}"


def person(text: str, *keys: Any) -> Person:
    return person_of(Published(*(keys or (PUBLIC,))), text, "n", "groups")


def test_a_token_of_this_provider_names_its_person() -> None:
    found = person(token(groups=["a,b", 7, "c"], name="Ada", email="ada@example.org"))
    assert (found.subject, found.groups, found.name) == ("ada-1", ("a,b", "c"), "Ada")
    assert person(token({"alg": "RS256"})).subject == "ada-1"


REFUSED = {
    "nonce of half a surrogate pair": token(nonce="\ud800"),
    "nonce of another type": token(nonce=["n"]),
    "subject of half a surrogate pair": token(sub="\ud800"),
    "subject with a null": token(sub="a\0b"),
    "subject that changes the direction": token(sub="ada\u202e1"),
    "subject that clears a terminal": token(sub="\x1b[2J"),
    "invisible subject": token(sub="\u2800"),
    "long subject": token(sub="x" * 256),
    "end without an end": token(exp=float("inf")),
    "end is no number": token(exp=[1]),
    "audience of objects": token(aud={"sordino": 1}),
    "this audience twice": token(aud=["sordino", "sordino"]),
    "key in the token": token({**HEAD, "kid": "b", "jwk": PUBLIC}),
    "critical extension": token({**HEAD, "crit": ["x"]}),
    "algorithm is a list": token({**HEAD, "alg": ["RS256"]}),
    "key id is a list": token({**HEAD, "kid": ["a"]}),
    "half a surrogate pair": "\ud800.a.b",
    "deep": unpadded(b"[" * 50_000) + ".e30.AA",
    "empty": "",
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_wrong_token_is_refused_and_breaks_nothing(wrong: str) -> None:
    with pytest.raises(ServerError, match="the ID token is refused"):
        person(REFUSED[wrong])


@pytest.mark.parametrize(
    "key", [{**PUBLIC, "n": 7}, {**PUBLIC, "n": "!"}, {**PUBLIC, "e": "AQ"}, {**PUBLIC, "use": "enc"}, "x", None, {}]
)
def test_a_wrong_key_is_no_key(key: Any) -> None:
    with pytest.raises(ServerError, match="the ID token is refused"):
        person(token(), key)


def test_a_token_without_a_key_id_needs_the_only_key() -> None:
    with pytest.raises(ServerError, match="does not publish"):
        person(token({"alg": "RS256"}), PUBLIC, {**PUBLIC, "kid": "b"})


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "\u202eadmin", 7, ""])
def test_a_name_that_hides_something_is_not_shown(name: Any) -> None:
    # In ASCII: what a failure shows may hold half a surrogate pair, which no report can carry.
    assert ascii(person(token(name=name, preferred_username="ada")).name) == "'ada'"
