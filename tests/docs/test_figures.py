"""Numbers of limits and times that the pages state are the constants of the code."""

from __future__ import annotations

from pathlib import Path

import pytest
import uvicorn

from sordino_server import metrics
from sordino_server.jobs import worker
from sordino_server.keys import idempotency
from sordino_server.keys import service as keys
from sordino_server.kit import arriving_body, patient_connection, token_buckets
from sordino_server.reports import admission, writer
from sordino_server.reports import upload_endpoint as front_door
from sordino_server.rounds import repository as rounds
from sordino_server.serving import health, http_protocol
from sordino_server.work.work_queue import CHECKS
from sordino_shared import domains, guarantees
from sordino_shared.guarantees import NANO
from sordino_shared.protocol import MAX_REPORTS, ReportBatch
from sordino_shared.randomizers import base, finite_kernel, seeded_direction
from sordino_shared.randomizers.directions import SEED_BYTES

DOCS = Path(__file__).parents[2] / "docs"
OPERATIONS, THREATS, PROTOCOL, QUICKSTART = "operations", "threat-model", "protocol", "quickstart"
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def kib(size: int) -> str:
    return f"{size / 2**10:g} KiB"


def mib(size: int) -> str:
    return f"{size / 2**20:g} MiB"


def power(number: int) -> str:
    """A power of two as pages write it."""
    exponent = number.bit_length() - 1
    return f"2{str(exponent).translate(_SUPERSCRIPTS)}" if number == 1 << exponent else str(number)


def spoken(seconds: float) -> str:
    """Times that pages write in words."""
    return {60: "a minute", 600: "ten minutes"}.get(int(seconds), f"{seconds:g} seconds")


HEAD_S, HEAD_BYTES = http_protocol.HEAD_TIMEOUT_S, http_protocol.MAX_HEAD_BYTES
KEEP_ALIVE_S = uvicorn.Config("").timeout_keep_alive
STATED = [
    (OPERATIONS, f"while the database answers within {health.READY_WITHIN_S:g} seconds"),
    (OPERATIONS, f"has {mib(health.MIN_FREE_BYTES)} of room on its disk"),
    (OPERATIONS, f"while it does not answer within {metrics._STORED_WITHIN_S:g} seconds, these are left out"),
    (OPERATIONS, f"a server process may know it for {admission.TOKEN_KNOWN_S:g} more seconds"),
    (OPERATIONS, f"remembers the {token_buckets.MAX_KEYS:,} addresses that came last"),
    (OPERATIONS, f"The rate is of uploads, each of up to {MAX_REPORTS} reports"),
    (OPERATIONS, f"the worker deletes, within {spoken(worker._PURGE_EVERY_S)}, the payloads and ids"),
    (OPERATIONS, f"goes into the next, up to {writer.GROUP_REPORTS:,} reports"),
    (OPERATIONS, f"an epoch lasts for {rounds.REPORTS_PER_EPOCH:,} reports"),
    (
        OPERATIONS,
        f"At most {mib(writer.MAX_QUEUED_BYTES)} or {writer.MAX_QUEUED_REQUESTS:,} requests wait to be written, and at "
        f"most {mib(front_door.MAX_ARRIVING_BYTES)} of bodies that have begun to come",
    ),
    (OPERATIONS, f"a body that does not come within {spoken(front_door.BODY_TIMEOUT_S)} 408"),
    (OPERATIONS, f"no whole head of a request has come for {HEAD_S:g} seconds ({HEAD_S / 2:g} at least after"),
    (OPERATIONS, f"holds at most {HEAD_S:g} c of them"),
    (OPERATIONS, f"when {kib(HEAD_BYTES)} ({2 * HEAD_BYTES >> 10} behind"),
    (OPERATIONS, f"after {KEEP_ALIVE_S} seconds without a byte behind an answer"),
    (
        OPERATIONS,
        f"A statement that has run for {patient_connection.ASK_AFTER_S:g} seconds therefore makes",
    ),
    (OPERATIONS, f"when it does not come within {patient_connection.ANSWER_WITHIN_S}."),
    (THREATS, f"413 at {mib(ReportBatch.limit)} for a batch"),
    (THREATS, f"{kib(arriving_body.SMALL_LIMIT)} for an operator's request"),
    (THREATS, f"{mib(front_door.MAX_ARRIVING_BYTES)} of them together, then 503"),
    (THREATS, f"[within {HEAD_S:g} seconds](operations.md#throughput-and-sizing)"),
    (THREATS, f"after {kib(HEAD_BYTES)} ({2 * HEAD_BYTES >> 10} behind an answer) of a head"),
    (THREATS, f"{8 * keys._SECRET_BYTES} random bits"),
    (THREATS, f"within {CHECKS.limits.cpu_s} seconds of processor time and {CHECKS.limits.memory_mb >> 10} GiB"),
    (QUICKSTART, f"can be repeated safely for {idempotency.REMEMBERED_S / 86400:g} days"),
    (PROTOCOL, f"ε from .{guarantees.MIN_ROUND_NANO * 1000 // NANO:03} to {guarantees.MAX_ROUND_NANO // NANO}"),
    (PROTOCOL, f"modulo {rounds.EPOCHS:,}, with every {rounds.REPORTS_PER_EPOCH:,} reports of the round"),
    (PROTOCOL, f"Where k is at most {power(domains.MAX_CELLS)} the cells have numbers too"),
    (PROTOCOL, f"The entries of all attributes are at most {domains.MAX_MEMBERS:,}: the members of"),
    (PROTOCOL, f"integers over 2^bits, {base.MIN_BITS} ≤ bits ≤ {base.MAX_BITS}"),
    (PROTOCOL, f"for which ratio · {power(1 << guarantees._FRACTION_BITS)} ≤"),
    (PROTOCOL, f"There are at most {power(base.MAX_DEVICE_TYPES)} types"),
    (PROTOCOL, f"at most {power(finite_kernel.MAX_OUTPUTS)} rows and {power(finite_kernel.MAX_ENTRIES)} entries"),
    (PROTOCOL, f"of shape (k, d), d up to {seeded_direction.MAX_DIMENSION}"),
    (PROTOCOL, f"Payload: {SEED_BYTES} bytes of seed"),
]


@pytest.mark.parametrize(("page", "stated"), STATED)
def test_the_page_states_what_holds(page: str, stated: str) -> None:
    assert stated in " ".join((DOCS / f"{page}.md").read_text(encoding="utf-8").split())


def test_reports_and_other_bodies_have_the_same_time() -> None:
    assert arriving_body.TIMEOUT_S == front_door.BODY_TIMEOUT_S
