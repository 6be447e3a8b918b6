"""VOPRF(ristretto255, SHA-512) of RFC 9497: blind, evaluate, finalize and redeem.

A device blinds a secret of its own, the issuer evaluates what it sees without learning the secret, and proves that it
used its public key; the device unblinds the output. With the issuer's key one finds the same output for the secret,
and without it nobody does. The blinded element is uniform whatever the secret is, so nothing links the two.

    key = IssuerKey.derived(seed, b"round 0")
    scalar, element = blind(secret, randomness)                          # the device
    evaluated, proof = evaluate(key, [element], randomness)              # the issuer
    outputs = finalize([secret], [scalar], evaluated, proof, key.public) # the device
    redeem(key, secret) == outputs[0]                                    # the collector
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.randomness import Randomness
from sordino_shared.tokens.ristretto import (
    BASE,
    ELEMENT_BYTES,
    IDENTITY,
    ORDER,
    Point,
    decoded,
    encoded,
    from_uniform,
    multiple,
    same,
    sum_of_multiples,
)

SEED_BYTES = 32
PROOF_BYTES = 64
OUTPUT_BYTES = 64
# The batch is in a field of two bytes in the proof's transcript (RFC 9497, section 2.2.1).
MAX_BATCH = 2**16 - 1
_SCALAR_BYTES = 32
_BLOCK_BYTES = 128
# Mode 1, verifiable, with this group and hash (RFC 9497, sections 3.1 and 4.1).
_CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"


class InvalidProof(InvalidValue):
    """The issuer did not evaluate with the key that it named; the outputs are worth nothing."""

    code = "invalid-proof"
    advice = "do not use the outputs; ask again, and tell the operator of the issuer if it stays"


@dataclass(frozen=True)
class IssuerKey:
    """A secret scalar, 1 to the order of the group."""

    scalar: int

    def __post_init__(self) -> None:
        check_range(self.scalar, 1, ORDER - 1, "scalar of an issuer's key")

    @classmethod
    def derived(cls, seed: bytes, info: bytes) -> IssuerKey:
        """The key of a secret seed (32 bytes) for what `info` names, up to 65,535 bytes (section 3.2.1).

        Raises InvalidValue for a seed or info of another length.
        """
        if len(seed) != SEED_BYTES:
            raise InvalidValue(f"a seed has {SEED_BYTES} bytes, got {len(seed)}", len(seed))
        given = seed + _with_length(info)
        for counter in range(256):
            if scalar := _hash_to_scalar(given + bytes([counter]), b"DeriveKeyPair" + _CONTEXT):
                return cls(scalar)
        raise InvalidValue("this seed gives no key", len(info))

    def with_public(self, public: bytes) -> IssuerKey:
        """The same key where its public half is known, which takes a millisecond to find; of another no proof holds."""
        key = IssuerKey(self.scalar)
        vars(key)["public"] = public
        return key

    @cached_property
    def public(self) -> bytes:
        """The public key: 32 bytes."""
        return encoded(multiple(self.scalar, BASE))


def check_public_key(key: bytes) -> None:
    """Raise InvalidValue unless these are the bytes of an element other than the identity."""
    _element(key, "an issuer's public key")


def check_element(element: bytes) -> None:
    """Raise InvalidValue unless these bytes are an element and not the identity: a fiftieth of `evaluate`."""
    _element(element, "a blinded element")


def blind(secret: bytes, randomness: Randomness) -> tuple[int, bytes]:
    """(the blind, the blinded element of 32 bytes) of a secret of up to 65,535 bytes (section 3.3.1).

    Raises InvalidValue for a secret that is too long.
    """
    scalar = _random_scalar(randomness)
    return scalar, blinded(secret, scalar)


def blinded(secret: bytes, scalar: int) -> bytes:
    """The blinded element of a secret and a blind that was drawn before; raises InvalidValue as `blind` does."""
    check_range(scalar, 1, ORDER - 1, "blind")
    return encoded(multiple(scalar, _hash_to_group(secret)))


def evaluate(key: IssuerKey, elements: Sequence[bytes], randomness: Randomness) -> tuple[list[bytes], bytes]:
    """(evaluated elements in order, one proof of 64 bytes for all of them) (section 3.3.2).

    Raises InvalidValue for bytes that are no element, for the identity, and for none or more than 65,535.
    """
    check_range(len(elements), 1, MAX_BATCH, "number of blinded elements")
    points = [_element(element, "a blinded element") for element in elements]
    evaluated = [multiple(key.scalar, point) for point in points]
    found = [encoded(point) for point in evaluated]
    return found, _proof(key, elements, points, found, _random_scalar(randomness))


def finalize(
    secrets: Sequence[bytes], blinds: Sequence[int], evaluated: Sequence[bytes], proof: bytes, public_key: bytes
) -> list[bytes]:
    """The outputs of the secrets, 64 bytes each, once the proof holds for the public key (section 3.3.2).

    Raises InvalidProof where it does not, and InvalidValue for bytes that are no elements or lists of other lengths.
    """
    check_range(len(secrets), 1, MAX_BATCH, "number of secrets")
    if not len(secrets) == len(blinds) == len(evaluated):
        raise InvalidValue("give as many blinds and evaluated elements as secrets", len(evaluated))
    inputs = [_hash_to_group(secret) for secret in secrets]
    points = [multiple(scalar, point) for scalar, point in zip(blinds, inputs, strict=True)]
    answers = [_element(each, "an evaluated element") for each in evaluated]
    _verify(public_key, points, answers, evaluated, proof)
    unblinded = (multiple(pow(scalar, -1, ORDER), point) for scalar, point in zip(blinds, answers, strict=True))
    return [_output(secret, encoded(point)) for secret, point in zip(secrets, unblinded, strict=True)]


def redeem(key: IssuerKey, secret: bytes) -> bytes:
    """The output of a secret, 64 bytes, by the key itself (section 3.3.1); raises InvalidValue as `blind` does."""
    return _output(secret, encoded(multiple(key.scalar, _hash_to_group(secret))))


def _output(secret: bytes, unblinded: bytes) -> bytes:
    return hashlib.sha512(_with_length(secret) + _with_length(unblinded) + b"Finalize").digest()


# --- the proof that one key evaluated all elements (section 2.2)


def _proof(key: IssuerKey, elements: Sequence[bytes], points: list[Point], found: list[bytes], r: int) -> bytes:
    weights = _weights(key.public, elements, found)
    m = sum_of_multiples(list(zip(weights, points, strict=True)))
    z = multiple(key.scalar, m)
    c = _challenge(key.public, m, z, multiple(r, BASE), multiple(r, m))
    return _scalar_bytes(c) + _scalar_bytes((r - c * key.scalar) % ORDER)


def _verify(
    public_key: bytes, points: list[Point], answers: list[Point], evaluated: Sequence[bytes], proof: bytes
) -> None:
    key = _element(public_key, "an issuer's public key")
    c, s = int.from_bytes(proof[:_SCALAR_BYTES], "little"), int.from_bytes(proof[_SCALAR_BYTES:], "little")
    if len(proof) != PROOF_BYTES or c >= ORDER or s >= ORDER:
        raise InvalidProof("the issuer's proof is not two scalars", len(proof))
    weights = _weights(public_key, [encoded(point) for point in points], evaluated)
    m = sum_of_multiples(list(zip(weights, points, strict=True)))
    z = sum_of_multiples(list(zip(weights, answers, strict=True)))
    if c != _challenge(public_key, m, z, sum_of_multiples([(s, BASE), (c, key)]), sum_of_multiples([(s, m), (c, z)])):
        raise InvalidProof("the issuer's proof does not hold for its key", public_key)


def _weights(public_key: bytes, elements: Sequence[bytes], evaluated: Sequence[bytes]) -> list[int]:
    """By which the elements of a batch are added up, so that one proof holds for all."""
    seed = hashlib.sha512(_with_length(public_key) + _with_length(b"Seed-" + _CONTEXT)).digest()
    return [
        _hash_to_scalar(
            _with_length(seed) + index.to_bytes(2, "big") + _with_length(first) + _with_length(second) + b"Composite"
        )
        for index, (first, second) in enumerate(zip(elements, evaluated, strict=True))
    ]


def _challenge(public_key: bytes, *points: Point) -> int:
    transcript = b"".join(_with_length(part) for part in (public_key, *map(encoded, points)))
    return _hash_to_scalar(transcript + b"Challenge")


# --- hashes (section 4.1), elements and scalars


def _hash_to_group(content: bytes) -> Point:
    point = from_uniform(_expanded(_within_length(content), b"HashToGroup-" + _CONTEXT))
    if same(point, IDENTITY):
        raise InvalidValue("this secret hashes to the identity; draw another", len(content))
    return point


def _hash_to_scalar(content: bytes, tag: bytes = b"HashToScalar-" + _CONTEXT) -> int:
    return int.from_bytes(_expanded(content, tag), "little") % ORDER


def _expanded(content: bytes, tag: bytes) -> bytes:
    """64 uniform bytes: expand_message_xmd of RFC 9380, section 5.3.1, whose output is one block of SHA-512."""
    suffix = tag + bytes([len(tag)])
    first = hashlib.sha512(bytes(_BLOCK_BYTES) + content + b"\x00\x40\x00" + suffix).digest()
    return hashlib.sha512(first + b"\x01" + suffix).digest()


def _element(encoding: bytes, what: str) -> Point:
    """The element that is not the identity; raises InvalidValue for any other bytes."""
    point = decoded(encoding)
    if point is None or same(point, IDENTITY):
        raise InvalidValue(f"{what} is {ELEMENT_BYTES} bytes of ristretto255 and not the identity", encoding)
    return point


def _random_scalar(randomness: Randomness) -> int:
    """Uniform from 1 to the order − 1, by rejection of numbers of 253 bits."""
    while not 0 < (scalar := int.from_bytes(randomness.bytes(_SCALAR_BYTES), "little") & (1 << 253) - 1) < ORDER:
        pass
    return scalar


def _scalar_bytes(scalar: int) -> bytes:
    return scalar.to_bytes(_SCALAR_BYTES, "little")


def _within_length(content: bytes) -> bytes:
    check_range(len(content), 0, 2**16 - 1, "length of what is hashed")
    return content


def _with_length(content: bytes) -> bytes:
    return len(_within_length(content)).to_bytes(2, "big") + content
