"""The list of daily checkpoints: what the vectors hold is read, everything else refused."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_shared._records import replace
from sordino_shared.errors import MalformedDocument, OversizedDocument
from sordino_shared.protocol import Digest, LogEntry, Manifest
from sordino_shared.protocol.log_days import MAX_DAY_PATH, MAX_DAYS, MAX_DAYS_BYTES, LogDay, LogDays, days_text
from sordino_shared.protocol.log_entries import entry_fault, entry_of_manifest, logged_parts
from sordino_shared.protocol.log_proofs import LogProof, proof_text


def test_days_are_read_and_written_alike(vectors: dict[str, Any]) -> None:
    text = vectors["good/log_proof"]["days"]
    found = LogDays.read(text.encode())
    assert [(each.day, each.size) for each in found.days] == [(20_001, 1), (20_004, 4), (20_006, 6), (20_011, 11)]
    assert found.newest.size == 11
    assert days_text(found.days, text.partition("\n\n")[2]) == text


def test_other_lists_are_refused(vectors: dict[str, Any]) -> None:
    for case in vectors["bad/log_proof"]["days"]:
        error = OversizedDocument if case["name"] == "too_long" else MalformedDocument
        with pytest.raises(error):
            LogDays.read(case["text"].encode())


def test_a_full_list_of_the_largest_log_fits() -> None:
    whole = LogDay(2**40, 2**40 - 1, Digest(bytes(32)), (Digest(bytes(32)),) * MAX_DAY_PATH)
    note = "x" * 2048
    assert len(days_text([whole] * MAX_DAYS, note)) <= MAX_DAYS_BYTES


def test_proofs_are_written_as_they_are_read(vectors: dict[str, Any]) -> None:
    for case in vectors["good/log_proof"]["vectors"]:
        found, note = LogProof.read(case["text"].encode()), case["text"].partition("\n\n")[2]
        assert proof_text(found.entry.content, found.index, found.path, note) == case["text"]


def test_an_entry_is_that_of_its_manifest_in_every_field(vectors: dict[str, Any]) -> None:
    manifests = [Manifest.read(bytes.fromhex(each["hex"])) for each in vectors["good/manifest"]["vectors"]]
    known = [(each, logged_parts(each)) for each in manifests]
    manifest, other = [each for each, parts in known if parts][:2]
    entry = entry_of_manifest(manifest, logged_parts(manifest), 7)
    assert entry_fault(entry, manifest) is None
    assert "another thing" in str(entry_fault(entry, other))
    event = entry.event
    for changed in (
        replace(event, nano_epsilon=event.nano_epsilon - 1),
        replace(event, population=f"{event.population}2"),
        replace(event, name="other"),
        replace(event, parts=(Digest(bytes(32)),)),
        replace(event, replaces=other.campaign),
        replace(event, domain=Digest(bytes(32))),
    ):
        fault = entry_fault(LogEntry(7, entry.subject, changed), manifest)
        assert "says other things than the manifest" in str(fault)
