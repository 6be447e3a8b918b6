"""The randomizers of rounds by the digests of their device parts, which never change: read and checked once."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from sqlalchemy.orm import Session

from sordino_server.models import PlanPart
from sordino_shared.protocol import DevicePart, Digest
from sordino_shared.randomizers import AnyRandomizer

_MOST = 32


class KnownRandomizers:
    """The newest 32 of one process; threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, AnyRandomizer] = OrderedDict()
        self._lock = Lock()

    def of(self, session: Session, digest: str) -> AnyRandomizer:
        """The randomizer of the device part of a round."""
        with self._lock:
            known = self._known.get(digest)
        if known is None:
            content = session.get_one(PlanPart, digest).content
            known = DevicePart.read(content, Digest.parse(digest)).randomizer
        with self._lock:
            self._known[digest] = known
            self._known.move_to_end(digest)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return known
