"""What a response to an upload means, and how long to wait before the same bytes are sent again."""

from __future__ import annotations

import math
from datetime import UTC

from sordino_client._clock import LATEST_S
from sordino_client._transport import Request, Response
from sordino_shared._records import dataclass
from sordino_shared.errors import MalformedDocument, SordinoError
from sordino_shared.protocol import (
    CampaignId,
    Problem,
    ReportBatch,
    ReportOutcomes,
    RetryWindow,
    SealedOutcomes,
    SealedReports,
)
from sordino_shared.randomness import Randomness

# A wait of 0 from a careless window must not become a busy loop; nobody is made to wait longer than a day.
LEAST_DELAY_S = 1.0
MOST_DELAY_S = 86_400.0
# The app's next version may correct a rejected token; retries end after this time.
UNAUTHORIZED_FOR_S = 30 * 86_400
_MOST_DOUBLINGS = 8
_PROBLEM_BYTES = 64 << 10

# Said about these very bytes, in the protocol's own words: they will not be counted however often they are sent.
_FINAL = frozenset(
    {
        Problem.NOT_FOUND,
        Problem.ROUND_NOT_OPEN,
        Problem.PLAN_MISMATCH,
        Problem.WRONG_ROUTE,
        Problem.MALFORMED_BODY,
        Problem.TOO_LARGE,
        Problem.UNSUPPORTED_MEDIA_TYPE,
        Problem.INVALID_REQUEST,
    }
)
_FINAL_SLUGS = frozenset(problem.slug for problem in _FINAL)


@dataclass(frozen=True)
class Counted:
    """The server committed the batch, apart from the reports refused one by one."""

    outcomes: ReportOutcomes


@dataclass(frozen=True)
class Refused:
    """The server will not count the batch: a problem's slug, or the reason for a single report."""

    reason: str


@dataclass(frozen=True)
class RetryLater:
    """Nothing is known or the server is in trouble; `everything` waits where it is not about this report alone.

    `unauthorized` where the token is not the server's: `given_up` says how long that is tried.
    """

    reason: str
    after_s: float | None
    everything: bool
    unauthorized: bool = False

    def given_up(self, answered_at: int, now: float) -> bool:
        """Whether a report of an answer `answered_at` has been without its token for too long, and is refused."""
        return self.unauthorized and now - answered_at > UNAUTHORIZED_FOR_S


def read_sent(body: bytes) -> ReportBatch | SealedReports:
    """The document of an upload's body; raises a `ProtocolError` for bytes that are none."""
    try:
        return ReportBatch.read(body)
    except MalformedDocument:
        return SealedReports.read(body)


def _is_sealed(body: bytes) -> bool:
    """Whether it goes to a shuffler; a body that was damaged goes where a server refuses it."""
    try:
        return isinstance(read_sent(body), SealedReports)
    except SordinoError:
        return False


def upload(campaign: CampaignId, index: int, body: bytes, token: str | None) -> Request:
    """The request that carries the bytes of a report batch, or of sealed reports, which a shuffler takes."""
    rounds = f"/v1/campaigns/{campaign}/rounds/{index}"
    if _is_sealed(body):
        # A token is the collector's: a shuffler learns nothing by which it could tell devices apart.
        return Request(method="POST", path=f"{rounds}/sealed", limit=SealedOutcomes.limit, body=body)
    authorization = None if token is None else f"Bearer {token}"
    limit = ReportOutcomes.limit
    return Request(method="POST", path=f"{rounds}/reports", limit=limit, body=body, authorization=authorization)


def read_upload(response: Response, reports: int, now: float) -> Counted | Refused | RetryLater:
    """What became of an upload of `reports` reports. What is not said in the protocol's words is never final."""
    after = retry_after_s(response, now)
    if response.status == 200:
        try:
            outcomes = _read_outcomes(response.content)
        except SordinoError as error:
            return RetryLater(f"the outcome is unreadable: {error}", after, everything=False)
        if _adds_up(outcomes, reports):
            return Counted(outcomes)
        return RetryLater("the outcome does not add up to the reports sent", after, everything=False)
    slug = problem_slug(response)
    if 400 <= response.status < 500 and slug in _FINAL_SLUGS:
        return Refused(slug)
    reason = f"HTTP {response.status}{f' ({slug})' if slug else ''}"
    # A token is one campaign's, so that what it does not open says nothing of another campaign's reports.
    unauthorized = response.status in (401, 403)
    return RetryLater(reason, after, everything=response.status in (429, 503, 507), unauthorized=unauthorized)


def _read_outcomes(content: bytes) -> ReportOutcomes:
    """What a server says, or a shuffler, which refuses no report alone."""
    try:
        return ReportOutcomes.read(content)
    except MalformedDocument:
        sealed = SealedOutcomes.read(content)
        return ReportOutcomes(sealed.accepted, sealed.replayed, ())


def _adds_up(outcomes: ReportOutcomes, reports: int) -> bool:
    settled = outcomes.accepted + outcomes.replayed + len(outcomes.refused)
    return settled == reports and all(refused.index < reports for refused in outcomes.refused)


def problem_slug(response: Response) -> str | None:
    """The type of a problem+json body, if it is one of this protocol's."""
    # Most answers are no problems.
    import json

    if "json" not in response.headers.get("content-type", "") or len(response.content) > _PROBLEM_BYTES:
        return None
    try:
        problem = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    kind = problem.get("type") if isinstance(problem, dict) else None
    slug = kind.removeprefix("/problems/") if isinstance(kind, str) else None
    return slug if slug in {known.slug for known in Problem} else None


def retry_after_s(response: Response, now: float) -> float | None:
    """Seconds of the Retry-After header, at most a day; None where it is absent or unreadable."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), MOST_DELAY_S)
    moment = _http_date(text)
    return None if moment is None else min(max(moment - now, 0.0), MOST_DELAY_S)


def server_time(response: Response) -> float | None:
    """Unix seconds by the response's Date, its Age in a cache added; None where it shows none."""
    moment, age = _http_date(response.headers.get("date", "")), response.headers.get("age", "").strip()
    return moment if moment is None or not (age.isascii() and age.isdigit()) else moment + min(int(age), LATEST_S)


def _http_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime  # Imported late: it takes a tenth of the SDK's time to import.

    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def delay_s(window: RetryWindow, failures: int, after_s: float | None, randomness: Randomness) -> float:
    """Uniform in the task's window, doubled with every failure; never before Retry-After, and spread beyond it.

    Without the spread a fleet that was told the same second would return in the same second.
    """
    low, high = max(float(window.min_s), LEAST_DELAY_S), max(float(window.max_s), 2 * LEAST_DELAY_S)
    share = randomness.bits(32) / 2**32
    backoff = (low + share * (high - low)) * 2.0 ** min(failures, _MOST_DOUBLINGS)
    asked = 0.0 if after_s is None else after_s + share * high
    return math.ceil(1000 * min(max(backoff, asked), 2 * MOST_DELAY_S)) / 1000
