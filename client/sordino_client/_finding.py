"""Find campaigns in a population's public list, and join those that the app accepts by their manifests alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from urllib.parse import quote

from sordino_client._clock import Clock
from sordino_client._config import Config
from sordino_client._errors import PlanRefused, PlanUnavailable, WrongArgument
from sordino_client._fetching import fetch
from sordino_client._flow import Flow
from sordino_client._found_rows import FoundRows
from sordino_client._public_log import PublicLog
from sordino_client._session import check_joinable, pin_manifest
from sordino_client._signatures import check_signed
from sordino_shared._records import dataclass, replace
from sordino_shared.domains import Domain, Hashed
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import CampaignId, EveryRound, Manifest, ManifestSignatures, OpenCampaigns
from sordino_shared.randomness import Randomness

_LOG = logging.getLogger("sordino_client")

Accept = Callable[[Manifest], bool]


@dataclass(frozen=True, kw_only=True)
class FoundCampaigns:
    """What became of the campaigns of a list. Empty, with `looked` False, before the list is due in `next_in_s`.

    `declined` by the app; `repeated`: another open campaign asks the same; `postponed`: the period has had its joins;
    `refused`: the manifest names servers and not this one, has what this version of the SDK cannot answer yet, or the
    app pins keys and none of them signed it, or it pins a public log that gives no proof of it.
    """

    looked: bool
    next_in_s: float
    joined: tuple[CampaignId, ...] = ()
    declined: tuple[CampaignId, ...] = ()
    repeated: tuple[CampaignId, ...] = ()
    postponed: tuple[CampaignId, ...] = ()
    refused: tuple[CampaignId, ...] = ()


class Finding:
    """The flow of a look at a list."""

    def __init__(self, rows: FoundRows, log: PublicLog, config: Config, randomness: Randomness, clock: Clock) -> None:
        self._rows = rows
        self._log = log
        self._config = config
        self._randomness = randomness
        self._clock = clock

    def find(self, population: str, accept: Accept, allow_repeats: bool) -> Flow[FoundCampaigns]:
        """Look at the list where it is due; every listed manifest is fetched before `accept` sees the first."""
        path = _list_path(population)
        if not callable(accept):
            raise WrongArgument(f"accept is a function of a manifest, got {type(accept).__name__}", accept)
        wait = self._rows.seconds_until_look(population, self._randomness)
        if wait > 0:
            return FoundCampaigns(looked=False, next_in_s=wait)
        listed, next_in_s = yield from self._list(population, path)
        manifests = yield from self._manifests(listed)
        served = [each for each in manifests if self._rows.serves(each) and _is_joinable(each)]
        refused = tuple(each.campaign for each in manifests if each not in served)
        refused += yield from self._unsigned(served)
        refused += yield from self._unlogged([each for each in served if each.campaign not in refused])
        known = self._rows.known(listed.campaigns)
        left_out = {each.campaign for each in known} | set(refused)
        candidates = [each for each in manifests if each.campaign not in left_out]
        accepted = [each for each in candidates if _verdict(accept, each)]
        joined, repeated, postponed = self._join(accepted, known, allow_repeats)
        kept = {each.campaign for each in accepted}
        return FoundCampaigns(
            looked=True,
            next_in_s=next_in_s,
            joined=joined,
            declined=tuple(each.campaign for each in candidates if each.campaign not in kept),
            repeated=repeated,
            postponed=postponed,
            refused=refused,
        )

    def check_named(self, manifest: Manifest) -> Flow[None]:
        """Raise `PlanRefused` for a manifest that no pinned key signed; asks nothing where the app pins none."""
        if self._config.manifest_keys:
            check_signed(manifest, (yield from self._signatures(manifest)), self._config.manifest_keys)

    def _list(self, population: str, path: str) -> Flow[tuple[OpenCampaigns, float]]:
        try:
            content = yield from fetch("list", path, OpenCampaigns.limit, self._clock)
        except PlanUnavailable as error:
            # Without any answer nobody has seen the request: the next call may look.
            if error.status is not None:
                self._rows.looked(population, self._randomness)
            raise
        next_in_s = self._rows.looked(population, self._randomness)
        try:
            listed = OpenCampaigns.read(content)
        except SordinoError as error:
            raise PlanRefused("list", str(error)) from error
        if listed.population != population:
            raise PlanRefused("list", f"it is that of population {listed.population!r}")
        self._rows.keep(listed)
        return listed, next_in_s

    def _manifests(self, listed: OpenCampaigns) -> Flow[list[Manifest]]:
        """All of them, known or not: a device that left some out would show which it has."""
        found = []
        for campaign in listed.campaigns:
            content = yield from fetch("manifest", f"/v1/campaigns/{campaign}", Manifest.limit, self._clock)
            manifest = pin_manifest(content, campaign)
            if manifest.population != listed.population:
                raise PlanRefused("list", f"campaign {campaign} asks population {manifest.population!r}", campaign)
            if len(manifest.rounds) != 1 or not isinstance(manifest.assignment, EveryRound):
                raise PlanRefused("list", f"campaign {campaign} is not one of one round", campaign)
            found.append(manifest)
        return found

    def _unsigned(self, manifests: Iterable[Manifest]) -> Flow[tuple[CampaignId, ...]]:
        refused = []
        for manifest in manifests if self._config.manifest_keys else ():
            content = yield from self._signatures(manifest)
            try:
                check_signed(manifest, content, self._config.manifest_keys)
            except PlanRefused as error:
                _LOG.warning("Campaign %s of the list is not joined: %s.", manifest.campaign, error)
                refused.append(manifest.campaign)
        return tuple(refused)

    def _unlogged(self, manifests: Iterable[Manifest]) -> Flow[tuple[CampaignId, ...]]:
        refused = []
        for manifest in manifests:
            try:
                yield from self._log.check_manifest(manifest)
            except (PlanRefused, PlanUnavailable) as error:
                _LOG.warning("Campaign %s of the list is not joined: %s.", manifest.campaign, error)
                refused.append(manifest.campaign)
        return tuple(refused)

    def _signatures(self, manifest: Manifest) -> Flow[bytes | None]:
        path = f"/v1/campaigns/{manifest.campaign}/signature"
        try:
            return (yield from fetch("signature", path, ManifestSignatures.limit, self._clock))
        except PlanUnavailable as error:
            if error.status != 404:
                raise
            return None

    def _join(
        self, accepted: list[Manifest], known: list[Manifest], allow_repeats: bool
    ) -> tuple[tuple[CampaignId, ...], tuple[CampaignId, ...], tuple[CampaignId, ...]]:
        """Joined, repeated and postponed ones of those accepted, in the order of the list."""
        joined, repeated, postponed, taken = [], [], [], list(known)
        for manifest in accepted:
            if not allow_repeats and any(asks_the_same(manifest, other) for other in taken):
                repeated.append(manifest.campaign)
            elif self._rows.join(manifest, self._randomness):
                _LOG.info("Joined campaign %s from the list of its population.", manifest.campaign)
                joined.append(manifest.campaign)
                taken.append(manifest)
            else:
                postponed.append(manifest.campaign)
        return tuple(joined), tuple(repeated), tuple(postponed)


def _is_joinable(manifest: Manifest) -> bool:
    try:
        check_joinable(manifest)
    except PlanRefused as error:
        _LOG.warning("Campaign %s of the list is not joined: %s.", manifest.campaign, error)
        return False
    return True


def asks_the_same(one: Manifest, other: Manifest) -> bool:
    """Equal domains, salts of hashes aside, and the same plan or the same purpose in words."""
    if _without_salts(one.domain) != _without_salts(other.domain):
        return False
    return one.rounds[0].plan == other.rounds[0].plan or _words(one.purpose) == _words(other.purpose)


def _without_salts(domain: Domain) -> Domain:
    plain = (replace(each, salt=b"") if isinstance(each, Hashed) else each for each in domain.attributes)
    return Domain(tuple(plain))


def _words(purpose: str) -> str:
    return " ".join(purpose.casefold().split())


def _verdict(accept: Accept, manifest: Manifest) -> bool:
    verdict: object = accept(manifest)
    if not isinstance(verdict, bool):
        raise WrongArgument(f"accept returns True or False, got {verdict!r}", verdict)
    return verdict


def _list_path(population: str) -> str:
    if not isinstance(population, str) or "/" in population or population in ("", ".", ".."):
        raise WrongArgument(f"a population with a list has a name without '/', got {population!r}", population)
    try:
        return f"/v1/populations/{quote(population, safe='')}/open"
    except UnicodeEncodeError:
        raise WrongArgument(f"the name of a population has no form in UTF-8: {population!r}", population) from None
