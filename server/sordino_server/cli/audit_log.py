"""`sordino audit-log`: what operators changed, through the REST API, and whether its chain of hashes holds."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

import typer

from sordino_server.cli.output import fail
from sordino_server.cli.remote import Remote, RemoteProblem
from sordino_server.cli.remote_command import Listing, Shown, remote_command
from sordino_server.keys.audit_chain import START, head_in, link, lost_in
from sordino_server.keys.audit_subjects import SubjectKind
from sordino_server.public_log.files import MOST_CHECKPOINT
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Digest, Problem
from sordino_shared.protocol.log_notes import read_checkpoint, read_text
from sordino_shared.quantities import quantity


@remote_command
def audit_log(
    remote: Remote,
    what: Annotated[
        Literal["list", "verify"], typer.Argument(metavar="[list|verify]", help="Print entries, or check the chain.")
    ] = "list",
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Print at most the N newest entries.")] = 50,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Entries of this key or person; `server`: its own.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="ID", help="Entries about what has this id, such as a campaign or key.")
    ] = None,
    kind: Annotated[SubjectKind | None, typer.Option(help="Entries about this kind of subject.")] = None,
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="With verify: a head from before, which has to be in the chain.")
    ] = None,
    lost: Annotated[
        list[str] | None,
        typer.Option(metavar="HASH", help="With verify: a head that is known to be lost, as with a backup. Repeat it."),
    ] = None,
) -> Shown:
    """Print what operators and the server did: when, by whom, and to what. Newest first.

    Examples:

        sordino audit-log --kind campaign --person ana

        sordino audit-log verify --head 5d41402abc4b2a76b9719d911017c592ae1d3f7a0c9f6e3f0e2f3c9b5a1d7e42

    `verify` computes the hash of each entry again, from the entry and the hash before it, and prints the newest: keep
    it elsewhere, and a log that was shortened or changed before it is found. The heads that checkpoints of the public
    log named have to be in the chain, too. That requires an admin's key; an analyst's lists what is about campaigns,
    populations, plans, workloads, datasets and releases.
    """
    if (head is not None or lost) and what == "list":
        raise InvalidValue("--head and --lost go with `sordino audit-log verify`", head)
    filters = {"person": person, "subject": subject, "kind": kind}
    chosen = {name: value for name, value in filters.items() if value is not None}
    if what == "verify":
        if chosen:
            raise InvalidValue(f"--{next(iter(chosen))} goes with `sordino audit-log list`: the chain has every entry")
        return _verified(remote, None if head is None else _hash(head), set(map(_hash, lost or ())))
    entries = list(islice(remote.listed("/v1/audit-log", "entries", **chosen), limit))
    shown = [(*(each[name] for name in ("created", "actor", "action")), _named(each), each["path"]) for each in entries]
    return {"entries": entries}, Listing(("created", "actor", "action", "name", "path"), shown)


def _named(entry: dict[str, Any]) -> str:
    return (entry["subject"] or {}).get("name") or "–"


def _hash(text: str) -> str:
    return str(Digest.parse(text.strip().lower()))


def _verified(remote: Remote, head: str | None, known: set[str]) -> Shown:
    if not remote.get("/v1/audit-log", page_size=1)["complete"]:
        fail("the chain has every entry, and this key may not read them all: verify it with an admin's key")
    # Before the entries: a chain that grows meanwhile has it.
    published, lost = _published(remote)
    entries = list(remote.listed("/v1/audit-log", "entries"))[::-1]
    chained = [entry for entry in entries if entry["sha256"] is not None]
    previous, seen = START, {START}
    for entry in entries[: len(chained)]:
        previous = link(previous, _fields(entry))
        if previous != entry["sha256"]:
            fail(f"the chain breaks at entry {entry['id']} ({entry['created']}): it was changed, or one before it")
        seen.add(previous)
    if head is not None and head not in seen:
        fail(f"the chain has no head {head}: entries before it were changed or removed")
    missing = [each for each in (*lost, *filter(None, [published])) if each not in seen and each not in known]
    if missing:
        fail(
            f"the chain has no head {missing[0]}, which the public log names: entries before it were changed or "
            f"removed, or a backup from before them was restored (then give --lost {missing[0]})"
        )
    waiting = len(entries) - len(chained)
    document = {
        "holds": True,
        "entries": len(chained),
        "waiting": waiting,
        "head": previous,
        "published": published,
        "lost": list(lost),
    }
    more = f"; {quantity(waiting, 'entry')} a worker has yet to chain" if waiting else ""
    named = "no checkpoint of a public log names a head" if published is None else f"in the public log: {published}"
    return document, (f"{quantity(len(chained), 'entry')} hold{more}", f"head: {previous}", named)


def _published(remote: Remote) -> tuple[str | None, tuple[str, ...]]:
    """The head that the newest checkpoint of the server's public log names, and those that it says are lost.

    None without a log, or before the first.
    """
    try:
        content = remote.content("/log/checkpoint", MOST_CHECKPOINT)
    except RemoteProblem as problem:
        if problem.slug != Problem.NOT_FOUND.slug:
            raise
        return None, ()
    note = read_checkpoint(read_text(content))
    return head_in(note), lost_in(note)


def _fields(entry: dict[str, Any]) -> tuple[object, ...]:
    """As `audit_chain.fields_of`."""
    actor = entry["actor"] if entry["actor_recorded"] else None
    number = int(entry["id"], 16)
    return (
        number,
        entry["key_id"],
        actor,
        entry["action"],
        entry["path"],
        entry["created_at"],
        entry["request_id"],
        entry["before"],
        entry["after"],
    )
