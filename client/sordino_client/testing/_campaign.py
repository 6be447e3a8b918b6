"""The documents of a test's campaign: manifest, device part and task, as a server makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sordino_client._errors import WrongArgument
from sordino_client.testing._series_terms import DAY_S
from sordino_shared._records import dataclass
from sordino_shared.domains import Domain
from sordino_shared.guarantees import MIN_ROUND_NANO, PureEpsilon
from sordino_shared.protocol import (
    Arm,
    CampaignState,
    DevicePart,
    Digest,
    EveryRound,
    Manifest,
    PlanReference,
    RetryWindow,
    Rotating,
    RoundTerms,
    Task,
)
from sordino_shared.protocol.experiments import WHOLE_ARM_WEIGHT
from sordino_shared.randomizers import AnyRandomizer, Coarsened, RandomizedResponse
from sordino_shared.randomizers.coarsened import GridPartition, Level, LinearLabel
from sordino_shared.randomizers.coarsened.level import CHANCE_BITS

# The defaults of a server: SORDINO_RETRY_MIN_S, SORDINO_RETRY_MAX_S, SORDINO_OFFLINE_DAYS.
RETRY = RetryWindow(60, 3600)
OFFLINE_DAYS = 7
# Servers draw the epoch of a round; ids begin with it.
EPOCH = 24_301
# Beyond it a report of randomised response says too little, and servers choose other mechanisms.
MOST_RESPONSE_CELLS = 4096
MOST_CELLS = 1 << 64


@dataclass(frozen=True)
class TestCampaign:
    """One campaign of one round, or a series, and its device part."""

    # pytest would take a class of this name for a test.
    __test__ = False

    manifest: Manifest
    part: DevicePart

    @property
    def law(self) -> Rotating | None:
        """The law of a series; None for a campaign of one round."""
        assignment = self.manifest.assignment
        return assignment if isinstance(assignment, Rotating) else None

    def epoch(self, number: int) -> int:
        """The head of the ids of reports about a round or a period."""
        return EPOCH if self.law is None else self.law.epoch(number)

    def task(self, state: CampaignState, paused: bool, now: int) -> Task:
        """What is open at `now`, in Unix seconds."""
        is_open = state is CampaignState.OPEN and not paused
        midnight = (now // DAY_S + OFFLINE_DAYS) * DAY_S
        return Task(
            campaign=self.manifest.campaign,
            state=state,
            round=0 if is_open else None,
            device_parts=(self.part.digest,),
            epoch=EPOCH if self.law is None else 0,
            retry=RETRY,
            answer_until=midnight if is_open and self.law is None else None,
            accept_until=None,
        )


def made_campaign(part: DevicePart, allowed: PureEpsilon, law: Rotating | None, **words: Any) -> TestCampaign:
    """The campaign of a device part whose manifest allows ε `allowed` an answer; `words` are fields of the manifest."""
    terms = RoundTerms(allowed, PlanReference(part.digest, Digest.of(b"a test has no analyst part")))
    times = 1 if law is None else law.answers_max
    fields: dict[str, Any] = {
        "domain": part.domain,
        "device_guarantee": PureEpsilon(allowed.nano * times),
        "rounds": (terms,),
        "assignment": law or EveryRound(),
    }
    return TestCampaign(Manifest(**fields, **words), part)


def usual_randomizer(domain: Domain, guarantee: PureEpsilon) -> AnyRandomizer:
    """Randomised response up to 4,096 cells; beyond, one bit of a random label of the cell.

    Raises WrongArgument for a domain of more than 2^64 cells.
    """
    if domain.size <= MOST_RESPONSE_CELLS:
        return RandomizedResponse.for_guarantee(domain.size, guarantee)
    if domain.size > MOST_CELLS:
        raise WrongArgument(
            f"a domain of 2^{math.log2(domain.size):.0f} cells needs a randomizer of its own: pass `randomizer`", domain
        )
    level = Level.of_first(1 << CHANCE_BITS, GridPartition((1,) * len(domain.shape)), LinearLabel(1), 1)
    return Coarsened.for_guarantee(domain.shape, [level], guarantee)


def lying_part(part: DevicePart) -> DevicePart:
    """A part that claims half of the ε that its integers prove."""
    if part.guarantee.nano < 2 * MIN_ROUND_NANO:
        raise WrongArgument('lies("epsilon") needs an epsilon of .002 or more', part.guarantee)
    return DevicePart(part.domain, PureEpsilon(part.guarantee.nano // 2), part.randomizer)


def even_arms(names: Sequence[str]) -> tuple[Arm, ...]:
    """Arms of these names, each with the same weight, the first with what is left."""
    if not names:
        return ()
    share, rest = divmod(WHOLE_ARM_WEIGHT, len(names))
    return tuple(Arm(name, share + (rest if place == 0 else 0)) for place, name in enumerate(names))
