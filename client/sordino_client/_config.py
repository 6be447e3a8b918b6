"""What an app decides: the owner's caps, strictness, the size of the spool, an upload token."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sordino_client._errors import WrongArgument, checked_arguments
from sordino_client._signatures import check_keys, listed_keys
from sordino_shared._checks import check_range
from sordino_shared._records import dataclass, field
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.protocol.log_keys import LogPins, NoteKey

DAY_S = 86_400
DEFAULT_SPOOL_LIMIT = 500
DEFAULT_JOINS_PER_PERIOD = 3
DEFAULT_LARGEST_PART = DevicePart.usual_limit
# A function of the app for the token of a round: of a campaign's id, the round and the blinded element.
AppCall = Callable[[str, int, bytes], bytes]
REQUIRE_LOG, PREFER_LOG = "require", "prefer"


@dataclass(frozen=True)
class Caps:
    """At most `per_period` in any `period_days` days and `lifetime` ever, over all campaigns of one ledger.

    >>> Caps.of(1, days=28, lifetime=12).period_days
    28
    """

    per_period: PureEpsilon
    period_days: int
    lifetime: PureEpsilon

    def __post_init__(self) -> None:
        for cap in (self.per_period, self.lifetime):
            if not isinstance(cap, PureEpsilon):
                raise WrongArgument(f"a cap is an ε such as PureEpsilon.at_most(1), got {cap!r}", cap)
        with checked_arguments():
            check_range(self.period_days, 1, 3660, "period in days")
        if self.per_period.nano > self.lifetime.nano:
            raise WrongArgument(
                f"the cap per period ({self.per_period}) is above the cap for life ({self.lifetime}): "
                "it could never be reached",
                self,
            )

    @classmethod
    def of(cls, epsilon: int | float | str, *, days: int, lifetime: int | float | str) -> Caps:
        """At most `epsilon` in any `days` days and `lifetime` ever, both rounded down to nano-ε.

        Raises WrongArgument for what is no ε or no number of days.
        """
        with checked_arguments():
            return cls(PureEpsilon.at_most(epsilon), days, PureEpsilon.at_most(lifetime))

    @property
    def period_s(self) -> int:
        """The period in seconds."""
        return self.period_days * DAY_S


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one client. `strict` raises on values outside the domain: for the app's tests, never in production.

    `upload_token` is the campaign's, the same for every device; it is sent with reports only. `largest_part` is the
    device's class: the most bytes of a plan that it fetches and verifies. It must not depend on the device's value.
    `dry_run` stops every answer before it is randomised, and sends nothing.
    `background` has a report wait from the first for a time drawn from the retry window.
    `joins_per_period` limits the campaigns that are joined from lists in a period of the caps. With `manifest_keys`, up
    to four Ed25519 keys in hexadecimal digits, a manifest that none of them signed is refused.
    `log` is the public log that campaigns have to be in; with `log_policy` "prefer" they are joined also while there is
    no proof. `attest` and `issue` are the app's part in getting tokens, called with a campaign's id in hexadecimal
    digits, a round and the blinded element: the one gives the credential for the gate `hook`, the other has the
    backend ask at the gate `account`, and gives the bytes of its `token_evaluations`.
    """

    caps: Caps
    strict: bool = False
    spool_limit: int = DEFAULT_SPOOL_LIMIT
    upload_token: str | None = field(default=None, repr=False)
    largest_part: int = DEFAULT_LARGEST_PART
    dry_run: bool = False
    background: bool = False
    joins_per_period: int = DEFAULT_JOINS_PER_PERIOD
    manifest_keys: tuple[str, ...] = ()
    log: LogPins | None = None
    log_policy: str = REQUIRE_LOG
    attest: AppCall | None = field(default=None, repr=False)
    issue: AppCall | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.caps, Caps):
            raise WrongArgument(f"caps are Caps(per_period, period_days, lifetime), got {self.caps!r}", self.caps)
        with checked_arguments():
            check_range(self.spool_limit, 1, 100_000, "spool limit")
            check_range(self.largest_part, 1, DevicePart.limit, "largest part in bytes")
            check_range(self.joins_per_period, 0, 10_000, "joins per period")
        check_keys(self.manifest_keys)
        if self.log_policy not in (REQUIRE_LOG, PREFER_LOG):
            raise WrongArgument(f"log_policy is {REQUIRE_LOG!r} or {PREFER_LOG!r}, got {self.log_policy!r}")
        if self.upload_token is not None and not _is_token(self.upload_token):
            raise WrongArgument("an upload token is printable ASCII without blanks")


def pinned_log(log: str | Iterable[str] | None, witnesses: Iterable[str], quorum: int | None) -> LogPins | None:
    """What an app pins of the public log; `quorum` is 1 where there are witnesses and it is not given.

    Several keys of one log are those of a rotation, the newest last.

    Raises `WrongArgument`.
    """
    given = listed_keys(witnesses, "witnesses")
    if log is None:
        if given or quorum is not None:
            raise WrongArgument("witnesses and quorum belong to a log: give log, its verifier key, too", given)
        return None
    log_keys = (log,) if isinstance(log, str) else listed_keys(log, "log keys")
    if not log_keys:
        raise WrongArgument("log is a verifier key, or several of one log, got none", log)
    with checked_arguments():
        keys = tuple(map(NoteKey.parse, given))
        needed = (1 if keys else 0) if quorum is None else quorum
        first, *others = map(NoteKey.parse, log_keys)
        return LogPins(log=first, others=tuple(others), witnesses=keys, quorum=needed)


def _is_token(token: object) -> bool:
    return isinstance(token, str) and token.isascii() and token.isprintable() and bool(token) and " " not in token
