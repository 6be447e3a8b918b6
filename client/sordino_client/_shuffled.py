"""A campaign whose reports go through a shuffler: what a device checks, seals, and tells its owner."""

from __future__ import annotations

from urllib.parse import urlsplit

from sordino_client._errors import PlanRefused
from sordino_shared._records import dataclass
from sordino_shared.ed25519 import verify
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exact_decimal
from sordino_shared.protocol import DevicePart, Digest, Manifest, SealedReports, ShuffledRoute, Task
from sordino_shared.protocol.routes import PrivacyClaim
from sordino_shared.protocol.sealed import sealed_plaintext, sealing_info
from sordino_shared.quantities import quantity
from sordino_shared.sealing import check_available, seal


@dataclass(frozen=True, kw_only=True)
class MixedGuarantee:
    """What the owner of a device is told of a shuffled campaign, about one answer; `str()` says it.

    Against the collector (ε, δ) hold, in 10⁻⁹ and 10⁻¹⁸, as long as `shuffler` mixes in `blanket` random answers, or
    as many for each of the `arms` of an experiment, and does not work with it, which nobody else can check. Both
    together learn at most `together`, which the device proves.
    """

    shuffler: str
    blanket: int
    arms: int
    epsilon_nano: int
    delta_atto: int
    together: PureEpsilon
    claims: tuple[PrivacyClaim, ...]

    def __str__(self) -> str:
        return (
            f"({_point(self.epsilon_nano, self.delta_atto)}) against the collector as long as {self.shuffler} mixes in "
            f"{self.random_answers} and does not work with it, which nobody else can check; "
            f"ε {exact_decimal(self.together.nano)} otherwise"
        )

    @property
    def random_answers(self) -> str:
        """How many random answers are mixed in, in words."""
        return quantity(self.blanket, "random answer") + (" of each version" if self.arms else "")

    def of_answers(self, count: int) -> str:
        """What so many answers of one device give the collector, at the sum of their δ.

        By the Rényi curve of the campaign's claims, where it proves less than the sum of their ε.
        """
        # Most devices have no shuffled campaign.
        from sordino_shared.shuffling.composition import composed_claim

        found = composed_claim(self.claims, PrivacyClaim(self.epsilon_nano, self.delta_atto), count)
        return f"({_point(found.nano_epsilon, found.atto_delta)})"


def mixed_guarantee(manifest: Manifest) -> MixedGuarantee | None:
    """What the owner is told; None for a campaign without a shuffler."""
    route = manifest.route
    if not isinstance(route, ShuffledRoute):
        return None
    headline = route.claims[route.headline]
    return MixedGuarantee(
        shuffler=urlsplit(route.shuffler.urls[0]).netloc,
        blanket=route.blanket,
        arms=len(manifest.arms),
        epsilon_nano=headline.nano_epsilon,
        delta_atto=headline.atto_delta,
        together=manifest.rounds[0].guarantee,
        claims=route.claims,
    )


def check_can_seal(manifest: Manifest) -> None:
    """Raise `PlanRefused` for a shuffled campaign where the library that seals reports is not installed."""
    if isinstance(manifest.route, ShuffledRoute):
        try:
            check_available()
        except InvalidValue as error:
            raise PlanRefused("manifest", str(error), manifest.campaign) from error


def check_signed_task(manifest: Manifest, task: Task) -> str | None:
    """Why a task is not one of its campaign's; None for one that is signed, and ends when the manifest says."""
    route = manifest.route
    if not isinstance(route, ShuffledRoute):
        return None if task.signature is None else "it is signed exactly where the campaign is shuffled"
    if task.signature is None or not verify(route.task_key, task.signature, task.signed_message):
        return "it is not signed by the key that the manifest names"
    if task.round is not None and task.accept_until != route.end:
        return f"it ends at {task.accept_until}, the manifest at {route.end}"
    return None


def check_headline(manifest: Manifest, part: DevicePart) -> None:
    """Raise `PlanRefused` where the (ε, δ) that the owner is told is not true, for laws in closed form.

    It takes some 30 ms. A table takes up to half a minute: there the shuffler proves it, and `audit` for anybody.
    """
    route = manifest.route
    if not isinstance(route, ShuffledRoute):
        return
    # Most devices have no shuffled campaign.
    from sordino_shared.shuffling.claims import unproved
    from sordino_shared.shuffling.laws import is_closed_form

    if not is_closed_form(part.randomizer):
        return
    try:
        claim = unproved(part.randomizer, route.blanket, [route.claims[route.headline]])
    except InvalidValue as error:
        raise PlanRefused("manifest", str(error), manifest.campaign) from error
    if claim is not None:
        reason = (
            f"it claims ({_point(claim.nano_epsilon, claim.atto_delta)}), and {route.blanket} random reports prove less"
        )
        raise PlanRefused("manifest", reason, manifest.campaign)


def sealed_report(manifest: Manifest, plan: Digest, number: int, payload: bytes, arm: int | None) -> SealedReports:
    """The payload of a report to round `number`, sealed for the collector: other bytes at every call.

    `arm` is the device's where the campaign has arms; it is sealed too, so that the shuffler does not see it.
    """
    route = manifest.route
    assert isinstance(route, ShuffledRoute)
    info = sealing_info(manifest.campaign, number, plan)
    return SealedReports(seal(route.key_of(number), info, sealed_plaintext(arm or 0, len(manifest.arms), payload)), 1)


def _point(nano_epsilon: int, atto_delta: int) -> str:
    """ε 1, δ 1e-06."""
    return f"ε {exact_decimal(nano_epsilon)}, δ {atto_delta / 1e18:.3g}"
