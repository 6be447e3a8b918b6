"""Connections to PostgreSQL that wait for slow statements and not for dead servers. Needs psycopg."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import psycopg

from sordino_server.kit.database_errors import DatabaseUnsuitable
from sordino_server.kit.logs import logger

log = logger(__name__)

T = TypeVar("T")

# After so long without a sign of life the server is asked over another connection, which it has so long to accept.
ASK_AFTER_S = 3.0
ANSWER_WITHIN_S = 5


class PatientConnection(psycopg.Connection[Any]):
    """Waits for a statement as long as the server takes new connections, and no longer.

    A server whose processes are stopped, or whose disk hangs, keeps its connections: its system acknowledges
    everything, keepalives included, and nothing is ever answered. A statement may rightly take an hour, so
    time alone proves nothing. Raises OperationalError, with the connection closed, where a new one is not accepted
    in time.
    """

    ask: Callable[[], psycopg.Connection[Any]]

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        """As psycopg waits, which hears nothing every tenth of a second."""
        return super().wait(self._watched(gen), *args, **options)

    def _watched(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        ask_at = monotonic() + ASK_AFTER_S
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready or monotonic() > ask_at:
                    if not ready:
                        self._check_server()
                    ask_at = monotonic() + ASK_AFTER_S
                wanted = gen.send(ready)
        except StopIteration as end:
            value: T = end.value
            return value

    def _check_server(self) -> None:
        try:
            self.ask().close()
        except psycopg.errors.ConnectionTimeout as error:
            self.close()
            raise psycopg.OperationalError("the server answers neither here nor to a new connection") from error
        except psycopg.OperationalError:
            # A refusal is an answer; a server that is gone ends this connection by itself.
            return


class Connector:
    """Makes the connections of one engine; logs what the driver says, once, when they begin to fail."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, _: object, __: object, args: Sequence[Any], parameters: Mapping[str, Any]) -> PatientConnection:
        """Handles SQLAlchemy's event `do_connect`; raises `DatabaseUnsuitable` for an encoding other than UTF8."""
        try:
            connection = PatientConnection.connect(*args, **parameters)
        except psycopg.Error as error:
            self._log(" ".join(str(error).split()))
            raise
        self._said = ""
        connection.ask = partial(psycopg.connect, *args, **{**parameters, "connect_timeout": ANSWER_WITHIN_S})
        _check_encoding(connection)
        return connection

    def _log(self, said: str) -> None:
        # Users, hosts and names, never a password: libpq quotes none.
        if said != self._said:
            self._said = said
            log.warning("no connection to the database", said=said)


def _check_encoding(connection: PatientConnection) -> None:
    encoding = connection.info.parameter_status("server_encoding") or "an unknown one"
    if encoding != "UTF8":
        connection.close()
        raise DatabaseUnsuitable(
            f"the encoding of the database is {encoding}, and sordino stores texts of all scripts; create it again: "
            "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0"
        )
