"""Whose a session is, and whether who vouched for a person still does."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from sordino_server.console import sessions
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.keys.key_uses import KeyUses
from sordino_server.models import Key
from sordino_server.people import service as people
from sordino_server.people.forwarded import forwarded_person
from sordino_server.people.person import Person
from sordino_shared.protocol import Problem

# A page is answered while there are minutes left in which its forms can be sent.
RENEWED_BEFORE_S = 300
_PARTS = (".json", ".csv", ".svg")


class RenewalNeeded(ServerError):
    """The OpenID provider has to say again who the person is."""

    def __init__(self) -> None:
        super().__init__(
            Problem.UNAUTHORIZED,
            "who you are is checked every 15 minutes, and the time is over: open any page of the console in another "
            "tab, then go back and send this again",
        )


@dataclass(frozen=True)
class Visit:
    """A request with a session: the secret id, whom a proxy names, and whether it is for a whole page."""

    identifier: str
    forwarded: Person | None
    is_page: bool

    @classmethod
    def of(cls, request: Request, identifier: str) -> Visit:
        """Of a request; raises what `forwarded_person` does."""
        context: Context = request.app.state.context
        in_page = "hx-request" in request.headers or request.url.path.endswith(_PARTS)
        is_page = request.method in ("GET", "HEAD") and not in_page
        return cls(identifier, forwarded_person(request.scope, context.settings), is_page)

    def check(self, context: Context, uses: KeyUses) -> tuple[Key, str]:
        """The key or person of the session, and the name that pages show; raises `unauthorized` and `forbidden`."""
        now = context.clock.now()
        with context.database.read("console session") as session:
            found = sessions.find(session, self.identifier, now)
        key = found.key
        if key.person is not None:
            key = self._person(context, found, now)
        uses.note(key)
        return key, found.shown_name or key.name

    def _person(self, context: Context, found: sessions.Found, now: int) -> Key:
        settings = context.settings
        if settings.people == "header":
            return self._still_forwarded(context, found.key, now)
        if settings.people == "off" or found.renew_at is None:
            raise sessions.ended()
        if now >= found.renew_at - (RENEWED_BEFORE_S if self.is_page else 0):
            raise RenewalNeeded()
        return found.key

    def _still_forwarded(self, context: Context, key: Key, now: int) -> Key:
        """The person, whom the proxy names at every request, with the role of now."""
        if self.forwarded is None or self.forwarded.sha256 != key.person:
            raise sessions.ended()
        if people.role_of(self.forwarded, context.settings) == key.role:
            return key
        forwarded = self.forwarded
        return context.database.run(
            "change role", lambda session: people.enter(session, forwarded, context.settings, now)
        )
