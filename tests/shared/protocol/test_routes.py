"""Routes, arms and signed tasks: keys that nobody may seal for, whose key a round has, what a signature is about."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm, CampaignServer, CollectorKey, Manifest, ShuffledRoute, Task, check_built
from sordino_shared.protocol.codec import decode_value, encode_value
from sordino_shared.protocol.routes import is_small_order

FIELD, TOP = 2**255 - 19, 2**255


def _exchanges(key: bytes) -> bool:
    """Whether X25519 with this key gives anything but zero, by the library that seals."""
    try:
        X25519PrivateKey.from_private_bytes(b"\x77" * 32).exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return False
    return True


def test_keys_of_small_order_are_those_with_which_the_exchange_gives_zero() -> None:
    """All u below 20 and above p − 20 in each spelling, those of order 8, and keys that are drawn."""
    near = [u for edge in (0, FIELD, TOP) for u in range(edge - 20, edge + 20) if 0 <= u < TOP]
    eighth = 325606250916557431795983626356110631294008115727848805560023387167927233504
    near += [eighth, eighth + 1, pow(eighth, -1, FIELD), pow(eighth, -1, FIELD) - 1]
    keys = [(u + bit).to_bytes(32, "little") for u in sorted(set(near)) for bit in (0, TOP)]
    keys += [hashlib.sha256(bytes([number])).digest() for number in range(200)]
    found = [is_small_order(key) for key in keys]
    assert found == [not _exchanges(key) for key in keys]
    assert sum(found) == 14
    with pytest.raises(InvalidValue, match="small order"):
        CollectorKey(0, bytes(32))


@pytest.fixture
def manifests(vectors: dict[str, Any]) -> dict[str, Manifest]:
    return {each["name"]: Manifest.read(bytes.fromhex(each["hex"])) for each in vectors["good/manifest"]["vectors"]}


def test_a_round_has_the_last_key_that_is_for_it(manifests: dict[str, Manifest]) -> None:
    route = manifests["shuffled_series"].route
    assert isinstance(route, ShuffledRoute)
    first, last = (each.key for each in route.keys)
    assert [route.key_of(number) for number in (0, 1, 2**53 - 2, 2**53 - 1)] == [first, first, first, last]


def test_a_signature_is_about_the_task_without_it(vectors: dict[str, Any], manifests: dict[str, Manifest]) -> None:
    tasks = {each["name"]: Task.read(bytes.fromhex(each["hex"])) for each in vectors["good/task"]["vectors"]}
    route = manifests["shuffled"].route
    assert isinstance(route, ShuffledRoute)
    key = Ed25519PublicKey.from_public_bytes(route.task_key)
    for name in ("signed", "signed_at_limits"):
        task = tasks[name]
        plain = decode_value(task.content, len(task.content)) | {"signature": None}
        message = b"sordino task v1\0" + hashlib.sha256(encode_value(plain)).digest()
        assert task.signed_message == message
        assert task.signature is not None
        key.verify(task.signature, message)
        assert replace(task, epoch=task.epoch + 1).signed_message != message
        assert replace(task, signature=bytes(64)).signed_message == message


def test_what_is_not_built_is_read_and_nothing_is_begun_with_it(manifests: dict[str, Manifest]) -> None:
    for manifest in manifests.values():
        check_built(manifest)
    strings = manifests["strings"]
    servers = tuple(CampaignServer(name=name, urls=(f"https://{name}.example",)) for name in ("home", "de"))
    arms = (Arm("A", 1 << 15), Arm("B", 1 << 15))
    unbuilt = {
        "strings of several servers": replace(strings, servers=servers),
        "strings in an experiment": replace(strings, arms=arms),
        "`arms` of several servers, strings of several servers, strings in an experiment": replace(
            strings, arms=arms, servers=servers
        ),
    }
    for said, manifest in unbuilt.items():
        assert Manifest.read(manifest.content) == manifest
        with pytest.raises(InvalidValue, match="not built yet") as raised:
            check_built(manifest)
        assert str(raised.value).endswith(f": {said}")
