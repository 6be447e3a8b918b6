"""Keys of logs and witnesses: their spelling, and which checkpoints an app's pins accept."""

from __future__ import annotations

from typing import Any

import pytest

from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.ids import Digest
from sordino_shared.protocol.log_keys import LogPins, NoteKey
from sordino_shared.protocol.log_notes import Checkpoint, NoteSignature, read_checkpoint
from sordino_shared.protocol.log_tree import leaf_hash
from tests.vectors.log import root

# The example of the format's authors: golang.org/x/mod/sumdb/note.
NEUMANN = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
RFC_8032_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
NEUMANN_SIGNED = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
NEUMANN_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"


def test_the_published_example_of_signed_notes_holds() -> None:
    import base64

    key, signed = NoteKey.parse(NEUMANN), base64.b64decode(NEUMANN_SIGNED)
    line = NoteSignature("PeterNeumann", signed[:4], signed[4:])
    note = Checkpoint(text=NEUMANN_TEXT, origin="PeterNeumann", size=0, root=Digest(bytes(32)), signatures=(line,))
    assert str(key) == NEUMANN
    assert key.signed(note)
    changed = Checkpoint(text=NEUMANN_TEXT + "x", origin="", size=0, root=Digest(bytes(32)), signatures=(line,))
    assert not key.signed(changed)


def test_the_published_roots_of_certificate_transparency_hold() -> None:
    """Leaves and roots of the reference implementation of RFC 6962."""
    leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    hashes = [leaf_hash(bytes.fromhex(each)) for each in leaves]
    assert [root(hashes[:size]).hex() for size in (1, 2, 3, 5, 8)] == [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]


def test_pins_accept_what_the_vectors_say(vectors: dict[str, Any]) -> None:
    file = vectors["good/log_proof"]
    log, witness = (NoteKey.parse(file["pins"][name]) for name in ("log", "witness"))
    other = NoteKey("w2.example", 4, log.key)
    pins = LogPins(log=log, witnesses=(other, witness), quorum=1)
    for case in file["trust"]:
        note = read_checkpoint(case["note"])
        if case["witnesses"]:
            assert pins.accept(note, case["now"]).witnesses == (witness.name,), case["name"]
        else:
            with pytest.raises(InvalidValue):
                pins.accept(note, case["now"])
    alone = next(read_checkpoint(case["note"]) for case in file["trust"] if case["name"] == "log_alone")
    assert LogPins(log=log).accept(alone, 0).witnesses == ()
    twice = next(read_checkpoint(case["note"]) for case in file["trust"] if "twice" in case["name"])
    with pytest.raises(InvalidValue, match="1 of its witnesses vouch for it, 2 are needed"):
        LogPins(log=log, witnesses=(other, witness), quorum=2).accept(twice, file["time"])
    ahead = next(read_checkpoint(case["note"]) for case in file["trust"] if case["name"] == "witness_a_day_ahead")
    with pytest.raises(InvalidValue, match=r"the clock of witness\.example is more than a day ahead"):
        pins.accept(ahead, file["time"])


def test_a_witness_counts_by_either_of_its_keys(vectors: dict[str, Any]) -> None:
    """A witness that changes its key is pinned with both for a while; the order of the pins does not matter."""
    file = vectors["good/log_proof"]
    log, witness = (NoteKey.parse(file["pins"][name]) for name in ("log", "witness"))
    retired = NoteKey(witness.name, witness.kind, log.key)
    note = next(read_checkpoint(case["note"]) for case in file["trust"] if case["witnesses"])
    for witnesses in ((witness, retired), (retired, witness)):
        found = LogPins(log=log, witnesses=witnesses, quorum=1).accept(note, file["time"])
        assert found.witnesses == (witness.name,)
        assert found.at > 0


def test_another_log_is_refused(vectors: dict[str, Any]) -> None:
    file = vectors["good/log_proof"]
    log = NoteKey.parse(file["pins"]["log"])
    note = read_checkpoint(file["trust"][0]["note"])
    with pytest.raises(InvalidValue, match=r"not of other\.example/log"):
        LogPins(log=NoteKey("other.example/log", 1, log.key)).accept(note, file["time"])
    with pytest.raises(InvalidValue, match="no valid signature"):
        LogPins(log=NoteKey(log.name, 1, NoteKey.parse(file["pins"]["witness"]).key)).accept(note, file["time"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PeterNeumann",
        NEUMANN[:-1],
        NEUMANN.replace("c74f20a3", "c74f20a4"),
        NEUMANN.replace("c74f20a3", "C74F20A3"),
        NEUMANN.replace("PeterNeumann", "Peter Neumann"),
        NEUMANN.replace("PeterNeumann", ""),
        NEUMANN.replace("+AR", "+BR"),
        f"{NEUMANN}\n",
        f"{NEUMANN} ",
        # A point of small order, and bytes that are no point.
        str(NoteKey("small.example", 1, bytes([1]) + bytes(31))),
        str(NoteKey("none.example", 1, b"\xff" * 32)),
        str(
            NoteKey(
                "kind.example", 6, bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
            )
        ),
        None,
        7,
    ],
)
def test_other_spellings_of_keys_are_refused(text: Any) -> None:
    with pytest.raises(InvalidValue):
        NoteKey.parse(text)


def test_pins_that_cannot_be_meant_are_refused(vectors: dict[str, Any]) -> None:
    file = vectors["good/log_proof"]
    log, witness = (NoteKey.parse(file["pins"][name]) for name in ("log", "witness"))
    for wrong in (
        {"log": witness},
        {"log": log, "witnesses": (log,)},
        {"log": log, "witnesses": (witness, witness)},
        {"log": log, "quorum": 1},
        {"log": log, "witnesses": (witness,), "quorum": 2},
        {"log": log, "witnesses": (witness,), "quorum": -1},
        {"log": log, "witnesses": (witness,), "quorum": True},
    ):
        with pytest.raises(InvalidValue):
            LogPins(**wrong)


def test_a_checkpoint_is_that_of_any_pinned_key(vectors: dict[str, Any]) -> None:
    file = vectors["good/log_proof"]
    found = file["rotation"]
    for case in found["checkpoints"]:
        first, *others = map(NoteKey.parse, found["pins"][case["pins"]])
        pins, note = LogPins(log=first, others=tuple(others)), read_checkpoint(case["note"])
        if case["accepted"]:
            assert pins.accept(note, file["time"]).witnesses == (), case["name"]
        else:
            with pytest.raises(InvalidValue, match="no valid signature"):
                pins.accept(note, file["time"])
    for case in found["wrong_pins"]:
        first, *others = map(NoteKey.parse, case["pins"])
        with pytest.raises(InvalidValue):
            LogPins(log=first, others=tuple(others))
