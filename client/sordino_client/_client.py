"""`Client`: the SDK for ordinary, blocking code."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from sordino_client._account import Account
from sordino_client._background import Background
from sordino_client._clock import Clock, SystemClock
from sordino_client._config import (
    DEFAULT_JOINS_PER_PERIOD,
    DEFAULT_LARGEST_PART,
    DEFAULT_SPOOL_LIMIT,
    REQUIRE_LOG,
    AppCall,
    Caps,
    Config,
    pinned_log,
)
from sordino_client._device import Device
from sordino_client._errors import WrongArgument
from sordino_client._finding import Accept, FoundCampaigns
from sordino_client._flow import Finished, Flow, Pause, advance
from sordino_client._preview import Preview
from sordino_client._results import Answer, Campaign, Flushed, campaign_id
from sordino_client._signatures import listed_keys
from sordino_client._transport import Response, Transport, check_address, exchange
from sordino_shared.protocol import CampaignId, Period
from sordino_shared.randomness import Randomness, SystemRandomness

T = TypeVar("T")
PATIENCE_S = 30.0


class Client:
    """A device's side of sordino. Safe to share between threads, and between processes that share the ledger's file.

    `ledger` is a path in the app's private folder, or ":memory:" for simulations. `strict` is for the app's tests.
    `background` sends by a thread of its own, each campaign over its own connection and at its own time of the retry
    window. `dry_run` answers up to the debit and sends nothing. With `log`, the verifier key of the server's public
    log (or several, of a rotation, the newest last), only campaigns are joined that are in it, as `quorum` of the
    `witnesses` saw it; `log_policy` "prefer" joins them also while the log gives no proof. `attest(campaign, round,
    blinded)` gives the credential that a gate `hook` asks for, and `issue(campaign, round, blinded)` has the app's
    backend ask at a gate `account` and gives the bytes of the answer. `transport`, `randomness`, `clock` and `sleep`
    exist for tests and simulations.
    """

    def __init__(
        self,
        server: str,
        *,
        ledger: str | os.PathLike[str],
        caps: Caps,
        strict: bool = False,
        spool_limit: int = DEFAULT_SPOOL_LIMIT,
        upload_token: str | None = None,
        largest_part: int = DEFAULT_LARGEST_PART,
        dry_run: bool = False,
        background: bool = False,
        joins_per_period: int = DEFAULT_JOINS_PER_PERIOD,
        manifest_keys: Sequence[str] = (),
        log: str | Sequence[str] | None = None,
        witnesses: Sequence[str] = (),
        quorum: int | None = None,
        log_policy: str = REQUIRE_LOG,
        attest: AppCall | None = None,
        issue: AppCall | None = None,
        allow_http: bool = False,
        transport: Transport | None = None,
        randomness: Randomness | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        origin = check_address(server, allow_http=allow_http or transport is not None)
        config = Config(
            caps=caps,
            strict=strict,
            spool_limit=spool_limit,
            upload_token=upload_token,
            largest_part=largest_part,
            dry_run=dry_run,
            background=background,
            joins_per_period=joins_per_period,
            manifest_keys=listed_keys(manifest_keys),
            log=pinned_log(log, witnesses, quorum),
            log_policy=log_policy,
            attest=attest,
            issue=issue,
        )
        self._ledger, self._allow_http, self._own_transport = ledger, allow_http, transport is not None
        self._transport = transport or connection(server, allow_http)
        open_device = partial(Device, ledger, origin, config, randomness or SystemRandomness(), clock or SystemClock())
        self._device = open_device()
        self._sleep = sleep
        self._background = None
        if background:
            connect = partial(connection, server, allow_http) if transport is None else lambda: transport
            self._background = Background(open_device, connect, shared=transport is not None)

    def join(self, campaign: CampaignId | str) -> Campaign:
        """Pin the campaign's manifest, and keep its task and plan, so that `answer` works without a connection.

        Needs the server the first time only. A series that replaces another one takes its place on this device. Raises
        `OptedOut`, `PlanUnavailable`, `PlanRefused`, `ServedElsewhere`, `NotASuccessor`, `LedgerUnavailable`,
        `ClockUnusable`.
        """
        return self._run(self._device.join(campaign_id(campaign)))

    def find(self, population: str, accept: Accept, *, allow_repeats: bool = False) -> FoundCampaigns:
        """Join campaigns from the public list of `population`; call it as often as you like, such as at every start.

        The list is fetched once in 24 hours, at a time drawn uniformly; before that nothing happens. Every listed
        manifest is fetched, then `accept(manifest)` is called for each that was never joined, and returns True or
        False. It must look at nothing but the manifest: the server sees which campaigns a device joins. At most
        `joins_per_period` are joined in a period of the caps, and of two open campaigns that ask the same only one,
        unless `allow_repeats`. Raises what `join` does, and `PlanRefused` for a list that is older than one seen
        before; then nothing was joined.
        """
        return self._run(self._device.find(population, accept, allow_repeats))

    def answer(self, campaign: Campaign | CampaignId | str, value: object) -> Answer:
        """Randomise `value` and record the report, once for each round; `flush` sends it.

        Without a connection the task that was read last says whether the round is open, until its time is over.
        Raises `NotJoined`, `ServedElsewhere`, `PlanUnavailable`, `PlanRefused`, `BudgetExceeded`, `SpoolFull`,
        `LedgerUnavailable`, `ClockUnusable`: after any of them nothing was spent by this call and the value is nowhere.
        So it is after `WrongShape`, for a value whose shape or names are not the domain's, whatever it holds.
        """
        answered = self._run(self._device.answer(campaign_id(campaign), value))
        if self._background is not None:
            self._background.wake()
        return answered

    def arm(self, campaign: Campaign | CampaignId | str) -> str | None:
        """The version of the app that this device shows in an experiment, such as "B". Sends and spends nothing.

        Drawn at the join, independently of all values, and kept for the life of the ledger. None
        where the campaign has no arms, and once its owner left: show the default then. Raises `NotJoined`,
        `LedgerUnavailable`, and `ServerChanged` as `answer` does.
        """
        return self._device.arm(campaign_id(campaign))

    def due(self, series: Campaign | CampaignId | str) -> Period | None:
        """The period of a joined series that this device is asked about now, None if there is none.

        Ask before computing a value: in other periods `answer` returns `not_this_period`. Sends no request. Caps are
        judged by `answer`. Raises `NotJoined`, `ServedElsewhere`, `LedgerUnavailable`, `ClockUnusable`, and
        `WrongArgument` for a campaign that is no series.
        """
        return self._device.due(campaign_id(series))

    def next_due(self, series: Campaign | CampaignId | str) -> datetime | None:
        """When a joined series asks this device next, in UTC; now if it does so now, None if it never does again.

        Sends no request, and raises what `due` does. A series that its operator pauses or ends is known to be so
        after the next `answer`.
        """
        return self._device.next_due(campaign_id(series))

    def preview(self, campaign: Campaign | CampaignId | str, value: object) -> Preview:
        """What `answer` would send for `value`: digests, ε, sizes and an example. Sends, debits and keeps nothing.

        Needs the plan that `join` fetched, and no connection. Raises `NotJoined`, `ServedElsewhere`, `PlanUnavailable`,
        `PlanRefused`, `LedgerUnavailable`, and `WrongShape` as `answer` does.
        """
        return self._device.preview(campaign_id(campaign), value)

    def flush(self, patience_s: float = PATIENCE_S, *, deadline_s: float | None = None, now: bool = False) -> Flushed:
        """Send what waits for this server, retrying for at most `patience_s` seconds of waiting; the rest stays.

        `deadline_s` bounds all of it, connecting included, for a tool that is about to exit; it then waits for nothing.
        `now` is for a button of the owner's: it tries each report once at once, whatever its time, at most once a
        minute, and never before the time that the server asked for.
        Raises `LedgerUnavailable`, `ClockUnusable`; trouble with the server is in the result.
        """
        if deadline_s is None:
            return self._run(self._device.flush(patience_s, now=now))
        with within(deadline_s):
            return self._run(self._device.flush(0.0, now=now))

    def send_detached(self) -> bool:
        """Start a process of its own that sends what waits, for a tool that is about to exit; whether there is one.

        False where nothing waits, and where no such process can be: in a frozen program, with a `transport` of the
        app's own or with a ledger in memory; what waits then goes at the next start. It makes one try and asks for
        nothing. Raises `LedgerUnavailable`.
        """
        from sordino_client.send import start

        return not self._own_transport and start(self._ledger, self._device, self._allow_http)

    def rehome(self, campaign: Campaign | CampaignId | str, address: str) -> Campaign:
        """Have a campaign that was joined at another address served by this client's server, which is at `address`.

        The server must show the same manifest; where that names its servers, it must be the same one of them, or
        `ServerChanged` is raised. Raises what `join` raises, and `NotJoined`: nothing has moved then.
        """
        return self._run(self._device.rehome(campaign_id(campaign), address))

    def account(self) -> Account:
        """What was spent and sent, over all campaigns of the ledger."""
        return self._device.account()

    def opt_out(self, campaign: Campaign | CampaignId | str) -> None:
        """Leave a campaign permanently: delete its reports, keep its debits. Works without a connection."""
        self._device.opt_out(campaign_id(campaign))

    def opt_out_all(self) -> None:
        """Leave all campaigns of the ledger, those to come as well: delete all reports, keep all debits.

        Until `opt_in`, in this process and any other, `join` and `rehome` raise `OptedOut`, `answer` returns
        `opted_out` and `flush` sends nothing.
        """
        self._device.opt_out_all()

    def opt_in(self) -> None:
        """Come back after `opt_out_all`, because the owner wants to; a campaign left by `opt_out` stays left."""
        self._device.opt_in()

    @property
    def opted_out(self) -> bool:
        """Whether the owner left all campaigns of the ledger, in any process. Raises `LedgerUnavailable`."""
        return self._device.opted_out

    def close(self) -> None:
        """Close connections and the ledger's file; nothing more is sent in the background."""
        if self._background is not None:
            self._background.close()
        self._transport.close()
        self._device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        step = advance(flow, None)
        while not isinstance(step, Finished):
            reply: Response | Exception | None = None
            if isinstance(step, Pause):
                self._sleep(step.seconds)
            else:
                reply = exchange(self._transport, step)
            step = advance(flow, reply)
        return step.value


def within(deadline_s: float) -> AbstractContextManager[None]:
    """Every request within ends after so many seconds of all of them; raises WrongArgument."""
    # It imports socket, which is not needed without a connection.
    from sordino_shared.http.deadline import deadline

    if isinstance(deadline_s, bool) or not isinstance(deadline_s, int | float) or not 0 < deadline_s < math.inf:
        raise WrongArgument(f"deadline_s is a number of seconds above 0, got {deadline_s!r}", deadline_s)
    return deadline(deadline_s)


def connection(server: str, allow_http: bool) -> Transport:
    """Connections of their own to a server."""
    # Without a connection nothing of it is imported.
    from sordino_client._http_transport import HttpTransport

    return HttpTransport(server, allow_http=allow_http)
