"""A collector in miniature: real HTTP, real keys, and what the contract between collector and shuffler says of a batch.

It publishes a campaign as a server does, takes pages and statements, opens reports, and can be told to misbehave.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sordino_client.testing._fake_log import FakeLog
from sordino_shared import sealing
from sordino_shared.domains import Domain, Ordinal
from sordino_shared.ed25519 import verify
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import (
    Arm,
    BatchStatement,
    CampaignState,
    CollectorKey,
    DevicePart,
    Digest,
    EveryRound,
    Gate,
    Issuer,
    Manifest,
    PlanReference,
    PrivacyClaim,
    RetryWindow,
    Rotating,
    RoundTerms,
    SealedReports,
    ShuffledPage,
    ShuffledRoute,
    Shuffler,
    Task,
    TokenEvaluations,
    TokenRequest,
)
from sordino_shared.protocol.log_entries import entry_of_manifest, logged_parts
from sordino_shared.protocol.routes import SIGNATURE_BYTES
from sordino_shared.protocol.sealed import sealed_id, sealed_plaintext, sealing_info
from sordino_shared.randomizers import RandomizedResponse
from sordino_shared.randomness import SystemRandomness
from sordino_shared.shuffling.claims import bound_of, least_claim
from sordino_shared.tokens import IssuerKey, evaluate

FOUR = PureEpsilon.of(4)
BLANKET = 30
DOMAIN = Domain((Ordinal("bucket", tuple(range(1, 8)), other=False, missing=False),))
PART = DevicePart(DOMAIN, FOUR, RandomizedResponse.for_guarantee(8, FOUR))


def true_claims(blanket: int, *epsilons: int) -> tuple[PrivacyClaim, ...]:
    """The least claims at ε of so many nano."""
    return tuple(PrivacyClaim(nano, least_claim(bound_of(PART.randomizer, blanket, nano))) for nano in epsilons)


@dataclass
class SmallCollector:
    """One campaign through a shuffler, and everything that came in."""

    shuffler_key: bytes
    shuffler_url: str = "http://127.0.0.1:1"
    floor: int = 10
    blanket: int = BLANKET
    end: int | None = 2_000_000_000
    law: Rotating | None = None
    arms: tuple[Arm, ...] = ()
    claims: tuple[PrivacyClaim, ...] = ()
    key: str = "sdo_shuffler_test"
    pages: dict[int, dict[int, ShuffledPage]] = field(default_factory=dict)
    statements: dict[int, BatchStatement] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    peers: list[tuple[str, int]] = field(default_factory=list)
    # Answers in place of what is right, the next first: (status, slug).
    failures: list[tuple[int, str]] = field(default_factory=list)
    # Where what is taken is written before it is answered, for a collector that is killed.
    folder: Path | None = None
    # Through what devices get tokens; None where reports have none. A test may set another key than the manifest's.
    gate: Gate | None = None
    issuer_key: IssuerKey = field(default_factory=lambda: IssuerKey(7))
    asked: list[TokenRequest] = field(default_factory=list)
    # Its public log; None where it keeps none, which is what most tests need.
    log: FakeLog | None = None
    secrets: bytes = field(default_factory=lambda: os.urandom(64))
    created_at: int = field(default_factory=lambda: int(time.time()))
    task: Task = field(init=False)

    def __post_init__(self) -> None:
        secret = X25519PrivateKey.from_private_bytes(self.secrets[:32])
        self.private, public = secret.private_bytes_raw(), secret.public_key().public_bytes_raw()
        self._task_key = Ed25519PrivateKey.from_private_bytes(self.secrets[32:])
        self.claims = self.claims or true_claims(self.blanket, 500_000_000, 1_000_000_000)
        plan = PlanReference(PART.digest, Digest.of(b"analyst part"))
        self.manifest = Manifest(
            name="delays",
            purpose="How late the last train was, with random noise added.",
            population="travellers",
            created_at=self.created_at,
            domain=DOMAIN,
            device_guarantee=PureEpsilon(FOUR.nano * (1 if self.law is None else self.law.answers_max)),
            rounds=(RoundTerms(FOUR, plan),),
            assignment=self.law or EveryRound(),
            route=ShuffledRoute(
                shuffler=Shuffler("mix", (self.shuffler_url,), self.shuffler_key),
                suite=1,
                keys=(CollectorKey(0, public),),
                floor=self.floor,
                blanket=self.blanket,
                end=self.end,
                task_key=self._task_key.public_key().public_bytes_raw(),
                claims=self.claims,
                headline=len(self.claims) - 1,
                issuer=None if self.gate is None else Issuer(self.gate, (IssuerKey(7).public,)),
            ),
            arms=self.arms,
        )
        self.campaign = self.manifest.campaign
        self.task = self.signed(1)
        for path in sorted(self.folder.glob("*-*-*")) if self.folder else ():
            kind, number, index = path.name.split("-")
            content = path.read_bytes()
            if kind == "page":
                self.pages.setdefault(int(number), {})[int(index)] = ShuffledPage.read(content)
            else:
                self.statements[int(number)] = BatchStatement.read(content)

    def _keep(self, name: str, content: bytes) -> None:
        """Write what is taken, whole or not at all, before it is answered."""
        if self.folder is not None:
            (self.folder / "writing").write_bytes(content)
            (self.folder / "writing").rename(self.folder / name)

    def signed(self, number: int, **changes: object) -> Task:
        """A task of this number, signed by the collector."""
        task = Task(
            campaign=self.campaign,
            state=CampaignState.OPEN,
            round=0,
            device_parts=(PART.digest,),
            epoch=0,
            retry=RetryWindow(0, 1),
            answer_until=None,
            accept_until=self.end,
            number=number,
            signature=bytes(SIGNATURE_BYTES),
        )
        task = replace(task, **changes)
        return replace(task, signature=self._task_key.sign(task.signed_message))

    def sealed(self, number: int = 0, value: int = 0, arm: int = 0, token: bytes = b"") -> bytes:
        """One report of a device, sealed for a round."""
        payload = bytes([value]) + token
        info = sealing_info(self.campaign, number, PART.digest)
        route = self.manifest.route
        assert isinstance(route, ShuffledRoute)
        return sealing.seal(route.key_of(number), info, sealed_plaintext(arm, len(self.arms), payload))

    def documents(self) -> dict[str, bytes]:
        """What devices are told, by its path."""
        campaign = f"/v1/campaigns/{self.campaign}"
        told = {campaign: self.manifest, f"{campaign}/task": self.task, f"/v1/plans/{PART.digest}": PART}
        return {path: document.content for path, document in told.items()}

    def log_texts(self) -> dict[str, str]:
        """Proof and days of the log by their paths."""
        if self.log is None:
            return {}
        entry = entry_of_manifest(self.manifest, logged_parts(self.manifest), self.created_at)
        index = self.log.add(entry)
        return {
            f"/v1/campaigns/{self.campaign}/log-proof": self.log.proof(index),
            "/v1/log/days": self.log.days(),
        }

    def batch(self, number: int = 0) -> list[bytes]:
        """All reports of a batch in order."""
        pages = self.pages.get(number, {})
        return [report for page in sorted(pages) for report in pages[page].reports()]

    def opened(self, number: int = 0) -> list[bytes | None]:
        """The payloads of a batch in order; None for what opens to nothing."""
        info = sealing_info(self.campaign, number, PART.digest)
        return [sealing.open_sealed(self.private, info, report) for report in self.batch(number)]

    def evaluated(self, content: bytes) -> bytes:
        """The evaluations of a token request."""
        request = TokenRequest.read(content)
        self.asked.append(request)
        found, proof = evaluate(self.issuer_key, request.elements(), SystemRandomness())
        return TokenEvaluations(b"".join(found), proof).content

    def take_page(self, number: int, index: int, content: bytes, authorization: str | None) -> tuple[int, str]:
        """(status, slug) of a page, as a collector answers it."""
        if authorization != f"Bearer {self.key}":
            return 401, "unauthorized"
        page = ShuffledPage.read(content)
        if (page.campaign, page.round, page.page) != (self.campaign, number, index):
            return 422, "invalid-request"
        known = self.pages.setdefault(number, {})
        if index in known:
            return (200, "") if known[index].content == content else (409, "batch-conflict")
        if number in self.statements or index != len(known):
            return 409, "batch-conflict"
        if index and known[index - 1].ids()[-1] >= page.ids()[0]:
            return 409, "batch-conflict"
        self._keep(f"page-{number}-{index}", content)
        known[index] = page
        return 201, ""

    def take_statement(self, number: int, content: bytes, authorization: str | None) -> tuple[int, str]:
        """(status, slug) of a statement."""
        if authorization != f"Bearer {self.key}":
            return 401, "unauthorized"
        statement = BatchStatement.read(content)
        if statement.key != self.shuffler_key or not verify(
            self.shuffler_key, statement.signature, statement.signed_message
        ):
            return 422, "invalid-request"
        if number in self.statements:
            return (200, "") if self.statements[number].content == content else (409, "batch-conflict")
        ids = [sealed_id(report) for report in self.batch(number)]
        if statement.reports and (statement.reports != len(ids) or statement.root != Digest.of(b"".join(ids))):
            return 409, "batch-conflict"
        self._keep(f"statement-{number}-0", content)
        self.statements[number] = statement
        return 201, ""

    @contextmanager
    def running(self, port: int = 0) -> Iterator[str]:
        """Serve on loopback; the address."""
        server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(collector: SmallCollector) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()
    campaign = f"/v1/campaigns/{collector.campaign}"

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, status: int, content: bytes = b"", media_type: str = "application/cbor") -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _said(self, status: int, slug: str) -> None:
            if status < 300:
                self._answer(status)
            else:
                problem = {"type": f"/problems/{slug}", "detail": "as told"}
                self._answer(status, json.dumps(problem).encode(), "application/problem+json")

        def do_GET(self) -> None:
            self._note()
            content = collector.documents().get(self.path)
            if "log" in self.path and (text := collector.log_texts().get(self.path)) is not None:
                self._answer(200, text.encode(), "text/plain; charset=utf-8")
                return
            self._answer(404) if content is None else self._answer(200, content)

        def do_POST(self) -> None:
            number, _, page = self.path.removeprefix(f"{campaign}/rounds/").partition("/batch/")
            self._take(number, page or None)

        def do_PUT(self) -> None:
            self._take(self.path.removeprefix(f"{campaign}/rounds/").removesuffix("/batch"), None)

        def _take(self, number: str, page: str | None) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Authorization"]
            with lock:
                self._note()
                if collector.failures:
                    self._said(*collector.failures.pop(0))
                elif self.path.endswith("/tokens"):
                    known = key == f"Bearer {collector.key}"
                    self._answer(200, collector.evaluated(content)) if known else self._said(401, "unauthorized")
                elif page is None:
                    self._said(*collector.take_statement(int(number), content, key))
                else:
                    self._said(*collector.take_page(int(number), int(page), content, key))

        def _note(self) -> None:
            collector.requests.append(f"{self.command} {self.path}")
            collector.peers.append(self.client_address)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def upload_body(*reports: bytes) -> bytes:
    """The body of an upload of these reports."""
    return SealedReports(b"".join(reports), len(reports)).content
