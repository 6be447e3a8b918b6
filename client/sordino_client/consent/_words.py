"""What a tool tells its owner about telemetry."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sordino_client._account_document import sentence_in
from sordino_client._config import Caps
from sordino_shared.guarantees import exact_decimal
from sordino_shared.quantities import quantity

if TYPE_CHECKING:
    from sordino_client.consent._telemetry import ConsentState

_OFF = {
    "not asked": "off: you were not asked yet",
    "notice": "off until a day after the notice",
    "no terminal": "off: you were not asked yet, and there is no terminal to ask at",
    "another user": "off: root acts for another user here",
    "ledger": "off: its file cannot be used",
}


def promise(caps: Caps, languages: tuple[str, ...]) -> str:
    """What the caps promise, in ε and in odds."""
    return (
        f"At most ε {exact_decimal(caps.per_period.nano)} in {quantity(caps.period_days, 'day')} and "
        f"{exact_decimal(caps.lifetime.nano)} for life. {sentence_in(caps.per_period, languages)}"
    )


def question(tool: str, purpose: str, server: str, caps: Caps, languages: tuple[str, ...]) -> str:
    """The text above the question, which has No as its default."""
    return (
        f"{tool} would like to report: {purpose}\n"
        f"Each answer gets random noise on this device before it is sent to {server}. {promise(caps, languages)}\n"
        f"`{tool} telemetry show` shows all that was sent; `{tool} telemetry on` and `off` change it."
    )


def notice(tool: str, purpose: str, server: str, caps: Caps, languages: tuple[str, ...]) -> str:
    """The text that comes a day before the first answer."""
    return (
        f"{tool} will report from tomorrow on: {purpose}\n"
        f"Each answer gets random noise on this device before it is sent to {server}. {promise(caps, languages)}\n"
        f"`{tool} telemetry off` or DO_NOT_TRACK=1 stops it; `{tool} telemetry show` shows all that was sent."
    )


def told(tool: str, state: ConsentState) -> str:
    """Whether telemetry is on, and why."""
    if state.on:
        since = "" if state.at is None else f" since {day(state.at)}"
        how = "you turned it on" if state.why == "owner" else "you were told of it"
        return f"{tool} telemetry is on{since}: {how}."
    if state.why == "environment":
        return f"{tool} telemetry is off: {state.variable} is set."
    if state.why == "owner":
        return f"{tool} telemetry is off{'' if state.at is None else f' since {day(state.at)}'}: you turned it off."
    return f"{tool} telemetry is {_OFF[state.why]}."


def day(at: int) -> str:
    """A day in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
