"""`FakeServer`: a server of one campaign in memory, which is the clients' transport and their clock at once."""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sordino_client._client import Client
from sordino_client._clock import LATEST_S
from sordino_client._config import Caps
from sordino_client._errors import TransportFailed, WrongArgument, checked_arguments
from sordino_client._transport import Request, Response, headers_of
from sordino_client.testing._campaign import even_arms, lying_part, made_campaign, usual_randomizer
from sordino_client.testing._fake_log import FakeLog
from sordino_client.testing._series_terms import DAY_S, Daily, Hourly, Weekly
from sordino_client.testing._uploads import Uploads
from sordino_client.testing._what_came import MadeRequest, ReceivedReport
from sordino_shared._records import replace
from sordino_shared.domains import Domain
from sordino_shared.errors import OversizedDocument
from sordino_shared.guarantees import MAX_NANO, PureEpsilon
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    CampaignId,
    CampaignState,
    DevicePart,
    LogEntry,
    Manifest,
    OpenCampaigns,
    Problem,
    ReportOutcomes,
    Rotating,
)
from sordino_shared.protocol.log_entries import LoggedCampaign, entry_of_manifest, logged_parts
from sordino_shared.protocol.problems import PROBLEM_MEDIA_TYPE
from sordino_shared.randomizers import AnyRandomizer

if TYPE_CHECKING:
    from sordino_client._async_client import AsyncClient

ADDRESS = "https://fake.sordino.example"
# 2027-01-15 08:00 UTC.
START_S = 1_800_000_000
LEAST_WAIT_S = 1e-3
# The most that caps can be; a test of an app passes the app's own.
_MOST = PureEpsilon(MAX_NANO)
_DAYS = 1
NO_CAPS = Caps(_MOST, _DAYS, _MOST)
LIES = ("epsilon", "manifest", "plan", "clock", "log")
_UPLOAD = re.compile(r"/rounds/([0-9]{1,10})/reports")


class FakeServer:
    """One open campaign of a round, or a series, with the documents and the checks of a real server.

    `domain` is what is asked, `epsilon` the ε of one answer. `series` makes it a series, such as `Weekly(slots=4)`;
    `arms` are the names of an experiment's versions. `randomizer` replaces randomised response, which is taken up to
    4,096 cells, and one bit of a random label, beyond. `now` is the clock's first time in Unix seconds.
    It keeps a public log, which a client pins by `log=server.log`, with one witness, `witnesses=[server.witness]`.
    Raises `WrongArgument`.
    """

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float | str | PureEpsilon = 1,
        series: Hourly | Daily | Weekly | Rotating | None = None,
        arms: Sequence[str] = (),
        randomizer: AnyRandomizer | None = None,
        name: str = "test",
        purpose: str = "A campaign of the app's tests.",
        population: str = "test devices",
        now: float = START_S,
    ) -> None:
        with checked_arguments():
            guarantee = epsilon if isinstance(epsilon, PureEpsilon) else PureEpsilon.of(epsilon)
            law = series.law(int(now)) if isinstance(series, (Hourly, Daily, Weekly)) else series
            part = DevicePart(domain, guarantee, randomizer or usual_randomizer(domain, guarantee))
            words: dict[str, Any] = {
                "name": name,
                "purpose": purpose,
                "population": population,
                "created_at": int(now),
                "arms": even_arms(arms),
            }
            self._honest = made_campaign(part, guarantee, law, **words)
        self._words = words
        self._now = float(now)
        self._lock = threading.RLock()
        self._state, self._paused, self._online = CampaignState.OPEN, False, True
        self._told_lies: frozenset[str] = frozenset()
        self._served = self._honest
        self._failures: deque[Response] = deque()
        self._lost_answers = 0
        self._uploads = Uploads()
        self._log, self._proves = FakeLog(ADDRESS), True
        self.requests: list[MadeRequest] = []

    # What a test asserts on.

    @property
    def campaign(self) -> CampaignId:
        """The campaign's id, for `client.join`."""
        return self._served.manifest.campaign

    @property
    def manifest(self) -> Manifest:
        """The campaign's manifest."""
        return self._served.manifest

    @property
    def received(self) -> list[ReceivedReport]:
        """The reports that were counted, in their order."""
        return list(self._uploads.received)

    @property
    def log(self) -> str:
        """The verifier key of the fake server's public log, for `Client(log=…)`."""
        return self._log.key

    @property
    def witness(self) -> str:
        """The verifier key of the log's witness, for `Client(witnesses=[…])`."""
        return self._log.witness

    @property
    def period(self) -> int:
        """The number of the period that devices answer now: the one that runs, with "previous" the one before."""
        law = self._law()
        return max(law.accepted_numbers(int(self._now)), default=0)

    @property
    def time(self) -> datetime:
        """What the clock shows, in UTC."""
        return datetime.fromtimestamp(self._now, UTC)

    # What happens to it.

    def client(self, *, ledger: Any, caps: Caps = NO_CAPS, **options: Any) -> Client:
        """A strict client of this server and its clock; `options` are arguments of `Client`. Default caps refuse
        nothing: pass your app's.
        """
        mine: dict[str, Any] = {"strict": True, "transport": self, "clock": self, "sleep": self.sleep}
        return Client(ADDRESS, ledger=ledger, caps=caps, **(mine | options))

    def async_client(self, *, ledger: Any, caps: Caps = NO_CAPS, **options: Any) -> AsyncClient:
        """The same for asyncio."""
        # It imports asyncio, which takes longer than all the rest, as email below does.
        from sordino_client._async_client import AsyncClient

        mine: dict[str, Any] = {
            "strict": True,
            "transport": _AsyncFake(self),
            "clock": self,
            "sleep": self._sleep_async,
        }
        return AsyncClient(ADDRESS, ledger=ledger, caps=caps, **(mine | options))

    def offline(self) -> None:
        """Have no connection until `online`."""
        self._online = False

    def online(self) -> None:
        """Be reachable again."""
        self._online = True

    def pause(self) -> None:
        """Pause the series: devices answer `not_open` and spend nothing."""
        self._law()
        self._paused = True

    def resume(self) -> None:
        """Go on with a paused series."""
        self._law()
        self._paused = False

    def end(self) -> None:
        """Close the campaign permanently."""
        self._state = CampaignState.CLOSED

    def hold_back_proof(self) -> None:
        """Answer as a server whose worker has yet to write the campaign to the public log, until `show_proof`."""
        self._proves = False

    def show_proof(self) -> None:
        """Prove again that the campaign is in the public log."""
        self._proves = True

    def fail(self, status: int | str, *, retry_after: int | None = None, times: int = 1) -> None:
        """Answer the next `times` requests with an HTTP status such as 503, or the problem of a name such as
        "rate-limited", and do nothing else; `retry_after` in seconds.
        """
        self._failures.extend([_failure(status, retry_after)] * times)

    def lose_answers(self, times: int = 1) -> None:
        """Count the next `times` uploads, and lose the connection before their answers arrive."""
        self._lost_answers += times

    def lies(self, *about: str) -> None:
        """Lie from now on about any of "epsilon", "manifest", "plan", "clock", "log"; without arguments about nothing.

        "epsilon" makes another campaign, whose plan claims half of the ε that it takes: call it before `campaign`
        is read. "clock" shows the time of two days, or two periods, later. "log" proves an entry that says another ε
        than the manifest.
        """
        if unknown := set(about) - set(LIES):
            raise WrongArgument(f"a server lies about {', '.join(LIES)}, not {', '.join(sorted(map(str, unknown)))}")
        self._told_lies = frozenset(about)
        self._served = self._honest
        if "epsilon" in about:
            [terms] = self._honest.manifest.rounds
            part = lying_part(self._honest.part)
            self._served = made_campaign(part, terms.guarantee, self._honest.law, **self._words)

    # The clock.

    def now(self) -> float:
        """Unix seconds, of the server and of its clients."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass, as a client's waiting does."""
        # A wait below the clock's resolution would be waited for again and again.
        self.travel(seconds=max(seconds, LEAST_WAIT_S))

    def travel(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        """Move the clock; backwards, too, as a device's owner may."""
        self.travel_to(self._now + DAY_S * days + 3600 * hours + seconds)

    def travel_to(self, time: datetime | float | None) -> None:
        """Set the clock to a time with a zone, or to Unix seconds. Raises `WrongArgument`, also for None: what
        `next_due` returns of a series that asks no more.
        """
        moment = time.timestamp() if isinstance(time, datetime) and time.tzinfo is not None else time
        if not isinstance(moment, (int, float)) or isinstance(moment, bool) or not 0 <= moment <= LATEST_S:
            raise WrongArgument(f"travel to a datetime with a zone, or to Unix seconds before 10000, got {time!r}")
        self._now = float(moment)

    # The transport.

    def send(self, request: Request) -> Response:
        """Answer one request; raises `TransportFailed` while offline, `OversizedDocument` past its limit."""
        with self._lock:
            self.requests.append(_made(request))
            if not self._online:
                raise TransportFailed("the fake server is offline: a test said so")
            if self._failures:
                return self._failures.popleft()
            response = self._response(request)
            if len(response.content) > request.limit:
                raise OversizedDocument(len(response.content), request.limit)
            return response

    def close(self) -> None:
        """Nothing: a test may go on with another client."""

    def _response(self, request: Request) -> Response:
        """What a server answers to a request."""
        manifest = self._served.manifest
        base = f"/v1/campaigns/{manifest.campaign}"
        if request.method == "POST":
            upload = _UPLOAD.fullmatch(request.path.removeprefix(base)) if request.path.startswith(base) else None
            return self._problem(Problem.NOT_FOUND) if upload is None else self._upload(request, int(upload[1]))
        return {
            base: self._manifest,
            f"{base}/task": self._task,
            f"{base}/log-proof": self._proof,
            "/v1/log/days": self._days,
            f"/v1/plans/{self._served.part.digest}": self._part,
            f"/v1/populations/{quote(manifest.population, safe='')}/open": self._list,
        }.get(request.path, lambda: self._problem(Problem.NOT_FOUND))()

    def _upload(self, request: Request, number: int) -> Response:
        taken = self._uploads.take(self._served, self._state, self._paused, number, request.body or b"", int(self._now))
        if self._lost_answers:
            self._lost_answers -= 1
            raise TransportFailed("the answer of the fake server was lost: a test said so")
        return self._document(taken.content) if isinstance(taken, ReportOutcomes) else self._problem(taken)

    def _manifest(self) -> Response:
        return self._document(_changed(self._served.manifest.content, "manifest" in self._told_lies))

    def _task(self) -> Response:
        return self._document(self._served.task(self._state, self._paused, int(self._now)).content)

    def _part(self) -> Response:
        return self._document(_changed(self._served.part.content, "plan" in self._told_lies))

    def _proof(self) -> Response:
        return self._text(self._log.proof(self._log.add(self._entry()))) if self._proves else self._not_yet()

    def _days(self) -> Response:
        self._log.add(self._entry())
        return self._text(self._log.days()) if self._proves else self._not_yet()

    def _entry(self) -> LogEntry:
        manifest = self._served.manifest
        entry = entry_of_manifest(manifest, logged_parts(manifest), manifest.created_at)
        if "log" not in self._told_lies:
            return entry
        assert isinstance(entry.event, LoggedCampaign)
        told = max(1, entry.event.nano_epsilon // 2)
        return LogEntry(entry.at, entry.subject, replace(entry.event, nano_epsilon=told))

    def _list(self) -> Response:
        """Series are in no list; the number grows when the campaign ends."""
        listed = self._state is CampaignState.OPEN and self._served.law is None
        found = (self.campaign,) if listed else ()
        document = OpenCampaigns(population=self.manifest.population, number=2 - listed, campaigns=found)
        return self._document(document.content)

    def _document(self, content: bytes) -> Response:
        return Response(200, {"content-type": CBOR_MEDIA_TYPE, "date": self._date()}, content)

    def _text(self, content: str) -> Response:
        return Response(200, {"content-type": "text/plain; charset=utf-8", "date": self._date()}, content.encode())

    def _not_yet(self) -> Response:
        return self._problem(Problem.UNAVAILABLE)

    def _problem(self, problem: Problem) -> Response:
        answer = _failure(problem.slug, None)
        return Response(answer.status, {**answer.headers, "date": self._date()}, answer.content)

    def _date(self) -> str:
        from email.utils import formatdate

        law = self._served.law
        off = 2 * (DAY_S if law is None else law.period_s) if "clock" in self._told_lies else 0
        return formatdate(min(self._now + off, LATEST_S), usegmt=True)

    def _law(self) -> Rotating:
        law = self._served.law
        if law is None:
            raise WrongArgument("this campaign has one round and no periods: pass series=Weekly(slots=4) or call end()")
        return law

    async def _sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


class _AsyncFake:
    """The transport of an `AsyncClient`."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    async def send(self, request: Request) -> Response:
        return self._server.send(request)

    async def close(self) -> None:
        """Nothing is open."""


def _made(request: Request) -> MadeRequest:
    length = None if request.body is None else len(request.body)
    return MadeRequest(method=request.method, path=request.path, headers=headers_of(request), body_bytes=length)


def _failure(status: int | str, retry_after: int | None) -> Response:
    """A problem by its status or its slug; a status that no problem has comes without a body, as of a proxy."""
    known = [problem for problem in Problem if status in (problem.status, problem.slug)]
    if not known and not (isinstance(status, int) and 400 <= status <= 599):
        raise WrongArgument(f"fail with a status from 400 to 599, or the name of a problem, not {status!r}", status)
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    if not known:
        assert isinstance(status, int)
        return Response(status, headers, b"")
    body = {"type": f"/problems/{known[0].slug}", "title": known[0].title, "status": known[0].status, "detail": ""}
    return Response(known[0].status, headers | {"content-type": PROBLEM_MEDIA_TYPE}, json.dumps(body).encode())


def _changed(content: bytes, change: bool) -> bytes:
    """The same bytes, or other ones than their digest names."""
    return content[:-1] + bytes([content[-1] ^ 1]) if change else content
