"""Manifest (a campaign's permanent terms) and task (its open round)."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar

from sordino_shared._checks import check_name, check_range
from sordino_shared._records import dataclass
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, check_round_guarantee
from sordino_shared.protocol.documents import Document
from sordino_shared.protocol.experiments import Arm, check_arms
from sordino_shared.protocol.ids import CampaignId, Digest
from sordino_shared.protocol.owner_texts import OwnerText, check_purpose, check_texts
from sordino_shared.protocol.plans import PlanReference
from sordino_shared.protocol.routes import DIRECT, SIGNATURE_BYTES, DirectRoute, Route, ShuffledRoute, Shuffler
from sordino_shared.protocol.series import MAX_TIME, Rotating
from sordino_shared.protocol.servers import CampaignServer, check_servers
from sordino_shared.protocol.states import CampaignState
from sordino_shared.protocol.tokens import TOKEN_BYTES, Gate, Issuer

MAX_ROUNDS = 16
MAX_TASK_NUMBER = 2**40
WHOLE_WEIGHT = 1 << 32
_TASK_CONTEXT = b"sordino task v1\0"


@dataclass(frozen=True)
class RoundTerms:
    """What a device may spend in one round; `plan` is null for a later round, whose plan is sealed when it opens."""

    guarantee: PureEpsilon
    plan: PlanReference | None

    def __post_init__(self) -> None:
        check_round_guarantee(self.guarantee)


@dataclass(frozen=True)
class EveryRound:
    """Every device answers every round."""

    kind: ClassVar[str] = "every_round"


@dataclass(frozen=True)
class DrawOneRound:
    """Each device draws one of the rounds once, by itself: round i with probability weights[i]/2^32."""

    kind: ClassVar[str] = "one_round"
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(len(self.weights), 2, MAX_ROUNDS, "number of rounds that a device draws from")
        for index, weight in enumerate(self.weights):
            check_range(weight, 1, WHOLE_WEIGHT - 1, f"weight of round {index}")
        if sum(self.weights) != WHOLE_WEIGHT:
            raise InvalidValue(f"the weights of the rounds sum to 2^32, not {sum(self.weights)}", self.weights)

    def drawn(self, word: int) -> int:
        """The round of a device that drew this word, uniform from 0 to 2^32 − 1."""
        return bisect_right(list(accumulate(self.weights)), word)


RoundAssignment = EveryRound | DrawOneRound | Rotating


@dataclass(frozen=True, kw_only=True)
class Manifest(Document):
    """The immutable promise to a device's owner; its digest is the campaign's id.

    `purpose` is shown to the owner; `created_at`, in Unix seconds, distinguishes campaigns that are otherwise equal.
    `protocol` is the digest of the plan by which the server makes one answer of the rounds, null where round 0 is
    all: it pins the analysis before the first report, and a device has no use for it. `servers` is empty where any
    server may take the reports; otherwise a device keeps to the one that it joined, and the first one is the home,
    which decides when rounds end. `route` says which way reports come, `arms` what an experiment compares, and `texts`
    has the purpose in stated languages.
    """

    document: ClassVar[str] = "manifest"
    limit: ClassVar[int] = 8 << 20

    name: str
    purpose: str
    population: str
    created_at: int
    domain: Domain
    device_guarantee: PureEpsilon
    rounds: tuple[RoundTerms, ...]
    assignment: RoundAssignment
    protocol: Digest | None = None
    servers: tuple[CampaignServer, ...] = ()
    route: Route = DIRECT
    arms: tuple[Arm, ...] = ()
    texts: tuple[OwnerText, ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name, "campaign name")
        check_name(self.population, "population")
        check_purpose(self.purpose)
        self.domain.check_salted()
        check_range(self.created_at, 0, MAX_TIME, "created_at")
        check_range(len(self.rounds), 1, MAX_ROUNDS, "number of rounds")
        if self.rounds[0].plan is None:
            raise InvalidValue("the plan of the first round must be known", self.rounds)
        self._check_spending()
        check_servers(self.servers)
        if self.servers and isinstance(self.assignment, Rotating):
            raise InvalidValue("a series has one server: leave `servers` empty", self.servers)
        check_texts(self.texts)
        self._check_arms()
        self._check_route()

    def _check_arms(self) -> None:
        check_arms(self.arms)
        if self.arms and (len(self.rounds) > 1 or isinstance(self.assignment, Rotating)):
            raise InvalidValue("arms are compared in one round, and not in a series: leave `arms` empty", self.arms)
        taken = {arm.name for arm in self.arms} & {attribute.name for attribute in self.domain.attributes}
        if taken:
            raise InvalidValue(f"an arm and an attribute are both called {sorted(taken)[0]!r}: rename one", self.arms)

    def _check_route(self) -> None:
        self._check_issuer()
        if not isinstance(self.route, ShuffledRoute):
            return
        rotating = isinstance(self.assignment, Rotating)
        if not rotating and (len(self.rounds) > 1 or not isinstance(self.assignment, EveryRound)):
            raise InvalidValue("a shuffled campaign has one round that every device answers, or is a series", self)
        if self.servers or self.protocol is not None:
            raise InvalidValue("a shuffled campaign has no `servers` and no `protocol`", self.servers)
        if (self.route.end is None) is not rotating:
            raise InvalidValue("`end` of the route is null for a series, and for nothing else", self.route.end)

    def _check_issuer(self) -> None:
        if self.issuer is None:
            return
        if self.servers or isinstance(self.assignment, Rotating):
            raise InvalidValue("a campaign with tokens has one server and is no series", self.route)
        if len(self.issuer.keys) != len(self.rounds):
            raise InvalidValue(
                f"the issuer has one key for each of the {len(self.rounds)} rounds, not {len(self.issuer.keys)}", self
            )

    def _check_spending(self) -> None:
        spent = [terms.guarantee.nano for terms in self.rounds]
        needed = sum(spent)
        if isinstance(self.assignment, DrawOneRound):
            weights = len(self.assignment.weights)
            if weights != len(spent):
                raise InvalidValue(f"devices draw one of {weights} rounds, and there are {len(spent)}", len(spent))
            needed = max(spent)
        if isinstance(self.assignment, Rotating):
            if len(spent) != 1:
                raise InvalidValue("a series has the terms of one round, which all of its periods share", len(spent))
            needed = spent[0] * self.assignment.answers_max
        if needed > self.device_guarantee.nano:
            raise InvalidValue(
                f"the rounds may spend {needed} nano-ε a device, above the stated {self.device_guarantee.nano}", needed
            )

    @property
    def campaign(self) -> CampaignId:
        """The campaign's id."""
        return CampaignId(self.digest)

    @property
    def receivers(self) -> tuple[CampaignServer | Shuffler, ...]:
        """Where devices may join and report: the shuffler alone, or `servers`; empty where any server will do."""
        return (self.route.shuffler,) if isinstance(self.route, ShuffledRoute) else self.servers

    @property
    def issuer(self) -> Issuer | None:
        """Who gives the tokens of reports; None where reports have none."""
        return None if isinstance(self.route, DirectRoute) else self.route.issuer

    @property
    def gate(self) -> Gate | None:
        """Through what a device gets the token of its report; None where reports have none."""
        return None if self.issuer is None else self.issuer.gate

    @property
    def token_bytes(self) -> int:
        """Bytes of the token behind each payload; 0 where reports have none."""
        return 0 if self.issuer is None else TOKEN_BYTES

    @property
    def blanket_of_arm(self) -> int:
        """Random reports that a shuffler adds to a round for each arm, or in all without arms; 0 without a shuffler."""
        return self.route.blanket if isinstance(self.route, ShuffledRoute) else 0

    @property
    def blanket(self) -> int:
        """Random reports of a round, of all arms together."""
        return self.blanket_of_arm * max(1, len(self.arms))

    def receiver_at(self, url: str) -> CampaignServer | Shuffler | None:
        """The receiver that has this address; None where the manifest names no such."""
        return next((receiver for receiver in self.receivers if url in receiver.urls), None)


@dataclass(frozen=True)
class RetryWindow:
    """Seconds a device waits before it tries again: uniform between the two."""

    min_s: int
    max_s: int

    def __post_init__(self) -> None:
        check_range(self.min_s, 0, 7 * 86400, "retry window min_s")
        check_range(self.max_s, self.min_s, 7 * 86400, "retry window max_s")


@dataclass(frozen=True, kw_only=True)
class Task(Document):
    """What is open now, the same bytes for everybody: `round` is null unless one takes reports.

    `device_parts` holds the digests of the device parts known so far, by round. Both times are Unix seconds, and null
    while no round takes reports: a device without a connection answers the round before `answer_until` (null: it does
    not), and no report of the round counts from `accept_until` on (null: not known yet).

    In a shuffled campaign the collector signs the task, and `number` grows with every change; else they are null and 0.
    """

    document: ClassVar[str] = "task"
    limit: ClassVar[int] = 64 << 10
    max_items: ClassVar[int] = 256

    campaign: CampaignId
    state: CampaignState
    round: int | None
    device_parts: tuple[Digest, ...]
    epoch: int
    retry: RetryWindow
    answer_until: int | None
    accept_until: int | None
    number: int = 0
    signature: bytes | None = None

    def __post_init__(self) -> None:
        check_range(self.number, 0, MAX_TASK_NUMBER, "number")
        self._check_signature()
        check_range(len(self.device_parts), 1, MAX_ROUNDS, "number of device parts")
        if self.round is not None:
            check_range(self.round, 0, len(self.device_parts) - 1, "round")
            if self.state is not CampaignState.OPEN:
                raise InvalidValue(f"a campaign that is {self.state.value} has no round that takes reports", self.round)
        check_range(self.epoch, 0, 2**16 - 1, "epoch")
        self._check_times()

    @property
    def signed_message(self) -> bytes:
        """`sordino task v1` ‖ 0 ‖ SHA-256 of the task's bytes with a null signature: 48 bytes."""
        return _TASK_CONTEXT + Digest.of(self.content_with(signature=None))

    def _check_signature(self) -> None:
        if self.signature is not None and len(self.signature) != SIGNATURE_BYTES:
            raise InvalidValue(f"a signature has {SIGNATURE_BYTES} bytes, got {len(self.signature)}", self.signature)
        if (self.signature is None) is not (self.number == 0):
            raise InvalidValue("a task has a number from 1 on where it is signed, else 0", self.number)

    def _check_times(self) -> None:
        accept, answer = self.accept_until, self.answer_until
        for name, time in (("answer_until", answer), ("accept_until", accept)):
            if time is not None:
                check_range(time, 0, MAX_TIME, name)
        if self.round is None and (accept, answer) != (None, None):
            raise InvalidValue("answer_until and accept_until belong to a round that takes reports", (answer, accept))
        if answer is not None and accept is not None and answer > accept:
            raise InvalidValue(f"answer_until ({answer}) is after accept_until ({accept})", (answer, accept))
