"""Problem types (RFC 9457): one slug, status and title each, the same for server, client and docs."""

from __future__ import annotations

from enum import Enum


class Problem(Enum):
    """`slug` is the problem's type (a URI under /problems/), `status` its HTTP status, `title` its sentence."""

    MALFORMED_BODY = ("malformed-body", 400, "The body is not a document of this protocol.")
    MALFORMED_REQUEST = ("malformed-request", 400, "The head of the request is invalid.")
    UNAUTHORIZED = ("unauthorized", 401, "A valid key is needed.")
    FORBIDDEN = ("forbidden", 403, "The key's role does not allow this.")
    TOKEN_REFUSED = ("token-refused", 403, "The gate of the campaign gives no token.")
    NOT_FOUND = ("not-found", 404, "Not found.")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This resource does not support the method.")
    REQUEST_TIMEOUT = ("request-timeout", 408, "The request took too long to arrive; try again later.")
    ROUND_NOT_OPEN = ("round-not-open", 409, "The round accepts no reports.")
    PLAN_MISMATCH = ("plan-mismatch", 409, "The reports were made with another plan.")
    ILLEGAL_TRANSITION = ("illegal-transition", 409, "The state does not allow this.")
    PLAN_NOT_READY = ("plan-not-ready", 409, "The plan is still being computed, or failed.")
    ESTIMATE_NOT_READY = ("estimate-not-ready", 409, "The round is not closed and estimated yet.")
    ALREADY_EXISTS = ("already-exists", 409, "It exists already with other content.")
    RELEASE_NOT_READY = ("release-not-ready", 409, "The release has no answers yet, or never will.")
    DECIDED_AT_HOME = ("decided-at-home", 409, "This server collects reports for another one, which decides this.")
    BUDGET_EXCEEDED = ("budget-exceeded", 409, "A cap on ε or ρ does not allow this.")
    WRONG_ROUTE = ("wrong-route", 409, "Reports of this campaign come by another way.")
    BATCH_CONFLICT = ("batch-conflict", 409, "The round has another batch, or this page has other reports.")
    IDEMPOTENCY_CONFLICT = ("idempotency-conflict", 409, "The idempotency key was used for another request.")
    PRECONDITION_FAILED = ("precondition-failed", 412, "The resource has changed.")
    TOO_LARGE = ("too-large", 413, "The body is too large.")
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", 415, "The body's media type or coding is not supported.")
    INVALID_REQUEST = ("invalid-request", 422, "The request is well formed, but its content is invalid.")
    RATE_LIMITED = ("rate-limited", 429, "Too many requests come from this address; try again later.")
    INTERNAL_ERROR = ("internal-error", 500, "The server failed; the request was not counted.")
    OVERLOADED = ("overloaded", 503, "The server is overloaded; try again later.")
    UNAVAILABLE = ("unavailable", 503, "The server or its database is not available; try again later.")
    LOG_AHEAD = ("log-ahead", 503, "The public log is further than this server knows; nothing is added to it.")
    STORAGE_FULL = ("storage-full", 507, "The server's storage is full; nothing was counted.")

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug = slug
        self.status = status
        self.title = title


PROBLEM_MEDIA_TYPE = "application/problem+json"
CBOR_MEDIA_TYPE = "application/cbor"
