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
from sordino_shared.protocol.log_tree import is_consistent, leaf_hash, node_hash, root_of_path
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


# Of the reference implementation of RFC 6962: leaves, and the roots of the first 1, 2, 3 … of them.
REFERENCE_LEAVES = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
REFERENCE_ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


def test_the_reference_tree_has_its_published_roots() -> None:
    leaves = [leaf_hash(bytes.fromhex(each)) for each in REFERENCE_LEAVES]
    for size, wanted in enumerate(REFERENCE_ROOTS, start=1):
        for index in range(size):
            found = root_of_path(index, size, leaves[index], digests(path(index, leaves[:size])))
            assert found is not None
            assert found.hex() == wanted


def test_the_worked_example_of_rfc_9162() -> None:
    """Section 2.1.5: seven leaves a … g of entries d0 … d6 in its letters, b = d1's leaf and so on."""
    a, b, c, d, e, f, j = (leaf_hash(bytes([number])) for number in range(7))
    g, h, i = node_hash(a, b), node_hash(c, d), node_hash(e, f)
    k, l = node_hash(g, h), node_hash(i, j)
    seven = node_hash(k, l)
    for index, leaf, found in ((0, a, (b, h, l)), (3, d, (c, g, l)), (4, e, (f, j, k)), (6, j, (i, k))):
        assert root_of_path(index, 7, leaf, found) == seven
    for size, begun, found in (
        (3, node_hash(g, c), (c, d, g, l)),
        (4, k, (l,)),
        (6, node_hash(k, i), (i, j, k)),
    ):
        assert is_consistent((size, begun), (7, seven), found)
        assert not is_consistent((size, begun), (7, seven), tuple(reversed(found))) or len(found) == 1


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
