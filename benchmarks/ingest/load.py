"""Load over plain sockets: keep-alive connections, each with one request under way at a time."""

import re
import selectors
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_PAUSE_S = 0.0005


@dataclass
class Sent:
    """What came of the requests: seconds from first to last, seconds of each, bodies of the answers."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)


@dataclass
class _Connection:
    socket: socket.socket
    due: float = 0.0
    received: bytes = b""

    def send(self, request: bytes, due: float) -> None:
        self.due, self.received = due, b""
        self.socket.sendall(request)

    def answer(self) -> bytes | None:
        """The body of the answer once all of it is there; raises unless the status is 200."""
        self.received += self.socket.recv(1 << 16)
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return None
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the server answered {self.received[:300]!r}")
        length = _LENGTH.search(head)
        assert length is not None
        return body if len(body) >= int(length[1]) else None


def request(path: str, body: bytes) -> bytes:
    """The bytes of one upload."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/cbor\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def send(port: int, requests: Sequence[bytes], connections: int, rate: float | None = None) -> Sent:
    """Send all requests over `connections`: as fast as they are answered, or `rate` a second whatever is answered.

    With a rate, a request's latency begins when it was due, waiting for a free connection included.
    """
    pending, sent = deque(requests), Sent()
    with selectors.DefaultSelector() as selector:
        free = deque(_Connection(socket.create_connection(("127.0.0.1", port))) for _ in range(connections))
        for connection in free:
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        start = time.perf_counter()
        while len(sent.answers) < len(requests):
            now = time.perf_counter()
            while free and pending:
                due = now if rate is None else start + (len(requests) - len(pending)) / rate
                if due > now:
                    break
                free.popleft().send(pending.popleft(), due)
            for key, _ in selector.select(_PAUSE_S):
                answer = key.data.answer()
                if answer is not None:
                    sent.latencies.append(time.perf_counter() - key.data.due)
                    sent.answers.append(answer)
                    free.append(key.data)
        sent.seconds = time.perf_counter() - start
        for connection in free:
            connection.socket.close()
    return sent
