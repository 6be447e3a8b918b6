"""Errors of the device SDK; each keeps the objects concerned, and has a `code` for programs and `advice` for people.

SordinoError (sordino_shared), as every name here exported by `sordino_client`
├── InvalidValue             an argument is refused, also by `PureEpsilon` and others of sordino_shared (a ValueError)
│   └── OutsideDomain        a value that an exhaustive domain does not list
├── OversizedDocument        what a transport raises for a body beyond the request's limit; `flush` absorbs it
└── ClientError              all that calls of a client raise
    ├── WrongArgument        an argument that the SDK refuses, such as an id, an address or caps (an InvalidValue)
    │   └── WrongShape       a value whose shape or names are not the domain's: the app's mistake, raised always
    ├── NotListed            an unlisted value, where `strict` (an OutsideDomain): in the app's tests
    ├── NotJoined            the campaign was never joined with this ledger
    ├── PlanUnavailable      manifest, task or plan could not be fetched: nothing was randomised, nothing kept
    ├── PlanRefused          manifest, task or plan failed the device's own verification
    ├── BudgetExceeded       answering would spend more ε than a cap allows
    ├── SpoolFull            too many reports wait to be sent
    ├── ServedElsewhere      the campaign was joined at another address; `rehome` moves it
    │   └── ServerChanged    the manifest names several servers, and the device keeps to another one of them
    ├── NotASuccessor        a series may not take the place of the one that it names
    ├── OptedOut             the owner left all campaigns of this ledger
    ├── LedgerUnavailable    the ledger is locked, read-only, full, damaged or not a ledger
    ├── ClockUnusable        the device's clock shows no time
    └── TransportFailed      what a transport raises when no response arrived; `flush` and the above absorb it
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sordino_shared.errors import InvalidValue, OutsideDomain, SordinoError
from sordino_shared.guarantees import PureEpsilon, exact_decimal
from sordino_shared.protocol import CampaignId
from sordino_shared.quantities import quantity


class ClientError(SordinoError):
    """Root of the SDK's own errors."""

    code = "client-error"


class WrongArgument(ClientError, InvalidValue):
    """An argument was refused before anything was spent; `value` is the argument."""

    code = "wrong-argument"


class WrongShape(WrongArgument):
    """A value whose shape or names are not the domain's; the error holds and quotes nothing of the value."""

    code = "wrong-shape"
    advice = "give a value of the domain's shape, by the names of its attributes"


class NotListed(ClientError, OutsideDomain):
    """A value that an exhaustive domain does not list; `attribute` names where."""

    code = "not-listed"


@contextmanager
def checked_arguments() -> Iterator[None]:
    """Raise `WrongArgument` for an argument that a check of sordino_shared refuses within."""
    try:
        yield
    except ClientError:
        raise
    except InvalidValue as error:
        raise WrongArgument(str(error), error.value) from error


class NotJoined(ClientError):
    """The ledger does not know `campaign`."""

    code = "not-joined"
    advice = "call join() with its id first"

    def __init__(self, campaign: CampaignId) -> None:
        super().__init__(f"campaign {campaign} was never joined; {self.advice}")
        self.campaign = campaign


class ServedElsewhere(ClientError):
    """`campaign` was joined at `origin` (None: by an SDK that did not keep the address), this client is of `server`."""

    code = "served-elsewhere"
    advice = "use a client of the address where the campaign was joined, or move it with rehome()"

    def __init__(self, campaign: CampaignId, origin: str | None, server: str) -> None:
        super().__init__(
            f"campaign {campaign} was joined at {origin or 'an address that was not kept'}, this client talks to "
            f"{server}; use a client of that address, or move the campaign with rehome(campaign, {server!r})"
        )
        self.campaign = campaign
        self.origin = origin
        self.server = server


class ServerChanged(ServedElsewhere):
    """`campaign` names its servers, and this device keeps to the one called `source`, joined at `origin`."""

    code = "server-changed"
    advice = "use a client of the address where the campaign was joined"

    def __init__(self, campaign: CampaignId, origin: str, source: str, server: str) -> None:
        ClientError.__init__(
            self,
            f"campaign {campaign} was joined at its server {source!r} ({origin}), this client talks to {server}, which "
            "is no address of that one; a report that both counted would count twice, so rehome() does not move it: "
            f"use a client of {origin}. A name that leads to several of a campaign's servers is a wrong set-up",
        )
        self.campaign = campaign
        self.origin = origin
        self.source = source
        self.server = server


class NotASuccessor(ClientError):
    """The series `campaign` names `replaces` as the one whose place it takes, and may not, for the `reason` given."""

    code = "not-a-successor"
    advice = "join the series that it names first, or report it to the operator of the campaign"

    def __init__(self, campaign: CampaignId, replaces: CampaignId, reason: str) -> None:
        super().__init__(
            f"series {campaign} cannot replace {replaces}: {reason}. The one that it names goes on; nothing was changed"
        )
        self.campaign = campaign
        self.replaces = replaces
        self.reason = reason


class OptedOut(ClientError):
    """The owner left all campaigns of this ledger by `opt_out_all`."""

    code = "opted-out"
    advice = "call opt_in() if the owner wants to come back"

    def __init__(self) -> None:
        super().__init__(f"the owner left all campaigns of this ledger; {self.advice}. Nothing was sent or spent")


class ClockUnusable(ClientError):
    """The device's clock shows no time, for the `reason` given; nothing was spent or lost."""

    code = "clock-unusable"
    advice = "set the device's time"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the clock cannot be used: {reason}; {self.advice}. Nothing was spent or lost")
        self.reason = reason


class TransportFailed(ClientError):
    """No response arrived; whether the request did is not known."""

    code = "transport-failed"
    advice = "try again later, with a connection"


class PlanUnavailable(ClientError):
    """`what` could not be fetched; `status`, `slug`, `retry_after` (seconds) are those of a response.

    `offline` where no server answered, or one in trouble (429, 5xx): the last task that was kept may be used.
    """

    code = "plan-unavailable"
    advice = "try again later"

    def __init__(
        self,
        what: str,
        reason: str,
        status: int | None = None,
        slug: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        if status == 404:
            self.advice = "check the campaign's id and the server's address"
        super().__init__(f"the {what} could not be fetched: {reason}; nothing was randomised or kept, {self.advice}")
        self.what = what
        self.reason = reason
        self.status = status
        self.offline = status is None or status == 429 or status >= 500
        self.slug = slug
        self.retry_after = retry_after


class PlanRefused(ClientError):
    """`what` is not what the device was promised; the check that failed is the cause, if it has an error of its own."""

    code = "plan-refused"
    advice = "do not retry; report this to the operator of the campaign"

    def __init__(self, what: str, reason: str, campaign: CampaignId | None = None) -> None:
        super().__init__(
            f"the {what} was refused: {reason}; nothing was randomised. Report this to the operator of the campaign"
        )
        self.what = what
        self.reason = reason
        self.campaign = campaign


class BudgetExceeded(ClientError):
    """Spending `asked` on top of `spent` would pass `cap`, which is the device's cap named `scope`."""

    code = "budget-exceeded"
    advice = "do nothing: a cap of the device's owner is reached"

    def __init__(
        self, scope: str, charge: PureEpsilon, spent: PureEpsilon, cap: PureEpsilon, campaign: CampaignId
    ) -> None:
        super().__init__(
            f"the round costs {charge} and {exact_decimal(spent.nano)} of the {exact_decimal(cap.nano)} "
            f"allowed {scope} is spent; nothing was randomised"
        )
        self.scope = scope
        self.asked = charge
        self.spent = spent
        self.cap = cap
        self.campaign = campaign


class SpoolFull(ClientError):
    """`limit` reports already wait to be sent."""

    code = "spool-full"
    advice = "call flush() with a connection, or raise the spool's limit"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{quantity(limit, 'report')} already waiting to be sent; {self.advice}. Nothing was spent")
        self.limit = limit


class LedgerUnavailable(ClientError):
    """The ledger at `path` cannot be used for the `reason` given; the step that needed it did not happen."""

    code = "ledger-unavailable"
    advice = "see the message; never delete a ledger in code"

    def __init__(self, path: str, reason: str, advice: str) -> None:
        super().__init__(f"ledger {path}: {reason}; {advice}. Nothing was spent or lost")
        self.path = path
        self.reason = reason
        self.advice = advice
