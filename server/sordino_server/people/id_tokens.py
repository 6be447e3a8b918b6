"""ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), whose signatures and times PyJWT checks."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import jwt

from sordino_server.errors import ServerError
from sordino_server.people.person import Person, is_subject
from sordino_server.people.provider import Provider
from sordino_shared._text import is_legible
from sordino_shared.protocol import Problem

# Of public keys alone: no secret that both sides have, and never `none`.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY_S = 60
_REQUIRED = ("iss", "sub", "aud", "exp", "iat", "nonce")
_LONGEST = 255


def person_of(provider: Provider, token: str, nonce: str, groups_claim: str) -> Person:
    """The person of an ID token for this client and this sign-in; raises `forbidden` for any other token."""
    try:
        claims = _claims(provider, token)
    except jwt.PyJWTError as error:
        raise _refused(str(error)) from error
    given = claims["nonce"].encode("utf-8", "surrogatepass") if isinstance(claims["nonce"], str) else b""
    if not secrets.compare_digest(given, nonce.encode()):
        raise _refused("it is of another sign-in")
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else provider.client.client_id) != provider.client.client_id:
        raise _refused("it was made for another client")
    subject = claims["sub"]
    if not is_subject(subject):
        raise _refused("it names no subject that can be read")
    return Person(
        issuer=provider.client.issuer,
        subject=subject,
        groups=_groups(claims.get(groups_claim)),
        name=_text(claims.get("name")) or _text(claims.get("preferred_username")),
        email=_text(claims.get("email")),
    )


def _claims(provider: Provider, token: str) -> dict[str, Any]:
    if not token.isascii():
        raise jwt.DecodeError("it is no token")
    header = jwt.get_unverified_header(token)
    algorithm, identifier = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise jwt.InvalidAlgorithmError(f"its algorithm {str(algorithm)[:20]!r} is none of {', '.join(ALGORITHMS)}")
    key = _key(provider.keys, str(algorithm), identifier)
    return jwt.decode(
        token,
        key.key,
        algorithms=[str(algorithm)],
        audience=provider.client.client_id,
        issuer=provider.client.issuer,
        leeway=_LEEWAY_S,
        options={"require": list(_REQUIRED)},
    )


def _key(published: Callable[..., list[Any]], algorithm: str, identifier: object) -> jwt.PyJWK:
    """The published key of the token; a key that is not known may have been published just now."""
    for again in (False, True):
        fitting = [each for each in published(again=again) if _fits(each, algorithm, identifier)]
        # Without an id there is only one that it can be.
        if fitting and (identifier is not None or len(fitting) == 1):
            return jwt.PyJWK.from_dict(fitting[0], algorithm)
    raise jwt.InvalidKeyError("it was signed with a key that the provider does not publish")


_KINDS = {"R": "RSA", "P": "RSA", "E": "EC"}


def _fits(key: Any, algorithm: str, identifier: object) -> bool:
    kind = "OKP" if algorithm == "EdDSA" else _KINDS[algorithm[0]]
    return (
        isinstance(key, dict)
        and key.get("kty") == kind
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (identifier is None or key.get("kid") == identifier)
    )


def _groups(claim: object) -> tuple[str, ...]:
    """The groups of a list, each as it is, commas too; some providers send the only one without a list."""
    listed = claim if isinstance(claim, list) else [claim]
    return tuple(each for each in listed if isinstance(each, str))


def _text(claim: object) -> str | None:
    return claim[:_LONGEST] if isinstance(claim, str) and claim and is_legible(claim) else None


def _refused(reason: str) -> ServerError:
    return ServerError(Problem.FORBIDDEN, f"the ID token is refused: {reason}; sign in again")
