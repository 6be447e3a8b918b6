"""Proofs of the public log: those of the vectors hold, everything else is refused, and the tree is RFC 6962's."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sordino_shared.errors import InvalidValue, MalformedDocument, OversizedDocument, ProtocolError
from sordino_shared.protocol import Digest, LogEntry, Manifest
from sordino_shared.protocol.log_entries import LoggedCampaign, entry_of_manifest
from sordino_shared.protocol.log_proofs import LogProof
from sordino_shared.protocol.log_tree import is_consistent, leaf_hash, root_of_path
from tests.vectors.log import consistency, path, root

MOST = 40
LEAVES = [leaf_hash(bytes([number])) for number in range(MOST)]


def digests(hashes: list[bytes]) -> tuple[Digest, ...]:
    return tuple(map(Digest, hashes))


def test_proofs_hold_and_their_notes_are_signed(vectors: dict[str, Any]) -> None:
    file = vectors["good/log_proof"]
    keys = {name: Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)) for name, key in file["keys"].items()}
    for case in file["vectors"]:
        proof = LogProof.read(case["text"].encode())
        note = proof.checkpoint
        assert (proof.index, note.size, note.origin) == (case["index"], case["size"], file["origin"])
        by_log, by_witness = note.signatures
        assert (by_log.name, by_witness.name) == (file["origin"], file["witness"])
        public = bytes.fromhex(file["keys"]["log"])
        assert by_log.key_id == hashlib.sha256(file["origin"].encode() + b"\n\x01" + public).digest()[:4]
        keys["log"].verify(by_log.signature, note.text.encode())
        time = int.from_bytes(by_witness.signature[:8], "big")
        assert time == file["time"]
        keys["witness"].verify(by_witness.signature[8:], f"cosignature/v1\ntime {time}\n{note.text}".encode())
    for case in file["consistency"]:
        first, second = zip(case["sizes"], digests([bytes.fromhex(each) for each in case["roots"]]), strict=True)
        assert is_consistent(first, second, digests([bytes.fromhex(each) for each in case["path"]]))


def test_every_other_text_is_refused(vectors: dict[str, Any]) -> None:
    for case in vectors["bad/log_proof"]["vectors"]:
        error = OversizedDocument if case["name"] == "too_long" else MalformedDocument
        with pytest.raises(error):
            LogProof.read(case["text"].encode())


def test_any_changed_byte_is_refused_or_lies_in_what_signatures_cover(vectors: dict[str, Any]) -> None:
    """Entry, index, path and root stay as they were; size, origin and signatures are for keys to check."""
    text = next(each["text"] for each in vectors["good/log_proof"]["vectors"] if each["name"] == "5_of_11").encode()
    proof, taken = LogProof.read(text), 0
    for position in range(len(text)):
        for changed in (text[position] ^ 1, text[position] ^ 0x80, 0x0A):
            other = text[:position] + bytes([changed]) + text[position + 1 :]
            try:
                found = LogProof.read(other)
            except ProtocolError:
                continue
            taken += 1
            assert (found.entry, found.index, found.path) == (proof.entry, proof.index, proof.path)
            assert found.checkpoint.root == proof.checkpoint.root
            assert other == text or found.checkpoint != proof.checkpoint
    assert taken > 50


def test_paths_and_consistency_for_all_small_trees() -> None:
    zero = Digest(bytes(32))
    for size in range(1, MOST + 1):
        leaves, whole = LEAVES[:size], Digest(root(LEAVES[:size]))
        for index in range(size):
            found = digests(path(index, leaves))
            assert root_of_path(index, size, leaves[index], found) == whole
            assert root_of_path(index, size, leaves[index], (*found, zero)) is None
            assert root_of_path(index, size, LEAVES[(index + 1) % MOST], found) != whole
            for place in range(len(found)):
                assert root_of_path(index, size, leaves[index], (*found[:place], zero, *found[place + 1 :])) != whole
        assert root_of_path(size, size, leaves[0], ()) is None
        for first in range(1, size + 1):
            begun, found = (first, Digest(root(LEAVES[:first]))), digests(consistency(first, leaves))
            assert is_consistent(begun, (size, whole), found)
            assert not is_consistent((first, zero), (size, whole), found)
            assert not is_consistent(begun, (size, zero), found)
            assert not is_consistent(begun, (size, whole), (*found, zero))
            assert not is_consistent((size, whole), begun, found) or first == size


def test_an_entry_names_attributes_while_they_fit(vectors: dict[str, Any]) -> None:
    manifests = {v["name"]: Manifest.read(bytes.fromhex(v["hex"])) for v in vectors["good/manifest"]["vectors"]}
    for name in ("one_round", "unlisted", "numbers", "strings_at_limits", "at_limits", "shuffled_at_limits"):
        manifest = manifests[name]
        entry = entry_of_manifest(manifest, (Digest(bytes(32)),), 5)
        event = entry.event
        assert isinstance(event, LoggedCampaign)
        assert LogEntry.read(entry.content) == entry
        assert len(entry.content) <= 4096
        assert event.attributes == len(manifest.domain.attributes)
        shown = [(each.name, each.largest + 1) for each in event.named]
        assert shown == [(each.name, each.size) for each in manifest.domain.attributes][: len(shown)]
    assert len(event.named) > 0
    with pytest.raises(InvalidValue, match="bytes"):
        LogEntry(5, bytes(31), event)
