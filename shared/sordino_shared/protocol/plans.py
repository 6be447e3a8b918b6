"""What a device needs of a plan, for any value it may hold, and how a plan is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sordino_shared._records import dataclass
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.ids import Digest
from sordino_shared.randomizers import AnyRandomizer, Coarsened, Dithered
from sordino_shared.randomness import Randomness


@dataclass(frozen=True)
class DevicePart(Document):
    """Domain, claimed guarantee and randomizer: all a device needs, whatever value it holds."""

    document: ClassVar[str] = "device_part"
    limit: ClassVar[int] = 64 << 20
    # What a device fetches and verifies unless its app allows more.
    usual_limit: ClassVar[int] = 1 << 20

    domain: Domain
    guarantee: PureEpsilon
    randomizer: AnyRandomizer

    def __post_init__(self) -> None:
        check_round_guarantee(self.guarantee)
        self.domain.check_salted()
        self.randomizer.check_domain(self.domain.shape)
        if isinstance(self.randomizer, Dithered):
            self.randomizer.check_ordered(self.domain.ordered)
        if self.domain.holds_strings and not isinstance(self.randomizer, Coarsened):
            raise InvalidValue("a domain of strings is randomized by `coarsened` alone", self.randomizer.kind)

    def randomize(self, codes: Sequence[int], randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """One payload for a value by its `codes`, the indices of its members; `coin` as in `Randomizer.randomize`."""
        return self.randomizer.randomize_codes(codes, self.domain.shape, randomness, coin)


@dataclass(frozen=True)
class PlanReference:
    """A plan by the digests of its two parts."""

    device: Digest
    analyst: Digest
