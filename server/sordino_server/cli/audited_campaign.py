"""What `sordino audit` reads of a campaign: its manifest, the plan of every round so far, and its protocol plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.planning.audit import Check, audit_device, audit_plan
from sordino_server.cli.remote import Remote
from sordino_server.kit.outgoing import server_at
from sordino_shared.domains import Domain
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import exact_decimal
from sordino_shared.http.exchange import HttpRequest
from sordino_shared.protocol import (
    CBOR_MEDIA_TYPE,
    CampaignId,
    DevicePart,
    Digest,
    DrawOneRound,
    Manifest,
    PlanReference,
    Rotating,
    Task,
)

# Of a whole document; the largest takes 30 Mbit/s.
_WITHIN_S = 300.0


def fetched(server: str, path: str, limit: int, digest: Digest | None = None) -> bytes | None:
    """The bytes that the server has at `path`, at most `limit`, as a device gets them; None where it has nothing.

    Raises InvalidValue, NoAnswer, OversizedDocument, and DigestMismatch before bytes of another digest are in memory.
    """
    known = server_at(server)
    answer = known.exchange(
        HttpRequest(method="GET", path=path, limit=limit, within_s=_WITHIN_S, headers={"Accept": CBOR_MEDIA_TYPE})
    )
    with answer.body:
        if answer.status == 404:
            return None
        if answer.status != 200:
            where = known.address.url(path)
            raise InvalidValue(f"{where} returns {answer.status}; is it a sordino server?", path)
        if digest is not None:
            digest.check_file(answer.body)
        return answer.body.read()


@dataclass(frozen=True)
class AuditedRound:
    """The plan of a round; `analyst` is None where no key shows which analyst part a later round has."""

    device: DevicePart
    analyst: AnalystPart | None

    def checks(self) -> Iterator[Check]:
        """ε from the integers; with the analyst part figures and certificate too."""
        yield from audit_device(self.device) if self.analyst is None else audit_plan(self.device, self.analyst)


@dataclass(frozen=True)
class AuditedCampaign:
    """A manifest and its rounds so far, each document checked against the digest that names it."""

    manifest: Manifest
    rounds: tuple[AuditedRound, ...]

    @classmethod
    def read(cls, server: str, key: str | None, content: bytes, campaign: CampaignId) -> AuditedCampaign:
        """The campaign of a manifest's bytes; raises DigestMismatch, and InvalidValue for what the server lacks."""
        manifest = Manifest.read(content, campaign)
        task = Task.read(_required(server, f"/v1/campaigns/{campaign}/task", Task.limit))
        if task.campaign != campaign:
            raise InvalidValue(f"the task of campaign {campaign} is that of {task.campaign}", task)
        analysts = _analyst_digests(server, key, manifest)
        return cls(
            manifest,
            tuple(
                AuditedRound(_device_part(server, digest), _analyst_part(server, analysts.get(index)))
                for index, digest in enumerate(task.device_parts)
            ),
        )

    def checks(self) -> Iterator[Check]:
        """The manifest against the plans; every check of the plans of later rounds, of which the name says so."""
        allowed, spent = self.manifest.device_guarantee, self._most_nano()
        yield Check("ε of one device", spent <= allowed.nano, exact_decimal(allowed.nano), exact_decimal(spent))
        for index, each in enumerate(self.rounds):
            name, terms, own = f"round {index}", self.manifest.rounds[index], each.device.guarantee
            within = own.nano <= terms.guarantee.nano
            yield Check(f"{name}: ε", within, exact_decimal(terms.guarantee.nano), exact_decimal(own.nano))
            yield _same(f"{name}: domain", _keeps(self.manifest.domain, each.device.domain), each.device.digest)
            if terms.plan is not None:
                yield _same(f"{name}: plan", self._is_pinned(terms.plan, each), each.device.digest)
            if index:
                yield from (replace(check, name=f"{name}: {check.name}") for check in each.checks())

    def _most_nano(self) -> int:
        """The most that one device spends on the rounds that the manifest promises."""
        law, each = self.manifest.assignment, [terms.guarantee.nano for terms in self.manifest.rounds]
        if isinstance(law, Rotating):
            return law.answers_max * each[0]
        return max(each) if isinstance(law, DrawOneRound) else sum(each)

    @staticmethod
    def _is_pinned(pinned: PlanReference, audited: AuditedRound) -> bool:
        return audited.analyst is not None and pinned == PlanReference(audited.device.digest, audited.analyst.digest)


def _keeps(whole: Domain, domain: Domain) -> bool:
    """Whether a round asks about attributes of the manifest alone."""
    try:
        domain.places_in(whole)
    except InvalidValue:
        return False
    return True


def _same(name: str, holds: bool, plan: Digest) -> Check:
    return Check(name, holds, "as in the manifest", "as in the manifest" if holds else f"another one in plan {plan}")


def _analyst_digests(server: str, key: str | None, manifest: Manifest) -> dict[int, Digest]:
    """By round: the manifest names those that were planned before; operators see the others."""
    pinned = {index: terms.plan.analyst for index, terms in enumerate(manifest.rounds) if terms.plan is not None}
    if key is None:
        return pinned
    with Remote(server, key) as remote:
        status = remote.get(f"/v1/campaigns/{manifest.campaign}/status")
    return {each["index"]: Digest.parse(each["analyst_digest"]) for each in status["rounds"]} | pinned


def _device_part(server: str, digest: Digest) -> DevicePart:
    return DevicePart.read(_required(server, f"/v1/plans/{digest}", DevicePart.limit, digest), digest)


def _analyst_part(server: str, digest: Digest | None) -> AnalystPart | None:
    if digest is None:
        return None
    return AnalystPart.read(_required(server, f"/v1/plans/{digest}", AnalystPart.limit, digest), digest)


def _required(server: str, path: str, limit: int, digest: Digest | None = None) -> bytes:
    content = fetched(server, path, limit, digest)
    if content is None:
        raise InvalidValue(f"{server} has nothing at {path}", path)
    return content
