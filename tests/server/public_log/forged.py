"""A log that a test writes as it likes, with the key of a server's log: what a server could show that lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sordino_client._http_transport import HttpTransport
from sordino_client._transport import Request, Response
from sordino_server.public_log.signing import NoteSigner
from sordino_server.public_log.tree import TILE, TileTree, folded
from sordino_shared.protocol.log_days import LogDay, days_text
from sordino_shared.protocol.log_notes import checkpoint_text
from sordino_shared.protocol.log_proofs import proof_text
from sordino_shared.protocol.log_tree import leaf_hash

Cosigner = tuple[NoteSigner, int]


@dataclass
class ForgedLog:
    """Entries and the signer; every size of it has a checkpoint."""

    signer: NoteSigner
    entries: list[bytes] = field(default_factory=list)

    def tree(self, size: int) -> TileTree:
        leaves = [bytes(leaf_hash(each)) for each in self.entries[:size]]

        def read(level: int, index: int, width: int) -> Sequence[bytes]:
            if level == 0:
                return leaves[index * TILE : index * TILE + width]
            return [folded(read(level - 1, index * TILE + place, TILE)) for place in range(width)]

        return TileTree(size, read)

    def note(self, size: int, *cosigners: Cosigner) -> str:
        text = checkpoint_text(self.signer.name, size, self.tree(size).root())
        return f"{text}\n{self.signer.signed(text)}{''.join(each.cosigned(text, at) for each, at in cosigners)}"

    def proof(self, index: int, size: int, *cosigners: Cosigner) -> str:
        path = self.tree(size).inclusion(index)
        return proof_text(self.entries[index], index, path, self.note(size, *cosigners))

    def days(self, first: dict[int, int], size: int, *cosigners: Cosigner) -> str:
        """The list with the sizes of these days."""
        tree = self.tree(size)
        listed = [LogDay(day, each, self.tree(each).root(), tree.consistency(each)) for day, each in first.items()]
        return days_text(listed, self.note(size, *cosigners))


@dataclass
class LyingTransport:
    """A real connection whose answers to the log's paths a test replaces: text, or None for 404."""

    address: str
    proof: Callable[[str], str | None] | None = None
    days: Callable[[], str | None] | None = None
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inner = HttpTransport(self.address, allow_http=True)

    def send(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path.endswith("/log-proof") and self.proof is not None:
            return _answer(self.proof(request.path))
        if request.path == "/v1/log/days" and self.days is not None:
            return _answer(self.days())
        return self._inner.send(request)

    def close(self) -> None:
        self._inner.close()


def _answer(text: str | None) -> Response:
    headers = {"content-type": "text/plain; charset=utf-8"}
    return Response(404, {}, b"") if text is None else Response(200, headers, text.encode())
