"""Entries of the public log, proofs that they are in it, and proofs that must be refused."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sordino_shared.protocol import CampaignId, Digest, LogEntry, Manifest
from sordino_shared.protocol.log_entries import (
    EndState,
    LoggedEnd,
    LoggedKey,
    LoggedPlan,
    LoggedPolicy,
    LoggedSigner,
    SignerChange,
    entry_of_manifest,
)

ORIGIN, WITNESS, AT = "telemetry.example/log", "witness.example", 1_800_000_000
_LOG, _WITNESS, _NEXT = (Ed25519PrivateKey.from_private_bytes(bytes([byte]) * 32) for byte in (20, 21, 22))


def entries(manifests: dict[str, Manifest]) -> dict[str, LogEntry]:
    """One of each kind, of one and of many attributes, and with every number at an end."""
    part = Digest.of(b"part")
    text = "Reports are kept for 30 days.\nContact: privacy@telemetry.example"
    many = entry_of_manifest(manifests["strings_at_limits"], (part,) * 16, 2**40)
    return {
        "campaign": entry_of_manifest(manifests["one_round"], (part,), AT),
        "successor": entry_of_manifest(manifests["successor"], (part,), AT),
        "many_attributes": many,
        "plan": LogEntry(AT, part, LoggedPlan(CampaignId(bytes(32)), 1)),
        "plan_at_limits": LogEntry(0, part, LoggedPlan(CampaignId(bytes(32)), 15)),
        "closed": LogEntry(AT, bytes(32), LoggedEnd(EndState.CLOSED)),
        "cancelled": LogEntry(AT, bytes(32), LoggedEnd(EndState.CANCELLED)),
        "signer": LogEntry(AT, b"\x01" * 32, LoggedSigner(SignerChange.ADDED, 2**40)),
        "signer_withdrawn": LogEntry(AT, b"\x01" * 32, LoggedSigner(SignerChange.WITHDRAWN, None)),
        "policy": LogEntry(AT, Digest.of(text.encode()), LoggedPolicy(text)),
        "key": LogEntry(AT, b"\x02" * 32, LoggedKey()),
    }


def _leaf(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def _split(count: int) -> int:
    """The largest power of two below a count."""
    return 1 << (count - 1).bit_length() - 1


def root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, by its recursion."""
    if len(leaves) == 1:
        return leaves[0]
    cut = _split(len(leaves))
    return hashlib.sha256(b"\x01" + root(leaves[:cut]) + root(leaves[cut:])).digest()


def path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    cut = _split(len(leaves))
    if index < cut:
        return [*path(index, leaves[:cut]), root(leaves[cut:])]
    return [*path(index - cut, leaves[cut:]), root(leaves[:cut])]


def consistency(first: int, leaves: Sequence[bytes], whole: bool = True) -> list[bytes]:
    """RFC 6962, section 2.1.2."""
    if first == len(leaves):
        return [] if whole else [root(leaves)]
    cut = _split(len(leaves))
    if first <= cut:
        return [*consistency(first, leaves[:cut], whole), root(leaves[cut:])]
    return [*consistency(first - cut, leaves[cut:], False), root(leaves[:cut])]


def _64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _signature(name: str, key: Ed25519PrivateKey, kind: int, text: str, time: int | None = None) -> str:
    public = key.public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]
    if time is None:
        return f"\N{EM DASH} {name} {_64(key_id + key.sign(text.encode()))}\n"
    signed = key.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
    return f"\N{EM DASH} {name} {_64(key_id + time.to_bytes(8, 'big') + signed)}\n"


def checkpoint(size: int, root_hash: bytes, *extensions: str) -> str:
    """Signed by the log and by one witness."""
    text = "".join(f"{line}\n" for line in (ORIGIN, size, _64(root_hash), *extensions))
    return f"{text}\n{_signature(ORIGIN, _LOG, 1, text)}{_signature(WITNESS, _WITNESS, 4, text, AT)}"


def proof(entry: bytes, index: int, hashes: Sequence[bytes], note: str) -> str:
    """A `tlog-proof@v1`."""
    lines = ["c2sp.org/tlog-proof@v1", f"extra {_64(entry)}", f"index {index}", *map(_64, hashes)]
    return "\n".join(lines) + f"\n\n{note}"


def log_proofs(manifests: dict[str, Manifest]) -> dict[str, Any]:
    """Files of proofs by path: good ones at several sizes of the tree, and ones that differ in one thing."""
    found = [each.content for each in entries(manifests).values()]
    leaves, good = [_leaf(content) for content in found], []
    for size in (1, 2, 3, 7, 8, 11):
        for index in sorted({0, size // 2, size - 1}):
            note = checkpoint(size, root(leaves[:size]), *(["audit AAAA"] if size == 7 else []))
            text = proof(found[index], index, path(index, leaves[:size]), note)
            good.append({"name": f"{index}_of_{size}", "index": index, "size": size, "text": text})
    trees = [
        {
            "sizes": [first, size],
            "roots": [root(leaves[:first]).hex(), root(leaves[:size]).hex()],
            "path": [each.hex() for each in consistency(first, leaves[:size])],
        }
        for first, size in ((1, 2), (3, 7), (4, 8), (6, 11), (11, 11), (8, 11))
    ]
    keys = {
        "log": _LOG.public_key().public_bytes_raw().hex(),
        "witness": _WITNESS.public_key().public_bytes_raw().hex(),
    }
    head = {"origin": ORIGIN, "witness": WITNESS, "keys": keys, "time": AT}
    pins = {"log": _note_key(ORIGIN, 1, _LOG), "witness": _note_key(WITNESS, 4, _WITNESS)}
    listed, wrong = days(leaves)
    more = {"pins": pins, "trust": trust(leaves), "rotation": rotation(leaves), "days": listed}
    return {
        "good/log_proof.json": head | {"vectors": good, "consistency": trees} | more,
        "bad/log_proof.json": {
            "vectors": [{"name": name, "text": text} for name, text in _bad(found, leaves)],
            "days": [{"name": name, "text": text} for name, text in wrong],
        },
    }


def _note_key(name: str, kind: int, key: Ed25519PrivateKey) -> str:
    public = bytes([kind]) + key.public_key().public_bytes_raw()
    return f"{name}+{hashlib.sha256(name.encode() + chr(10).encode() + public).digest()[:4].hex()}+{_64(public)}"


def _note(size: int, root_hash: bytes, *lines: str) -> str:
    text = "".join(f"{line}\n" for line in (ORIGIN, size, _64(root_hash)))
    return f"{text}\n{''.join(line or _signature(ORIGIN, _LOG, 1, text) for line in lines)}"


def _by_witness(size: int, root_hash: bytes, time: int = AT, name: str = WITNESS) -> str:
    text = "".join(f"{line}\n" for line in (ORIGIN, size, _64(root_hash)))
    return _signature(name, _WITNESS, 4, text, time)


def trust(leaves: Sequence[bytes]) -> list[dict[str, Any]]:
    """Checkpoints, and whether they are taken by a quorum of one of two witnesses at a moment."""
    size, whole = len(leaves), root(leaves)
    witness, unknown = _by_witness(size, whole), "\N{EM DASH} other.example AAAAAAAA\n"
    of_another = _by_witness(size, bytes(32))
    text = "".join(f"{line}\n" for line in (ORIGIN, size, _64(whole)))
    cases = [
        ("log_and_witness", _note(size, whole, "", witness), 1),
        ("unknown_lines_are_ignored", _note(size, whole, unknown, "", unknown, witness), 1),
        ("log_alone", _note(size, whole, ""), 0),
        ("witness_alone", _note(size, whole, witness), 0),
        ("witness_twice_counts_once", _note(size, whole, "", witness, _by_witness(size, whole, AT + 1)), 1),
        ("witness_of_another_root", _note(size, whole, "", of_another), 0),
        ("witness_a_day_ahead", _note(size, whole, "", _by_witness(size, whole, AT + 86_401)), 0),
        ("witness_almost_a_day_ahead", _note(size, whole, "", _by_witness(size, whole, AT + 86_400)), 1),
        ("witness_by_another_name", _note(size, whole, "", _by_witness(size, whole, AT, "w.example")), 0),
        ("log_signs_as_witness", _note(size, whole, "", _signature(WITNESS, _LOG, 4, text, AT)), 0),
        ("witness_signs_as_log", _note(size, whole, _signature(ORIGIN, _WITNESS, 1, text), witness), 0),
        ("cosignature_as_a_signature", _note(size, whole, "", _signature(WITNESS, _WITNESS, 1, text)), 0),
    ]
    return [{"name": name, "note": note, "now": AT, "witnesses": seen} for name, note, seen in cases]


def rotation(leaves: Sequence[bytes]) -> dict[str, Any]:
    """Checkpoints by the log's key, by the next one and by both, and whether an app that pins some accepts them."""
    size, whole = len(leaves), root(leaves)
    text = "".join(f"{line}\n" for line in (ORIGIN, size, _64(whole)))
    old, new = _signature(ORIGIN, _LOG, 1, text), _signature(ORIGIN, _NEXT, 1, text)
    broken = _signature(ORIGIN, _NEXT, 1, text + "x")
    notes = {"by_both": old + new, "by_the_old": old, "by_the_new": new, "broken_and_old": broken + old}
    notes |= {"old_twice": old + old, "broken": broken, "none": _by_witness(size, whole)}
    accepted = {
        "old": {"by_both", "by_the_old", "broken_and_old", "old_twice"},
        "new": {"by_both", "by_the_new"},
        "both": {"by_both", "by_the_old", "by_the_new", "broken_and_old", "old_twice"},
    }
    pins = {"old": [_note_key(ORIGIN, 1, _LOG)], "new": [_note_key(ORIGIN, 1, _NEXT)]}
    pins["both"] = pins["old"] + pins["new"]
    wrong = {
        "the_same_key_twice": pins["old"] * 2,
        "keys_of_two_logs": [*pins["old"], _note_key("other.example/log", 1, _NEXT)],
        "a_key_of_a_witness": [*pins["old"], _note_key(ORIGIN, 4, _NEXT)],
        "five_keys": [_note_key(ORIGIN, 1, Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32)) for n in range(5)],
    }
    cases = [
        {
            "name": f"{name}_pinned_{pinned}",
            "pins": pinned,
            "note": f"{text}\n{lines}",
            "accepted": name in accepted[pinned],
        }
        for pinned in pins
        for name, lines in notes.items()
    ]
    return {"pins": pins, "checkpoints": cases, "wrong_pins": [{"name": name, "pins": wrong[name]} for name in wrong]}


def days(leaves: Sequence[bytes]) -> tuple[str, list[tuple[str, str]]]:
    """A list of days, and ones that are none."""
    blocks = [
        "\n".join([f"day {20_000 + size} {size} {_64(root(leaves[:size]))}", *map(_64, consistency(size, leaves))])
        for size in (1, 4, 6, len(leaves))
    ]
    header, note = "sordino/log-days@v1", checkpoint(len(leaves), root(leaves))
    text = "\n".join([header, *blocks]) + f"\n\n{note}"
    first = blocks[0].split("\n")
    many = [blocks[3].replace("day 20011", f"day {20_011 + number}") for number in range(33)]
    return text, [
        ("another_header", text.replace("@v1", "@v2")),
        ("hash_before_the_first_day", text.replace(header, f"{header}\n{first[1]}")),
        ("days_descend", "\n".join([header, blocks[1], blocks[0]]) + f"\n\n{note}"),
        ("day_twice", "\n".join([header, blocks[0], blocks[0]]) + f"\n\n{note}"),
        ("another_root", text.replace(_64(root(leaves[:4])), _64(bytes(32)))),
        ("another_size", text.replace("day 20004 4", "day 20004 5")),
        ("short_path", text.replace(f"{first[-1]}\n", "", 1)),
        ("size_of_nothing", text.replace("day 20001 1", "day 20001 0")),
        ("larger_than_the_newest", text.replace("day 20011 11", "day 20011 12")),
        ("day_with_zero", text.replace("day 20001", "day 020001")),
        ("thirty_three_days", "\n".join([header, *many]) + f"\n\n{note}"),
        ("no_checkpoint", "\n".join([header, *blocks])),
        ("too_long", text + "x" * 65_536),
    ]


def _bad(found: list[bytes], leaves: list[bytes]) -> list[tuple[str, str]]:
    note, hashes = checkpoint(11, root(leaves)), path(4, leaves)
    text = proof(found[4], 4, hashes, note)
    head, _, rest = text.partition("\n\n")
    lines = head.split("\n")
    signed = rest.partition("\n\n")[2]
    turned = "\n".join([*lines[:3], *reversed(lines[3:])])
    unpadded = lines[3].rstrip("=")
    spelled = lines[3][:-2] + chr(ord(lines[3][-2]) + 1) + "="
    unsigned = rest.partition("\n\n")[0]
    return [
        ("another_index", proof(found[4], 5, hashes, note)),
        ("another_entry", proof(found[5], 4, hashes, note)),
        ("index_at_size", proof(found[4], 11, hashes, note)),
        ("index_2_63", proof(found[4], 2**63, hashes, note)),
        ("index_with_zero", text.replace("index 4", "index 04")),
        ("index_signed", text.replace("index 4", "index +4")),
        ("short_path", proof(found[4], 4, hashes[:-1], note)),
        ("long_path", proof(found[4], 4, [*hashes, bytes(32)], note)),
        ("path_of_41", proof(found[4], 4, [bytes(32)] * 41, note)),
        ("turned_path", f"{turned}\n\n{rest}"),
        ("hash_of_31", proof(found[4], 4, [hashes[0][:31], *hashes[1:]], note)),
        ("unpadded", text.replace(lines[3], unpadded)),
        ("spelled_otherwise", text.replace(lines[3], spelled)),
        ("without_entry", text.replace(f"{lines[1]}\n", "")),
        ("no_entry", proof(b"\xa0", 0, [], checkpoint(1, _leaf(b"\xa0")))),
        ("another_header", text.replace("@v1", "@v2", 1)),
        ("carriage_returns", text.replace("\n", "\r\n")),
        ("other_letters", text.replace("telemetry", "t\u00e9l\u00e9metry")),
        ("size_with_zero", text.replace("\n11\n", "\n011\n")),
        ("another_size", proof(found[4], 4, hashes, checkpoint(100, root(leaves)))),
        ("another_root", proof(found[4], 4, hashes, checkpoint(11, bytes(32)))),
        ("no_signature", f"{head}\n\n{unsigned}\n\n"),
        ("no_checkpoint", head),
        ("without_last_line_feed", text[:-1]),
        ("seventeen_signatures", text + signed.splitlines(keepends=True)[0] * 15),
        ("hyphen_for_dash", text.replace("\N{EM DASH}", "-")),
        ("short_signature", text + "\N{EM DASH} w.example AAAA\n"),
        ("origin_with_blank", text.replace("telemetry.example/log\n", "telemetry example/log\n")),
        ("too_long", text + "x" * 12_288),
        ("empty", ""),
    ]


def changes_of_entries() -> list[tuple[str, tuple[str | int, ...], list[Any], str]]:
    """(example, place, wrong values, why) of the fields of entries."""
    named, long = ("event", "named", 0), "x" * 201
    heavy = [{"name": "x" * 200, "largest": 1}] * 11
    return [
        ("campaign", ("at",), [-1, 2**40 + 1], "0 to 2^40"),
        ("campaign", ("subject",), [bytes(31), bytes(33)], "32 bytes"),
        ("campaign", ("event",), [{"kind": "note"}, {"kind": "key", "name": "x"}, None], "a kind that there is"),
        ("campaign", ("event", "name"), ["", long, " a"], "1 to 200 characters"),
        ("campaign", ("event", "population"), ["", long], "1 to 200 characters"),
        ("campaign", ("event", "nano_epsilon"), [-1, 10**12 + 1], "0 to 10^12"),
        ("campaign", ("event", "parts"), [[], [bytes(32)] * 17, [bytes(31)]], "1 to 16 digests"),
        ("campaign", ("event", "replaces"), [bytes(31)], "32 bytes or null"),
        ("campaign", ("event", "domain"), [bytes(31)], "32 bytes"),
        ("campaign", ("event", "attributes"), [0, 1, 256], "1 to 255, as many as are named"),
        ("many_attributes", ("event", "named"), [heavy], "at most 2048 bytes"),
        ("campaign", (*named, "name"), ["", long], "1 to 200 characters"),
        ("campaign", (*named, "largest"), [-1, 1.0], "0 to 2^64 - 1"),
        ("plan", ("event", "round"), [0, 16], "1 to 15"),
        ("plan", ("event", "campaign"), [bytes(31)], "32 bytes"),
        ("closed", ("event", "state"), ["open", "ready", ""], "closed or cancelled"),
        ("signer", ("event", "change"), ["expired", "withdrawn"], "added or withdrawn, the latter without an end"),
        ("signer", ("event", "expires"), [-1, 2**40 + 1], "0 to 2^40"),
        ("policy", ("event", "text"), ["", "x" * 2001, "Another text."], "1 to 2000 characters, whose digest is told"),
        ("policy", ("subject",), [bytes(32)], "the digest of the text"),
    ]
