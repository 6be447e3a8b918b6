"""One connection for one HTTP/1.1 request: every wait ends with the deadline, and the head of an answer is bounded."""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse

from sordino_shared._records import dataclass
from sordino_shared.errors import NoAnswer
from sordino_shared.http.deadline import addresses, time_left

# Addresses of one name share the deadline; one that swallows packets must not take all of it.
_CONNECT_S = 10.0
# http.client alone takes a hundred headers of 64 KiB each.
_MOST_HEAD = 64 << 10
_PIECE = 64 << 10


@dataclass(frozen=True)
class Proxy:
    """Where requests go instead of the server itself; `authorization` is the value of Proxy-Authorization."""

    host: str
    port: int
    authorization: str | None

    def headers(self) -> dict[str, str]:
        """What the proxy itself is told."""
        return {} if self.authorization is None else {"Proxy-Authorization": self.authorization}


class _Waiting:
    """As much of a socket as http.client uses: each wait is cut to what is left of the deadline."""

    def __init__(self, plain: socket.socket) -> None:
        self._plain = plain

    def makefile(self, mode: str) -> io.BufferedReader:
        """What the server sends."""
        return io.BufferedReader(_Received(self._plain))

    def sendall(self, content: bytes) -> None:
        """Send everything, unless the server answers before it took everything and closes."""
        view = memoryview(content)
        for start in range(0, len(view), _PIECE):
            self._plain.settimeout(time_left())
            self._plain.sendall(view[start : start + _PIECE])

    def close(self) -> None:
        """Close, once what reads from it is closed too."""
        self._plain.close()

    def cut(self) -> None:
        """End every wait on it, in whichever thread."""
        with suppress(OSError):
            self._plain.shutdown(socket.SHUT_RDWR)


class _Received(io.RawIOBase):
    """The bytes of an answer; the deadline is looked at before each wait, and the head is bounded until its end."""

    def __init__(self, plain: socket.socket) -> None:
        self._plain = plain
        self._raw = plain.makefile("rb", buffering=0)
        self._head_left: int | None = _MOST_HEAD

    def end_of_head(self) -> None:
        """What follows is the body."""
        self._head_left = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        if self._head_left is not None and self._head_left <= 0:
            raise NoAnswer(f"the head of the answer is longer than {_MOST_HEAD:,} bytes")
        self._plain.settimeout(time_left())
        read = self._raw.readinto(buffer)
        if self._head_left is not None:
            self._head_left -= read or 0
        return read

    def close(self) -> None:
        with suppress(OSError):
            self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    """A response whose head is bounded; its body is what `raw_chunks` reads."""

    def begin(self) -> None:
        """Read the head; interim ones (1xx), of which http.client skips one kind, are within the same bound."""
        super().begin()
        while self.status < 200:
            self.headers = None  # type: ignore[assignment]
            super().begin()
        self.fp.raw.end_of_head()  # type: ignore[attr-defined]


class Connection(HTTPConnection):
    """A connection to (host, port), with TLS where `trust` is given; through a proxy where one is given.

    Waits end with `sordino_shared.http.deadline`. Raises OSError, HTTPException, DeadlinePassed, and NoAnswer for a
    head that is too long and for a proxy that refuses.
    """

    response_class = _Answer

    def __init__(self, host: str, port: int, trust: ssl.SSLContext | None, proxy: Proxy | None) -> None:
        super().__init__(host, port)
        self._trust = trust
        self._proxy = proxy

    def cut(self) -> None:
        """End whatever waits for this connection, in another thread."""
        if isinstance(waiting := self.sock, _Waiting):
            waiting.cut()

    def connect(self) -> None:
        """Connect, let a proxy lead on to a server with TLS, and shake hands."""
        if self._proxy is None:
            plain = _connected(self.host, self.port)
        else:
            plain = _connected(self._proxy.host, self._proxy.port)
        try:
            if self._trust is None:
                self.sock = _Waiting(plain)
                return
            if self._proxy is not None:
                _open_tunnel(plain, self._proxy, self.host, self.port)
            plain.settimeout(time_left())
            self.sock = _Waiting(self._trust.wrap_socket(plain, server_hostname=self.host))
        except BaseException:
            plain.close()
            raise


def raw_chunks(response: HTTPResponse) -> Iterator[bytes]:
    """The body of a response, undecoded; raises NoAnswer where it ends before the length that the head names."""
    while chunk := response.read1(_PIECE):
        yield chunk
    if response.length:
        raise NoAnswer(f"the answer ends {response.length:,} bytes before its end")


def _connected(host: str, port: int) -> socket.socket:
    failure: OSError = OSError(f"{host} has no address")
    for address in addresses(host, port, time_left(_CONNECT_S)):
        try:
            # As bytes, for the reason that `addresses` has.
            made = socket.create_connection((address.encode(), port), time_left(_CONNECT_S))  # type: ignore[arg-type]
        except OSError as error:
            failure = error
            continue
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    raise failure


def _open_tunnel(plain: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    lines += [f"{name}: {value}" for name, value in proxy.headers().items()]
    waiting = _Waiting(plain)
    waiting.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    response = _Answer(waiting, method="CONNECT")  # type: ignore[arg-type]
    response.begin()
    if response.status != 200:
        raise NoAnswer(f"the proxy {proxy.host} answers {response.status} when it shall lead to {target}")
