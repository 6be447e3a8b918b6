"""`Telemetry`: whether the owner agreed, and answers that are given only then."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from sordino_client._client import Client, connection, within
from sordino_client._clock import Clock, SystemClock, seconds
from sordino_client._config import DAY_S, AppCall, Caps
from sordino_client._errors import ClientError, NotJoined, PlanUnavailable, TransportFailed, WrongArgument
from sordino_client._preview import EXAMPLE
from sordino_client._results import Answer, Flushed, campaign_id
from sordino_client._storage import MEMORY
from sordino_client._transport import Request, Response, Transport, check_address
from sordino_client.consent import _words
from sordino_client.consent._decisions import Decided, Decision, decide, mark_shown, read_decisions
from sordino_client.consent._environment import another_owner, check_tool, default_ledger, languages_of, switched_off
from sordino_client.send import start as start_sending
from sordino_shared._records import dataclass
from sordino_shared.protocol import CampaignId

T = TypeVar("T")
_LOG = logging.getLogger("sordino_client")
_YES = frozenset({"y", "yes", "j", "ja"})


class Consent(StrEnum):
    """Off until the owner says yes, or on from a day after a notice."""

    ASK = "ask"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True)
class ConsentState:
    """Whether anything is answered, and why.

    `why` is "environment" (`variable` names what switched it off), "another user" (root for somebody else), "owner" (a
    decision), "notice" (told, and a day is over or not), "not asked", "no terminal" or "ledger" (its file cannot be
    used). `at` is when the decision began to hold and `asked_at` when a text was first shown, in Unix seconds.
    """

    on: bool
    why: str
    variable: str | None = None
    at: int | None = None
    asked_at: int | None = None


class Telemetry:
    """Telemetry of one tool. Off in the environment, it writes nothing, sends nothing and creates no ledger.

    `campaigns` gives the tool's names to ids. `purpose` is what the owner is told is asked: write it yourself, since
    nothing is fetched before they agree. `consent` is "ask", or "notice" for on from a day after a notice. `ledger` is
    the default of `default_ledger`. `attest` and `issue` are those of `Client`, for tokens: `send` alone calls them.
    `options` are further ones of `Client`. `strict` raises what `answer` and `send` log otherwise: for tests.
    `transport`, `clock`, `environ` and `terminal` (whether somebody reads and types) are for tests.

    Raises `WrongArgument`.
    """

    def __init__(
        self,
        tool: str,
        *,
        server: str,
        campaigns: Mapping[str, CampaignId | str],
        purpose: str,
        caps: Caps,
        consent: str = Consent.ASK.value,
        ledger: str | os.PathLike[str] | None = None,
        languages: Sequence[str] | None = None,
        strict: bool = False,
        allow_http: bool = False,
        attest: AppCall | None = None,
        issue: AppCall | None = None,
        transport: Transport | None = None,
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
        terminal: bool | None = None,
        **options: Any,
    ) -> None:
        self.tool = check_tool(tool)
        self.server = check_address(server, allow_http=allow_http or transport is not None)
        if not isinstance(caps, Caps) or not isinstance(purpose, str) or not purpose.strip():
            raise WrongArgument("give caps=Caps.of(…) and a purpose: a sentence about what is asked", (caps, purpose))
        if consent not in list(Consent):
            raise WrongArgument(f'consent is "ask" or "notice", got {consent!r}', consent)
        if not isinstance(campaigns, Mapping) or not campaigns:
            raise WrongArgument("campaigns is a mapping of your names to ids of campaigns, such as {'startup': ID}")
        self.campaigns = {name: campaign_id(each) for name, each in campaigns.items()}
        self._environ = os.environ if environ is None else environ
        self.ledger = default_ledger(tool, self._environ) if ledger is None else Path(ledger)
        self.languages = tuple(languages_of(self._environ) if languages is None else languages)
        self._purpose, self._caps, self._consent = purpose.strip(), caps, Consent(consent)
        self._strict, self._allow_http, self._transport = strict, allow_http, transport
        self._clock, self._terminal, self._options = clock or SystemClock(), terminal, options
        self._attest, self._issue = attest, issue
        self._told_in_this_run = False

    # What the owner decides.

    def state(self) -> ConsentState:
        """Whether telemetry is on, and why; reads the ledger if there is one, and writes nothing."""
        refused = self._switched_off()
        if refused is not None:
            return refused
        try:
            decided = read_decisions(self.ledger)
        except (ClientError, OSError) as error:
            _LOG.warning("Telemetry is off: %s", error)
            return ConsentState(on=False, why="ledger")
        return self._judged(decided)

    def first_run(self) -> str | None:
        """The text to print now, once; None where nothing is to be said. With "ask", `ask` also reads the answer.

        Where the ledger cannot be written nothing is said either: a question would come back each time.
        """
        return self._quietly(self._first_run)

    def _first_run(self) -> str | None:
        if not self._is_to_ask(self.state()):
            return None
        text, now = self._text(), int(seconds(self._clock))
        if self._consent is Consent.ASK:
            mark_shown(self.ledger, text, now)
        else:
            # It holds from a day after it was shown.
            decide(self.ledger, self._open(read_decisions(self.ledger)), True, now + DAY_S, text, told_at=now)
            self._told_in_this_run = True
        return text

    def ask(self, read: Callable[[str], str] | None = None, write: Callable[[str], object] = print) -> ConsentState:
        """Ask once, at a terminal, with No as the default; any other time nothing is said. With "notice", tell."""
        text = self.first_run()
        if text is not None:
            write(text)
            if self._consent is Consent.ASK:
                try:
                    said = (read or input)("Report this? [y/N] ")
                except EOFError:
                    said = ""
                self._quietly(self.turn_on if said.strip().lower() in _YES else self.turn_off)
        return self.state()

    def turn_on(self) -> ConsentState:
        """The owner agrees, to all campaigns of now. What the environment switched off stays off; it is kept.

        Raises `LedgerUnavailable`.
        """
        self._decide(on=True)
        return self.state()

    def turn_off(self) -> ConsentState:
        """The owner leaves all campaigns: reports that wait are deleted, debits stay. No request says so.

        Raises `LedgerUnavailable`.
        """
        self._decide(on=False)
        return self.state()

    # What the tool does.

    def answer(self, name: str, value: object) -> Answer | None:
        """Answer the campaign of this name if telemetry is on: by a value, or by a function that is called only then.

        Nothing is sent and no connection is made: the answer is drawn by what `send` fetched before. None where
        telemetry is off, nothing is asked now, or something went wrong, which the log says.
        """
        return self._quietly(lambda: self._answer(name, value))

    def send(self, deadline_s: float = 10.0) -> Flushed | None:
        """Send what waits and fetch what the next answers need, in `deadline_s` seconds at most, connecting included.

        Call it at the end of a run. What was not sent goes the next time. None where telemetry is off.
        """
        return self._quietly(lambda: self._send(deadline_s))

    def send_detached(self) -> bool:
        """Have a process of its own send what waits, after the tool's end; see `Client.send_detached`."""
        return bool(self._quietly(self._send_detached))

    # What the owner reads; `click_group`, `typer_app` and `add_argparse` make commands of it.

    def show(self) -> str:
        """Whether telemetry is on and why, what it asks, what ε promises, what was sent, and what is asked next."""
        lines = [_words.told(self.tool, self.state()), f"It asks: {self._purpose}"]
        lines += [f"Reports go to {self.server}. {_words.promise(self._caps, self.languages)}"]
        if not self.ledger.exists():
            return "\n".join([*lines, "Nothing was answered, and no file was made."])
        with self._client(NoConnection()) as client:
            account = client.account()
        return "\n".join([*lines, "", str(account), *self._next(account.campaigns)])

    def account(self) -> dict[str, Any]:
        """The account for a settings page (docs/account.schema.json), with the owner's decision; makes no file."""
        with self._client(NoConnection(), self._kept()) as client:
            document = client.account().to_dict(self.languages)
        state = self.state()
        words = {name: getattr(state, name) for name in ("on", "why", "variable", "at", "asked_at")}
        return document | {"consent": words}

    def preview(self, name: str, value: object = EXAMPLE) -> str:
        """What an answer by `value` would send, or by an example; nothing is spent or sent.

        Raises what `Client.preview` does.
        """
        with self._client(NoConnection(), self._kept(), strict=False) as client:
            shown = str(client.preview(self._id(name), value))
        return f"for an example, the first answer that there is\n{shown}" if value is EXAMPLE else shown

    def click_group(self) -> Any:
        """`telemetry` as a click group with show, on, off and preview; imports click."""
        from sordino_client.consent._commands import click_group

        return click_group(self)

    def typer_app(self) -> Any:
        """The same as a typer app, for `app.add_typer(telemetry.typer_app(), name="telemetry")`; imports typer."""
        from sordino_client.consent._commands import typer_app

        return typer_app(self)

    def add_argparse(self, subparsers: Any) -> None:
        """The same as a parser of argparse; its `run` takes the parsed arguments: `arguments.run(arguments)`."""
        from sordino_client.consent._commands import add_argparse

        add_argparse(self, subparsers)

    # Insides.

    def _switched_off(self) -> ConsentState | None:
        variable = switched_off(self.tool, self._environ)
        if variable is not None:
            return ConsentState(on=False, why="environment", variable=variable)
        variable = another_owner(self._environ)
        return None if variable is None else ConsentState(on=False, why="another user", variable=variable)

    def _judged(self, decided: Decided) -> ConsentState:
        mine = {campaign: decided.by_campaign.get(campaign) for campaign in self.campaigns.values()}
        asked_at = min([*decided.asked_at.values(), *decided.told_at.values()], default=None)
        if decided.left_at is not None:
            return ConsentState(on=False, why="owner", at=decided.left_at, asked_at=asked_at)
        made = [each for each in mine.values() if each is not None]
        if not made:
            why = "not asked" if self._consent is Consent.NOTICE or self._at_terminal() else "no terminal"
            return ConsentState(on=False, why=why, asked_at=asked_at)
        on = [each for each in made if self._holds(decided, each)]
        last = on[-1] if on else made[-1]
        why = "notice" if decided.follows_notice(last) else "owner"
        return ConsentState(on=bool(on), why=why, at=last.at, asked_at=asked_at)

    def _holds(self, decided: Decided, decision: Decision) -> bool:
        told_now = self._told_in_this_run and decided.follows_notice(decision)
        return decision.on and decision.at <= seconds(self._clock) and not told_now

    def _open(self, decided: Decided) -> list[CampaignId]:
        """The campaigns that nothing was decided about: a new one asks again."""
        return [each for each in self.campaigns.values() if each not in decided.by_campaign]

    def _is_to_ask(self, state: ConsentState) -> bool:
        if state.why in ("environment", "another user", "ledger") or not self._at_terminal():
            return False
        decided = read_decisions(self.ledger)
        return decided.left_at is None and bool(self._open(decided)) and not decided.was_shown(self._text())

    def _text(self, consent: Consent | None = None) -> str:
        write = _words.question if (consent or self._consent) is Consent.ASK else _words.notice
        ids = " ".join(f"{name} {str(each)[:16]}" for name, each in sorted(self.campaigns.items()))
        return f"{write(self.tool, self._purpose, self.server, self._caps, self.languages)}\nCampaigns: {ids}"

    def _at_terminal(self) -> bool:
        if self._terminal is not None:
            return self._terminal
        return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))

    def _decide(self, on: bool) -> None:
        now = int(seconds(self._clock))
        decide(self.ledger, self.campaigns.values(), on, now, self._text(Consent.ASK))
        with self._client(NoConnection()) as client:
            client.opt_in() if on else client.opt_out_all()

    def _answer(self, name: str, value: object) -> Answer | None:
        campaign = self._id(name)
        if not self._agreed(campaign):
            return None
        with self._client(NoConnection()) as client:
            try:
                if not client._device.wants(campaign):
                    return None
            except NotJoined:
                _LOG.info("Campaign %s is not joined yet; send() joins it.", campaign)
                return None
            return client.answer(campaign, value() if callable(value) else value)

    def _send(self, deadline_s: float) -> Flushed | None:
        agreed = [campaign for campaign in self.campaigns.values() if self._agreed(campaign)]
        if not agreed:
            return None
        with within(deadline_s), self._client(self._transport) as client:
            for campaign in agreed:
                try:
                    client._run(client._device.refresh(campaign))
                except PlanUnavailable as error:
                    _LOG.info("Campaign %s is joined later: %s", campaign, error)
            return client.flush(patience_s=0)

    def _send_detached(self) -> bool:
        if not any(self._agreed(campaign) for campaign in self.campaigns.values()):
            return False
        if self._transport is not None:
            return False
        with self._client(NoConnection()) as client:
            return start_sending(self.ledger, client._device, self._allow_http)

    def _agreed(self, campaign: CampaignId) -> bool:
        if self._switched_off() is not None:
            return False
        decided = read_decisions(self.ledger)
        decision = decided.by_campaign.get(campaign)
        return decided.left_at is None and decision is not None and self._holds(decided, decision)

    def _client(
        self, transport: Transport | None, ledger: Path | str | None = None, strict: bool | None = None
    ) -> Client:
        # Where no connection is made, none is made by the app either.
        offline = isinstance(transport, NoConnection)
        attest, issue = (_not_now if offline and each is not None else each for each in (self._attest, self._issue))
        return Client(
            self.server,
            ledger=self.ledger if ledger is None else ledger,
            caps=self._caps,
            strict=self._strict if strict is None else strict,
            transport=Shared(transport) if transport is not None else connection(self.server, self._allow_http),
            clock=self._clock,
            attest=attest,
            issue=issue,
            **self._options,
        )

    def _kept(self) -> Path | str:
        """The ledger, or one in memory where there is no file: looking makes none."""
        return self.ledger if self.ledger.exists() else MEMORY

    def _id(self, name: str) -> CampaignId:
        if name not in self.campaigns:
            raise WrongArgument(f"no campaign is called {name!r}; there are {', '.join(self.campaigns)}", name)
        return self.campaigns[name]

    def _next(self, campaigns: Sequence[Any]) -> list[str]:
        names = {str(each): name for name, each in self.campaigns.items()}
        due = [(names.get(each.campaign, each.name), each.next_due) for each in campaigns if each.next_due is not None]
        return [f"next: {name} on {_words.day(at)}" for name, at in due]

    def _quietly(self, step: Callable[[], T | None]) -> T | None:
        """A tool never fails for its telemetry, unless its tests want it to."""
        try:
            return step()
        except Exception as error:
            if self._strict:
                raise
            # What a function of the app raised may quote a value.
            _LOG.warning("Telemetry: %s", error if isinstance(error, ClientError) else type(error).__name__)
            return None


def _not_now(campaign: str, index: int, blinded: bytes) -> bytes:
    raise PlanUnavailable("token", "no connection is made here")


class NoConnection:
    """A transport that makes none: what needs the server is done by `send`."""

    def send(self, request: Request) -> Response:
        raise TransportFailed("no connection is made here")

    def close(self) -> None:
        """Nothing is open."""


class Shared:
    """A transport that outlives the clients that use it."""

    def __init__(self, transport: Transport) -> None:
        self.send = transport.send

    def close(self) -> None:
        """Its owner closes it."""
