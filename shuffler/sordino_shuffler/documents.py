"""Checks of what a collector publishes, before any of it is served to a device."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_shared.audit import check_guarantee
from sordino_shared.ed25519 import verify
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import (
    CampaignId,
    DevicePart,
    Digest,
    Manifest,
    ManifestSignatures,
    Rotating,
    ShuffledRoute,
    Task,
    check_built,
)
from sordino_shared.protocol.log_days import LogDays
from sordino_shared.protocol.log_entries import entry_fault
from sordino_shared.protocol.log_proofs import LogProof
from sordino_shared.protocol.sealed import sealed_width
from sordino_shared.quantities import quantity
from sordino_shared.shuffling.claims import unproved
from sordino_shuffler.errors import DocumentRefused, PlanContradicted


def read_manifest(content: bytes, campaign: CampaignId, key: bytes | None) -> Manifest:
    """The manifest that `campaign` names, of a route through the shuffler that has this `key`, or through any."""
    try:
        manifest = Manifest.read(content, campaign)
        check_built(manifest)
    except SordinoError as error:
        raise DocumentRefused(f"the manifest is refused: {error}") from error
    route = manifest.route
    if not isinstance(route, ShuffledRoute):
        raise DocumentRefused("the manifest has no shuffler: its devices report to the collector themselves")
    if key is not None and route.shuffler.key != key:
        raise DocumentRefused(
            f"the manifest names a shuffler with the key {route.shuffler.key.hex()}, and this one has {key.hex()}: "
            "the collector must name this key, or this program must be given the other one"
        )
    return manifest


@dataclass(frozen=True)
class CheckedCampaign:
    """A manifest through this shuffler, and the device part of all its rounds."""

    manifest: Manifest
    part: DevicePart

    @property
    def route(self) -> ShuffledRoute:
        """The route through this shuffler."""
        return route_of(self.manifest)

    @property
    def plan(self) -> Digest:
        """The digest of the device part."""
        return part_digest(self.manifest)

    @property
    def series(self) -> Rotating | None:
        """The law of a series; None for a campaign of one round."""
        law = self.manifest.assignment
        return law if isinstance(law, Rotating) else None

    @property
    def width(self) -> int:
        """Bytes of one sealed report."""
        payload = self.part.randomizer.payload_bytes + self.manifest.token_bytes
        return sealed_width(payload, len(self.manifest.arms))


def route_of(manifest: Manifest) -> ShuffledRoute:
    """The route of a manifest that was read here."""
    assert isinstance(manifest.route, ShuffledRoute)
    return manifest.route


def blanket_of(manifest: Manifest) -> str:
    """The random reports of a round in words."""
    found = quantity(route_of(manifest).blanket, "random report")
    return f"{found} for each of {len(manifest.arms)} arms" if manifest.arms else found


def part_digest(manifest: Manifest) -> Digest:
    """The digest of the device part of every round."""
    plan = manifest.rounds[0].plan
    assert plan is not None
    return plan.device


def read_part(content: bytes, manifest: Manifest) -> DevicePart:
    """The device part that the manifest names, with ε₀ proved in integers."""
    try:
        part = DevicePart.read(content, part_digest(manifest))
        part.domain.places_in(manifest.domain)
        proved = check_guarantee(part)
    except SordinoError as error:
        raise DocumentRefused(f"the plan is refused: {error}") from error
    if proved.nano > manifest.rounds[0].guarantee.nano:
        raise DocumentRefused(f"the plan proves {proved}, the manifest promises {manifest.rounds[0].guarantee}")
    return part


def check_claims(manifest_content: bytes, part_content: bytes) -> str | None:
    """Why a claim of (ε, δ) is not true, None where all are; up to half a minute each, for a process of its own."""
    manifest = Manifest.read(manifest_content)
    route = route_of(manifest)
    try:
        claim = unproved(DevicePart.read(part_content).randomizer, route.blanket, route.claims)
    except SordinoError as error:
        return f"the claims of the manifest cannot be proved: {error}"
    if claim is None:
        return None
    return (
        f"the manifest claims δ = {claim.atto_delta / 1e18:.6g} at ε = {claim.nano_epsilon / 1e9:g}, and a blanket of "
        f"{blanket_of(manifest)} proves less: the collector must plan the campaign again"
    )


def read_task(content: bytes, manifest: Manifest, last: tuple[int, bytes] | None) -> Task:
    """The collector's task, if it may follow the `last` one that was served, (number, content).

    Raises:
        PlanContradicted: the collector signed another plan or end than the manifest's.
        DocumentRefused: anything else is wrong with it.
    """
    try:
        task = Task.read(content)
    except SordinoError as error:
        raise DocumentRefused(f"the task is refused: {error}") from error
    if task.campaign != manifest.campaign:
        raise DocumentRefused(f"the task is one of campaign {task.campaign}")
    if task.signature is None or not verify(route_of(manifest).task_key, task.signature, task.signed_message):
        raise DocumentRefused("the task is not signed by the key that the manifest names")
    _check_follows(task, content, last)
    _check_agrees(task, manifest)
    return task


def _check_follows(task: Task, content: bytes, last: tuple[int, bytes] | None) -> None:
    if last is None:
        return
    number, before = last
    if task.number < number:
        raise DocumentRefused(f"the task has number {task.number}, and number {number} was served before")
    if task.number == number and content != before:
        raise DocumentRefused(f"two tasks have number {number}: the collector tells devices apart")


def _check_agrees(task: Task, manifest: Manifest) -> None:
    if task.device_parts != (part_digest(manifest),):
        raise PlanContradicted("the collector signed a task with another plan than the manifest's")
    series = isinstance(manifest.assignment, Rotating)
    if task.round is not None and not series and task.accept_until != route_of(manifest).end:
        raise PlanContradicted(
            f"the collector signed a task that ends at {task.accept_until}, and the manifest ends at "
            f"{route_of(manifest).end}"
        )


@dataclass(frozen=True)
class LogTexts:
    """The proof that a manifest is in the collector's public log, and the list of days to the same checkpoint."""

    proof: bytes
    days: bytes
    origin: str


def read_log(proof: bytes, days: bytes, manifest: Manifest) -> LogTexts | None:
    """Both texts as they are served; devices check who signed them. None where they are of two moments."""
    try:
        found, listed = LogProof.read(proof), LogDays.read(days)
    except SordinoError as error:
        raise DocumentRefused(f"the proof of the public log is refused: {error}") from error
    if (fault := entry_fault(found.entry, manifest)) is not None:
        raise DocumentRefused(f"the proof of the public log is refused: {fault}")
    if listed.newest.text != found.checkpoint.text:
        return None
    return LogTexts(proof, days, found.checkpoint.origin)


def read_signatures(content: bytes, manifest: Manifest) -> bytes:
    """Signatures of the manifest as they are served; devices check them."""
    try:
        found = ManifestSignatures.read(content)
    except SordinoError as error:
        raise DocumentRefused(f"the signatures are refused: {error}") from error
    if found.campaign != manifest.campaign:
        raise DocumentRefused(f"the signatures are those of campaign {found.campaign}")
    return content
