"""RFC 9497, Appendix A.1.2, and what a false issuer or a false device cannot do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness, ShakeRandomness
from sordino_shared.tokens import InvalidProof, IssuerKey, blind, evaluate, finalize, redeem, voprf
from sordino_shared.tokens.ristretto import BASE, ORDER, multiple, same

PUBLISHED = json.loads((Path(__file__).parents[1] / "vectors" / "rfc9497_ristretto255_voprf.json").read_text())
KEY = IssuerKey.derived(bytes.fromhex(PUBLISHED["seed"]), bytes.fromhex(PUBLISHED["key_info"]))
SECRET = bytes(range(16))


class Given(Randomness):
    """Hands out what a published vector drew."""

    def __init__(self, *drawn: str) -> None:
        self._drawn = [bytes.fromhex(each) for each in drawn]

    def bytes(self, count: int) -> bytes:
        drawn = self._drawn.pop(0)
        assert len(drawn) == count
        return drawn


def test_the_published_key() -> None:
    assert KEY.scalar.to_bytes(32, "little").hex() == PUBLISHED["secret_key"]
    assert KEY.public.hex() == PUBLISHED["public_key"]


@pytest.mark.parametrize("vector", PUBLISHED["vectors"], ids=lambda vector: "-".join(vector["inputs"]))
def test_published_vectors(vector: dict[str, Any]) -> None:
    secrets = [bytes.fromhex(each) for each in vector["inputs"]]
    drawn = [blind(secret, Given(each)) for secret, each in zip(secrets, vector["blinds"], strict=True)]
    assert [element.hex() for _, element in drawn] == vector["blinded"]
    evaluated, proof = evaluate(KEY, [element for _, element in drawn], Given(vector["nonce"]))
    assert [each.hex() for each in evaluated] == vector["evaluated"]
    assert proof.hex() == vector["proof"]
    outputs = finalize(secrets, [scalar for scalar, _ in drawn], evaluated, proof, KEY.public)
    assert [each.hex() for each in outputs] == vector["outputs"]
    assert [redeem(KEY, secret).hex() for secret in secrets] == vector["outputs"]


def test_a_proof_of_another_key_is_refused() -> None:
    randomness = ShakeRandomness(1)
    other = IssuerKey.derived(bytes(32), b"another round")
    scalar, element = blind(SECRET, randomness)
    evaluated, proof = evaluate(other, [element], randomness)
    with pytest.raises(InvalidProof, match="does not hold for its key"):
        finalize([SECRET], [scalar], evaluated, proof, KEY.public)
    assert finalize([SECRET], [scalar], evaluated, proof, other.public) == [redeem(other, SECRET)]
    assert redeem(other, SECRET) != redeem(KEY, SECRET)


def test_every_part_of_an_answer_is_proved() -> None:
    randomness = ShakeRandomness(2)
    secrets = [bytes([index]) * 16 for index in range(3)]
    drawn = [blind(secret, randomness) for secret in secrets]
    blinds = [scalar for scalar, _ in drawn]
    evaluated, proof = evaluate(KEY, [element for _, element in drawn], randomness)
    assert finalize(secrets, blinds, evaluated, proof, KEY.public) == [redeem(KEY, secret) for secret in secrets]
    swapped = [evaluated[1], evaluated[0], evaluated[2]]
    doubled = [evaluated[0], evaluated[0], evaluated[2]]
    changed = [bytes([proof[0] ^ 1]) + proof[1:], proof[:40] + bytes([proof[40] ^ 1]) + proof[41:], bytes(64)]
    for answers, shown in [(swapped, proof), (doubled, proof), *((evaluated, each) for each in changed)]:
        with pytest.raises(InvalidProof):
            finalize(secrets, blinds, answers, shown, KEY.public)
    large = (int.from_bytes(proof[:32], "little") + ORDER).to_bytes(32, "little") + proof[32:]
    for shown in (large, proof[:-1], b""):
        with pytest.raises(InvalidProof, match="two scalars"):
            finalize(secrets, blinds, evaluated, shown, KEY.public)


@pytest.mark.parametrize("element", [b"", bytes(31), bytes(32), b"\xff" * 32, b"\x01" + bytes(31)])
def test_bytes_that_are_no_element_are_refused(element: bytes) -> None:
    with pytest.raises(InvalidValue, match="not the identity"):
        evaluate(KEY, [element], ShakeRandomness(3))
    with pytest.raises(InvalidValue, match="not the identity"):
        voprf.check_public_key(element)
    with pytest.raises(InvalidValue, match="not the identity"):
        finalize([SECRET], [1], [element], bytes(64), KEY.public)


def test_lengths_that_fit_nothing_are_refused() -> None:
    for call in (
        lambda: evaluate(KEY, [], ShakeRandomness(4)),
        lambda: finalize([], [], [], bytes(64), KEY.public),
        lambda: finalize([SECRET], [1, 2], [KEY.public], bytes(64), KEY.public),
        lambda: IssuerKey.derived(bytes(31), b""),
        lambda: IssuerKey.derived(bytes(32), bytes(2**16)),
        lambda: blind(bytes(2**16), ShakeRandomness(4)),
        lambda: IssuerKey(0),
        lambda: voprf.blinded(SECRET, 0),
    ):
        with pytest.raises(InvalidValue):
            call()


def test_keys_of_rounds_differ_and_blinds_hide_the_secret() -> None:
    """Any blinded element is one of any secret, under another blind: here of two secrets whose logarithms are known."""
    seed = b"\x07" * 32
    assert len({IssuerKey.derived(seed, bytes([number])).public for number in range(4)}) == 4
    randomness = ShakeRandomness(5)
    assert len({blind(SECRET, randomness)[1] for _ in range(4)}) == 4
    first, second, scalar = 1234567, 7654321, 99
    shown = multiple(scalar, multiple(first, BASE))
    other = scalar * first * pow(second, -1, ORDER) % ORDER
    assert same(multiple(other, multiple(second, BASE)), shown)
