"""A readable account for the device's owner: what was spent, on what, and what was sent."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any, Protocol

from sordino_client._account_document import account_document, told_by
from sordino_client._config import Caps
from sordino_client._ledger_view import Debit, Joined, LedgerView
from sordino_client._log_marks import proof_of
from sordino_client._shuffled import MixedGuarantee, mixed_guarantee
from sordino_shared._records import dataclass, replace
from sordino_shared.domains import Integers, Number
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exact_decimal
from sordino_shared.protocol import OwnerText, Rotating, Route, ShuffledRoute
from sordino_shared.protocol.log_keys import LogPins
from sordino_shared.protocol.log_proofs import LogProof
from sordino_shared.quantities import duration, quantity

COLUMNS = 72
MARK = "  > "
_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
_STATES = {
    "spooled": "waits to be sent",
    "delivered": "sent",
    "refused": "not counted",
    "expired": "not sent in time",
    "deleted": "deleted",
}


@dataclass(frozen=True, kw_only=True)
class AccountEntry:
    """One answer to a round, or to a period of a series; `at` is when it was drawn, and counts against the caps.

    `period_start` is when the period of a series began, in Unix seconds, None for a round. `reason` is why a report was
    not counted, or what the last try of one that waits met. `report` is the randomised report in hexadecimal, as it is
    or was on the wire; never the value. `sealed_for` is the key of the collector, which alone can read it, where it
    goes through a shuffler.
    """

    round: int
    epsilon_nano: int
    at: int
    period_start: int | None = None
    state: str
    reason: str | None
    report: str | None
    sealed_for: str | None = None


@dataclass(frozen=True, kw_only=True)
class SeriesAccount:
    """How often a series asks: `epsilon_nano` about `turn`, "any 30 days in a row", `answers_max` times for life.

    A device is asked about one period in `cycle_s` seconds; two answers are at least `apart_s` seconds apart, since an
    early one may follow a late one. `answers` counts those of a series that this one replaced. Nothing is answered
    before `next_at` in Unix seconds (0: nothing holds it back). `over` says that no answer follows, because it ended,
    was replaced or has all its answers.
    """

    epsilon_nano: int
    turn: str
    cycle_s: int
    apart_s: int
    answers: int
    answers_max: int
    next_at: int
    over: bool

    def __str__(self) -> str:
        apart = f", at least {duration(self.apart_s)} apart" if self.apart_s else ""
        return (
            f"series: at most ε {exact_decimal(self.epsilon_nano)} about {self.turn}{apart}, {self.answers} of "
            f"{quantity(self.answers_max, 'answer')} given{' (over)' if self.over else ''}"
        )


@dataclass(frozen=True, kw_only=True)
class LogAccount:
    """The place of a campaign in the public log: entry `index` of `size`, the root of the tree in hexadecimal digits.

    `witnesses` are the pinned ones that saw it, `proof` is the text that proves it. All are None, and no witnesses,
    where the log gave no proof yet.
    """

    index: int | None = None
    size: int | None = None
    root: str | None = None
    witnesses: tuple[str, ...] = ()
    proof: str | None = None

    def __str__(self) -> str:
        if self.index is None or self.root is None:
            return "log: not in the public log yet"
        shown = " ".join(self.root[place : place + 4] for place in range(0, 16, 4))
        count = len(self.witnesses)
        seen = f", seen by {count} {'witness' if count == 1 else 'witnesses'}" if count else ""
        return f"log: entry {self.index:,} of {self.size:,}{seen}, root {shown} …"


@dataclass(frozen=True, kw_only=True)
class CampaignAccount:
    """One campaign: what its owner was told, the server it was joined at, whether they left, and every answer.

    `series` is its rate where it is a series, `mixed` what holds against the collector alone where it is shuffled.
    `clipped` says of each attribute with numbers which of them count as the nearest end of its range.
    `found` is the population in whose list it was found, None where the app named it; `arm` the version that the app
    shows in an experiment. `state` is "active", "paused" by its operator when that was last read, "left",
    "replaced", or "ended" where no answer follows; `guarantee` the
    most that the campaign may spend, `data` what each attribute tells, `texts` the purpose in other languages.
    `next_due` is when a series asks next, in Unix seconds, None where nothing tells. `log` is its place in the public
    log, None where the app pins none.
    """

    campaign: str
    name: str
    purpose: str
    server: str | None
    opted_out: bool
    series: SeriesAccount | None = None
    mixed: MixedGuarantee | None = None
    found: str | None = None
    arm: str | None = None
    clipped: tuple[str, ...] = ()
    state: str = "active"
    guarantee: PureEpsilon = PureEpsilon(0)
    data: tuple[str, ...] = ()
    texts: tuple[OwnerText, ...] = ()
    next_due: int | None = None
    log: LogAccount | None = None
    entries: tuple[AccountEntry, ...]

    @property
    def epsilon_nano(self) -> int:
        """Nano-ε spent on this campaign."""
        return sum(entry.epsilon_nano for entry in self.entries)


@dataclass(frozen=True, kw_only=True)
class Account:
    """Everything in a ledger, with the totals that count against the caps. `str()` prints it as a table.

    `opted_out` is when the owner left all campaigns, in Unix seconds; None where they did not, or came back.
    Names and sentences are the campaigns' words: each of their lines is marked, so that none passes for the account's.
    """

    campaigns: tuple[CampaignAccount, ...]
    period_nano: int
    lifetime_nano: int
    caps: Caps
    opted_out: int | None = None

    def to_dict(self, languages: Sequence[str] = ()) -> dict[str, Any]:
        """The account for a settings page, ready for JSON: docs/account.schema.json describes it.

        Amounts of ε are decimal text, times whole Unix seconds. Purposes and the sentence about ε are in the first of
        the owner's `languages` that there is. Raises `WrongArgument` for what is no list of languages.
        """
        return account_document(self, languages)

    def __str__(self) -> str:
        lines = [] if self.opted_out is None else [_left_all(self.opted_out), ""]
        lines += [
            f"spent in {quantity(self.caps.period_days, 'day')}: {_of(self.period_nano, self.caps.per_period)}",
            f"spent for life: {_of(self.lifetime_nano, self.caps.lifetime)}",
        ]
        for number, campaign in enumerate(self.campaigns, start=1):
            left = " (left)" if campaign.opted_out else ""
            lines += ["", f"campaign {number}{left}: ε {exact_decimal(campaign.epsilon_nano)}"]
            lines += [*folded(campaign.name), *folded(campaign.purpose)]
            lines += [] if campaign.found is None else ["  found in the list of:", *folded(campaign.found)]
            if campaign.series is not None:
                gone = campaign.opted_out or self.opted_out is not None
                lines += ["  series: left, nothing is answered any more" if gone else f"  {campaign.series}"]
                lines += ["  paused by its operator, when that was last read"] if campaign.state == "paused" else []
            lines += [] if campaign.arm is None else [f"  version {campaign.arm}, drawn by this device; reports say it"]
            lines += ["  numbers outside of a range count as its end:"] if campaign.clipped else []
            lines += [line for sentence in campaign.clipped for line in folded(sentence)]
            lines += _mixed_lines(campaign)
            lines += [] if campaign.log is None else [f"  {campaign.log}"]
            unit = "round" if campaign.series is None else "period"
            lines += [f"  {_line(entry, unit)}" for entry in campaign.entries] or ["  nothing answered"]
        return "\n".join(lines)


class Statements(Protocol):
    """What an account is made of: the ledger of a device, or an owner in a store."""

    def statement(self) -> LedgerView: ...


def account(ledger: Statements, caps: Caps, now: int, log: LogPins | None = None) -> Account:
    """The account of a ledger at `now`, in Unix seconds; `log` is what the app pins of the public log."""
    found = ledger.statement()
    gone = found.left_all_at is not None
    campaigns = tuple(
        replace(
            _campaign(each, [debit for debit in found.debits if debit.campaign == campaign], gone, now),
            log=None if log is None else _logged(log, proof_of(log, found.logged, campaign), now),
        )
        for campaign, each in found.joined.items()
    )
    return Account(
        campaigns=campaigns,
        period_nano=found.spending.period,
        lifetime_nano=found.spending.lifetime,
        caps=caps,
        opted_out=found.left_all_at,
    )


def _campaign(joined: Joined, debits: list[Debit], gone: bool, now: int) -> CampaignAccount:
    manifest = joined.manifest
    state = _state(joined, {debit.round for debit in debits}, gone)
    entries = tuple(_entry(debit, manifest.route) for debit in debits)
    return CampaignAccount(
        campaign=str(manifest.campaign),
        name=manifest.name,
        purpose=manifest.purpose,
        server=joined.origin,
        opted_out=joined.opted_out,
        series=_series(joined),
        mixed=mixed_guarantee(manifest),
        found=joined.found,
        arm=None if joined.arm is None else manifest.arms[joined.arm].name,
        clipped=tuple(_clipped(each) for each in manifest.domain.attributes if isinstance(each, (Integers, Number))),
        state=state,
        guarantee=manifest.device_guarantee,
        data=tuple(map(told_by, manifest.domain.attributes)),
        texts=manifest.texts,
        next_due=_next_due(joined, now) if state == "active" else None,
        entries=entries,
    )


def _logged(log: LogPins, found: tuple[LogProof, bytes] | None, now: int) -> LogAccount:
    if found is None:
        return LogAccount()
    proof, content = found
    try:
        witnesses = log.accept(proof.checkpoint, now).witnesses
    except InvalidValue:
        # The app pins another log, or more witnesses, than when it was kept.
        return LogAccount()
    note = proof.checkpoint
    return LogAccount(
        index=proof.index + 1, size=note.size, root=note.root.hex(), witnesses=witnesses, proof=content.decode()
    )


def _state(joined: Joined, answered: set[int], gone: bool) -> str:
    """What may still come: active, paused, left, replaced, or ended."""
    law, series, drawn = joined.manifest.assignment, joined.series, joined.assigned_round
    if gone or joined.opted_out:
        return "left"
    if series is None or not isinstance(law, Rotating):
        mine = range(len(joined.manifest.rounds)) if drawn is None else (drawn,)
        return "ended" if answered.issuperset(mine) else "active"
    if series.replaced_by is not None:
        return "replaced"
    if series.ended or series.answers >= law.answers_max:
        return "ended"
    return "paused" if joined.paused else "active"


def _next_due(joined: Joined, now: int) -> int | None:
    law, series = joined.manifest.assignment, joined.series
    return series.next_due(law, now) if series is not None and isinstance(law, Rotating) else None


def _clipped(attribute: Integers | Number) -> str:
    """Which numbers count as another one: "load_ms: numbers below 0 ms count as 0 ms, numbers above 9 ms as 9 ms"."""
    low, high = (f"{end:.12g} {attribute.unit}".rstrip() for end in (attribute.low, attribute.high))
    if attribute.other:
        return f"{attribute.name}: numbers below {low} and above {high} count as other"
    return f"{attribute.name}: numbers below {low} count as {low}, numbers above {high} as {high}"


def _series(joined: Joined) -> SeriesAccount | None:
    law, state = joined.manifest.assignment, joined.series
    if state is None or not isinstance(law, Rotating):
        return None
    return SeriesAccount(
        epsilon_nano=joined.manifest.rounds[0].guarantee.nano,
        turn=law.turn,
        cycle_s=law.cycle_s,
        apart_s=law.apart_s,
        answers=state.answers,
        answers_max=law.answers_max,
        next_at=state.next_at,
        over=state.ended or state.replaced_by is not None or state.answers >= law.answers_max,
    )


def _mixed_lines(campaign: CampaignAccount) -> list[str]:
    """Both parties together, and the collector alone."""
    mixed = campaign.mixed
    if mixed is None:
        return []
    answers = len(campaign.entries) if campaign.series is None else campaign.series.answers_max
    several = f", {mixed.of_answers(answers)} for all {answers}" if answers > 1 else ""
    return [
        f"  the collector and {mixed.shuffler} together: ε {exact_decimal(mixed.together.nano)} an answer",
        f"  the collector alone: {mixed.of_answers(1)} an answer{several}, as long as {mixed.shuffler} mixes in "
        f"{mixed.random_answers} and does not work with it, which nobody else can check",
    ]


def _entry(debit: Debit, route: Route) -> AccountEntry:
    payload = None if debit.payloads is None else debit.payloads.hex()
    return AccountEntry(
        round=debit.round,
        epsilon_nano=debit.guarantee.nano,
        at=debit.at,
        period_start=debit.period_start,
        state=debit.state,
        reason=debit.reason,
        report=payload,
        sealed_for=route.key_of(debit.round).hex() if debit.sealed and isinstance(route, ShuffledRoute) else None,
    )


def _left_all(at: int) -> str:
    return f"You left all campaigns on {_day(at)}. Nothing is answered or sent."


def _day(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _line(entry: AccountEntry, unit: str) -> str:
    day = _day(entry.at)
    reason = f": {entry.reason}" if entry.reason else ""
    report = f", report {entry.report[:32]}{'…' if len(entry.report) > 32 else ''}" if entry.report else ""
    if entry.sealed_for is not None:
        report = f", sealed for collector {entry.sealed_for[:8]}"
    epsilon = exact_decimal(entry.epsilon_nano)
    return f"{day}  {unit} {entry.round}  ε {epsilon:>11}  {_STATES[entry.state]}{reason}{report}"


def _of(spent: int, cap: PureEpsilon) -> str:
    return f"ε {exact_decimal(spent)} of {exact_decimal(cap.nano)}"


def folded(text: str) -> Iterator[str]:
    """The lines of `text`, each marked and at most 76 columns wide.

    Every line break counts (U+000A to U+000D, U+001C to U+001E, U+0085, U+2028, U+2029), blanks are drawn together, so
    that none pushes a line past a terminal's edge, and controls and changes of direction become U+FFFD.
    """
    for line in text.splitlines() or [""]:
        shown = "".join("\ufffd" if _acts(character) else character for character in " ".join(line.split()))
        # Two columns each are enough for every character of a line that has wide ones.
        width = COLUMNS // 2 if any(unicodedata.east_asian_width(character) in "WF" for character in shown) else COLUMNS
        yield from (MARK + piece for piece in wrap(shown, width) or [""])


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in _DIRECTIONS
