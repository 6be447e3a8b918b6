"""Admission of uploads: anyone up to a rate, anyone with a token; a campaign may require a token for every report."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import OrderedDict
from time import monotonic
from typing import TypeVar

import anyio.to_thread
from starlette.types import Scope

from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.key_uses import KeyUses
from sordino_server.kit.token_buckets import TokenBuckets
from sordino_server.models import Campaign
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import Problem

Key = TypeVar("Key")
Value = TypeVar("Value")

# A token that was revoked or expired opens its campaign for so much longer: asking the database every time would cost
# as much as writing the report.
TOKEN_KNOWN_S = 10.0
_MAX_KNOWN = 4096
_BEARER = "bearer "


class Admission:
    """Admits or refuses uploads of one process before their bodies are read."""

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self._database = context.database
        self._clock = context.clock
        self._uses = KeyUses(context.database, context.clock)
        self._proxies = TrustedProxies.parse(settings.trusted_proxies)
        rate = settings.anonymous_uploads_per_s
        self._buckets = TokenBuckets(rate, settings.anonymous_uploads_burst) if rate else None
        # Whether a campaign requires a token never changes.
        self._needs_token: OrderedDict[str, bool] = OrderedDict()
        self._known_until: OrderedDict[tuple[str, bytes], float] = OrderedDict()
        self._asked: dict[tuple[str, str | None], asyncio.Future[bool]] = {}

    async def admit(self, scope: Scope, campaign: str) -> None:
        """Return where the upload may be read; raises `unauthorized`, `forbidden` or `rate-limited`."""
        token = _token(scope)
        if token is not None and self._is_known(campaign, token):
            return
        # Before the database is asked: guessing tokens is limited like everything else.
        self._limit(scope)
        needed = self._needs_token.get(campaign)
        if needed is None or token is not None:
            needed = await self._ask(campaign, token)
        if needed and token is None:
            raise ServerError(
                Problem.UNAUTHORIZED, "this campaign requires its upload token: `Authorization: Bearer sdo_uploader_…`"
            )

    def _is_known(self, campaign: str, token: str) -> bool:
        return self._known_until.get((campaign, _hash(token)), 0.0) > monotonic()

    def _limit(self, scope: Scope) -> None:
        if self._buckets is None:
            return
        wait = self._buckets.take(self._proxies.sender(scope))
        if wait:
            raise ServerError(
                Problem.RATE_LIMITED,
                "this address sends more requests than it may without a token; try again later",
                retry_after=math.ceil(wait),
            )

    async def _ask(self, campaign: str, token: str | None) -> bool:
        """As `_check`, once for all who ask the same at the same time: a thousand devices may come at a start."""
        key = campaign, token
        check = self._asked.get(key)
        if check is None:
            check = self._asked[key] = asyncio.ensure_future(anyio.to_thread.run_sync(self._check, campaign, token))
            check.add_done_callback(lambda _: self._asked.pop(key))
        # Who gives up waiting does not take the answer from the others.
        return await asyncio.shield(check)

    def _check(self, campaign: str, token: str | None) -> bool:
        """Whether the campaign requires a token; raises if it does and this one is not valid for it."""
        with self._database.read("admit upload") as session:
            row = session.get(Campaign, campaign)
            if row is None:
                # The writer says that there is none; nothing is remembered, since anybody can make up ids.
                return False
            _remember(self._needs_token, campaign, row.needs_token)
            if token is None:
                return row.needs_token
            try:
                key = keys.authenticate_uploader(session, token, campaign, self._clock.now())
            except ServerError:
                if row.needs_token:
                    raise
                return False
        self._uses.note(key)
        _remember(self._known_until, (campaign, _hash(token)), monotonic() + TOKEN_KNOWN_S)
        return True


def _token(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"authorization":
            text: str = value.decode("latin-1")
            return text[len(_BEARER) :].strip() if text.lower().startswith(_BEARER) else ""
    return None


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _remember(table: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    table[key] = value
    if len(table) > _MAX_KNOWN:
        table.popitem(last=False)
