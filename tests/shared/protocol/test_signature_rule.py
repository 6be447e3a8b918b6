"""The vectors of Ed25519's edges: they hold what the page says, and tell the rule from what libraries do."""

from __future__ import annotations

from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sordino_shared.ed25519 import verify
from tests.vectors.signature_rule import holds


def _cases(vectors: dict[str, Any]) -> list[tuple[str, bytes, bytes, bytes, dict[str, Any]]]:
    names = ("key", "signature", "message")
    return [
        (case["name"], *(bytes.fromhex(case[name]) for name in names), case)
        for case in vectors["good/signatures"]["rule"]
    ]


def _library(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def test_the_library_refuses_what_does_not_hold_but_for_points_of_small_order(vectors: dict[str, Any]) -> None:
    """OpenSSL takes what holds, and six signatures more: that is why the encodings are checked first."""
    taken = {name for name, *given, _ in _cases(vectors) if _library(*given)}
    kept = {name for name, *_, case in _cases(vectors) if case["holds"]}
    assert kept == {"good", "mixed_key_that_holds", "mixed_key_and_r_that_hold"}
    small = {"key_of_order_8", "key_of_order_1", "r_of_order_1", "both_of_order_1"}
    assert taken - kept == small | {"key_not_canonical", "key_of_signed_zero"}
    assert kept < taken


def test_the_rule_is_none_of_its_neighbours(vectors: dict[str, Any]) -> None:
    for name, *given, case in _cases(vectors):
        assert holds(*given) is case["holds"], name
    cofactored = {name for name, *_, case in _cases(vectors) if case["holds_cofactored"] and not case["holds"]}
    assert {"cofactored_only", "cofactored_only_by_key", "s_plus_l", "r_of_order_8", "r_not_canonical"} <= cofactored


def test_the_plain_python_of_devices_follows_the_rule(vectors: dict[str, Any]) -> None:
    for name, *given, case in _cases(vectors):
        assert verify(*given) is case["holds"], name
