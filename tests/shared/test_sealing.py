"""Sealing against RFC 9180, written out here from its primitives, and against every changed bit."""

from __future__ import annotations

import hashlib
import hmac
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sordino_shared import sealing
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignId, Digest
from sordino_shared.protocol.sealed import SEALING_BYTES, sealing_info

INFO = sealing_info(CampaignId(bytes(range(32))), 3, Digest(bytes(32)))
PAYLOAD = bytes(range(33))
# RFC 9180, sections 4.1 and 5.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
KEM_SUITE = b"KEM" + (0x0020).to_bytes(2, "big")
SUITE = b"HPKE" + b"".join(part.to_bytes(2, "big") for part in (0x0020, 0x0001, 0x0001))


def _extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labelled + b"\x01", "sha256")[:length]


def _schedule(shared: bytes, exchanged: bytes, info: bytes) -> tuple[bytes, bytes]:
    """(key, nonce) of sequence number 0; `exchanged` are both public keys."""
    secret = _expand(KEM_SUITE, _extract(KEM_SUITE, b"", b"eae_prk", shared), b"shared_secret", exchanged, 32)
    schedule = b"\x00" + _extract(SUITE, b"", b"psk_id_hash", b"") + _extract(SUITE, b"", b"info_hash", info)
    whole = _extract(SUITE, secret, b"secret", b"")
    return _expand(SUITE, whole, b"key", schedule, 16), _expand(SUITE, whole, b"base_nonce", schedule, 12)


def _opened(private: bytes, info: bytes, sealed: bytes) -> bytes:
    enc, ciphertext = sealed[:32], sealed[32:]
    own = X25519PrivateKey.from_private_bytes(private)
    shared = own.exchange(X25519PublicKey.from_public_bytes(enc))
    key, nonce = _schedule(shared, enc + own.public_key().public_bytes_raw(), info)
    return AESGCM(key).decrypt(nonce, ciphertext, b"")


def _sealed(ephemeral: bytes, public: bytes, info: bytes, plaintext: bytes, aad: bytes = b"") -> bytes:
    """The sender's half, with an ephemeral key of its own."""
    own = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    key, nonce = _schedule(shared, enc + public, info)
    return enc + AESGCM(key).encrypt(nonce, plaintext, aad)


# RFC 9180, appendix A.1.1 (base mode of this suite) with the encryption of sequence number 0.
RFC_SENDER = bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
RFC_PRIVATE = bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
RFC_PUBLIC = bytes.fromhex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d")
RFC_ENC = bytes.fromhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
RFC_INFO, RFC_AAD = b"Ode on a Grecian Urn", b"Count-0"
RFC_PLAINTEXT = b"Beauty is truth, truth beauty"
RFC_CIPHERTEXT = bytes.fromhex(
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
)


def test_what_is_written_out_has_the_vector_of_the_rfc() -> None:
    """The shipped suite takes no additional data, which all vectors of the RFC have; it is tested against this one."""
    enc, shared = (
        RFC_ENC,
        X25519PrivateKey.from_private_bytes(RFC_PRIVATE).exchange(X25519PublicKey.from_public_bytes(RFC_ENC)),
    )
    assert X25519PrivateKey.from_private_bytes(RFC_PRIVATE).public_key().public_bytes_raw() == RFC_PUBLIC
    assert _sealed(RFC_SENDER, RFC_PUBLIC, RFC_INFO, RFC_PLAINTEXT, RFC_AAD) == enc + RFC_CIPHERTEXT
    key, nonce = _schedule(shared, enc + RFC_PUBLIC, RFC_INFO)
    assert AESGCM(key).decrypt(nonce, RFC_CIPHERTEXT, RFC_AAD) == RFC_PLAINTEXT


def test_what_is_sealed_by_the_written_out_sender_is_opened() -> None:
    private, public = sealing.make_key()
    opened = sealing.opener(private, INFO)
    for number in range(20):
        ephemeral, payload = hashlib.sha256(bytes([number])).digest(), bytes([number]) * (1 + number)
        report = _sealed(ephemeral, public, INFO, payload)
        assert opened(report) == sealing.open_sealed(private, INFO, report) == payload
        assert opened(_flipped(report, number)) is None


def test_it_is_rfc_9180() -> None:
    private, public = sealing.make_key()
    sealed = sealing.seal(public, INFO, PAYLOAD)
    assert len(sealed) == len(PAYLOAD) + SEALING_BYTES
    assert _opened(private, INFO, sealed) == PAYLOAD
    assert sealing.open_sealed(private, INFO, sealed) == PAYLOAD
    assert hashlib.sha256(sealed).digest() != hashlib.sha256(sealing.seal(public, INFO, PAYLOAD)).digest()


def test_no_changed_bit_opens() -> None:
    private, public = sealing.make_key()
    sealed = sealing.seal(public, INFO, PAYLOAD)
    for bit in range(8 * len(sealed)):
        # Bit 255 too: X25519 ignores the highest bit of a key, but HPKE binds the bytes themselves.
        assert sealing.open_sealed(private, INFO, _flipped(sealed, bit)) is None


def _flipped(sealed: bytes, bit: int) -> bytes:
    changed = bytearray(sealed)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 47, 48, 80, 82])
def test_other_lengths_open_to_nothing(length: int) -> None:
    private, public = sealing.make_key()
    sealed = sealing.seal(public, INFO, PAYLOAD)
    assert sealing.open_sealed(private, INFO, (sealed + bytes(99))[:length]) is None


def test_another_round_plan_campaign_or_key_opens_nothing() -> None:
    private, public = sealing.make_key()
    sealed = sealing.seal(public, INFO, PAYLOAD)
    campaign, device = CampaignId(bytes(range(32))), Digest(bytes(32))
    for info in (
        sealing_info(campaign, 4, device),
        sealing_info(CampaignId(bytes(32)), 3, device),
        sealing_info(campaign, 3, Digest(b"\x01" * 32)),
    ):
        assert sealing.open_sealed(private, info, sealed) is None
    assert sealing.open_sealed(sealing.make_key()[0], INFO, sealed) is None


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), bytes(32)])
def test_a_key_that_is_none_is_refused(key: bytes) -> None:
    """The last one is of small order: everybody could open what it seals."""
    with pytest.raises(InvalidValue):
        sealing.seal(key, INFO, PAYLOAD)


def test_a_private_key_has_its_length() -> None:
    with pytest.raises(InvalidValue, match="32 bytes"):
        sealing.open_sealed(bytes(31), INFO, bytes(99))


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    sealing._suite.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    with pytest.raises(InvalidValue, match=r"pip install 'sordino-client\[shuffled\]'"):
        sealing.seal(bytes(range(32)), INFO, PAYLOAD)
    sealing._suite.cache_clear()
