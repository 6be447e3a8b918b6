"""Tokens: the key of a round, and a secret through blind, evaluation and proof to the token behind a payload."""

from __future__ import annotations

from typing import Any

from sordino_shared.protocol import Document, Gate, Issuer, Manifest, TokenEvaluations, TokenRequest
from sordino_shared.protocol.tokens import issuer_info, token_of
from sordino_shared.randomness import ShakeRandomness
from sordino_shared.tokens import IssuerKey, blind, evaluate, finalize

SEED = b"\x0d" * 32
SECRET = bytes(range(16))
ATTESTATION = b"attestation of the platform"


def issuer_key(number: int) -> IssuerKey:
    """The key of a round, by a seed of 32 times the byte 13."""
    return IssuerKey.derived(SEED, issuer_info(number))


def issuer(gate: Gate, rounds: int = 1) -> Issuer:
    """The gate with the keys of so many rounds."""
    return Issuer(gate, tuple(issuer_key(number).public for number in range(rounds)))


def token_documents() -> dict[str, dict[str, Document]]:
    """Requests for one token and for 200, with and without a credential; an evaluation of one and of 200."""
    key, randomness = IssuerKey.derived(SEED, b"documents"), ShakeRandomness(36)
    elements = [blind(bytes([number]) * 16, randomness)[1] for number in range(2)] * 100
    one, proof = evaluate(key, elements[:1], randomness)
    many, proof_of_many = evaluate(key, elements, randomness)
    return {
        "token_request": {
            "one": TokenRequest(elements[0], b""),
            "with_credential": TokenRequest(elements[1], ATTESTATION),
            "at_limits": TokenRequest(b"".join(elements), b"a" * 16384),
        },
        "token_evaluations": {
            "one": TokenEvaluations(one[0], proof),
            "at_limits": TokenEvaluations(b"".join(many), proof_of_many),
        },
    }


def worked_token(manifest: Manifest) -> dict[str, Any]:
    """The file of one token, by path."""
    info, randomness, key = issuer_info(0), ShakeRandomness(37), issuer_key(0)
    assert manifest.issuer is not None
    assert manifest.issuer.keys == (key.public,)
    scalar, element = blind(SECRET, randomness)
    [evaluated], proof = evaluate(key, [element], randomness)
    [output] = finalize([SECRET], [scalar], [evaluated], proof, key.public)
    payload = b"\x02"
    return {
        "good/tokens.json": {
            "vectors": [
                {
                    "campaign": str(manifest.campaign),
                    "round": 0,
                    "seed": SEED.hex(),
                    "info": info.hex(),
                    "secret_key": key.scalar.to_bytes(32, "little").hex(),
                    "issuer_key": key.public.hex(),
                    "secret": SECRET.hex(),
                    "blind": scalar.to_bytes(32, "little").hex(),
                    "blinded": element.hex(),
                    "evaluated": evaluated.hex(),
                    "proof": proof.hex(),
                    "output": output.hex(),
                    "payload": payload.hex(),
                    "payload_with_token": (payload + token_of(SECRET, output)).hex(),
                }
            ]
        }
    }
