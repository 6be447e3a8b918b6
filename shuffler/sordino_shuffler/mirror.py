"""One campaign's documents: fetched from the collector, checked, proved once, and then the same for every device."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from sordino_shared.protocol import DevicePart, Manifest, ManifestSignatures, Task
from sordino_shared.protocol.log_days import MAX_DAYS_BYTES
from sordino_shared.protocol.log_proofs import MAX_PROOF_BYTES
from sordino_shuffler.collector import CollectorLink
from sordino_shuffler.documents import (
    CheckedCampaign,
    LogTexts,
    check_claims,
    part_digest,
    read_log,
    read_manifest,
    read_part,
    read_signatures,
    read_task,
    route_of,
)
from sordino_shuffler.errors import CollectorTrouble, DocumentRefused, PlanContradicted
from sordino_shuffler.mixing import give_up
from sordino_shuffler.settings import ShuffledEntry
from sordino_shuffler.statements import SigningKey
from sordino_shuffler.store import State, Store
from sordino_shuffler.writer import Writer

_LOG = logging.getLogger("sordino_shuffler")

# (manifest, device part) → why a claim is not true, or None.
Prove = Callable[[bytes, bytes], Awaitable[str | None]]


async def prove_apart(manifest: bytes, part: bytes) -> str | None:
    """`check_claims` in a process of its own, so that uploads do not wait for it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, check_claims, manifest, part)


class CampaignMirror:
    """What is served of one campaign; nothing of it before the manifest's claims are proved."""

    def __init__(
        self,
        entry: ShuffledEntry,
        link: CollectorLink,
        key: SigningKey,
        writer: Writer,
        prove: Prove,
    ) -> None:
        self.entry = entry
        self.link = link
        self.documents: CheckedCampaign | None = None
        self.task: Task | None = None
        self.signatures: bytes | None = None
        # Of the collector's public log; None where it keeps none, or gave none yet.
        self.log: LogTexts | None = None
        self.keeps_log = True
        # What is wrong, by what it is about.
        self.troubles: dict[str, str] = {}
        self._refused: str | None = None
        self._key = key
        self._writer = writer
        self._prove = prove

    async def refresh(self) -> None:
        """Read what changed at the collector; what is wrong is kept as `trouble`, and the last good task served on."""
        try:
            documents = self.documents or await self._load()
            await self._read_task(documents.manifest)
            await self._read_signatures(documents.manifest)
        except (CollectorTrouble, DocumentRefused) as error:
            await self.note_trouble("documents", str(error))
        else:
            await self.note_trouble("documents", None)
            await self._refresh_log(documents.manifest)

    async def _refresh_log(self, manifest: Manifest) -> None:
        """Read proof and days where they changed; without them the last ones are served on."""
        try:
            await self._read_log(manifest)
        except (CollectorTrouble, DocumentRefused) as error:
            await self.note_trouble("log", str(error))
        else:
            await self.note_trouble("log", None)

    async def _read_log(self, manifest: Manifest) -> None:
        proof = await self._text(f"/v1/campaigns/{self.entry.campaign}/log-proof", MAX_PROOF_BYTES)
        self.keeps_log = proof is not None
        if proof is None or (self.log is not None and proof == self.log.proof):
            return
        days = await self._text("/v1/log/days", MAX_DAYS_BYTES)
        # Where the log grew between the two, the next refresh has them of one moment.
        found = None if days is None else read_log(proof, days, manifest)
        if found is not None:
            campaign = bytes(self.entry.campaign)
            await self._writer.run(lambda store: store.keep_log(campaign, found.proof, found.days))
            self.log = found

    async def _text(self, path: str, limit: int) -> bytes | None:
        return await asyncio.to_thread(self.link.document, path, limit, "text/plain")

    async def note_trouble(self, about: str, sentence: str | None) -> None:
        """Keep what is wrong, and log it when it changes."""
        if sentence == self.troubles.get(about):
            return
        if sentence is None:
            del self.troubles[about]
        else:
            _LOG.warning("campaign %s: %s", self.entry.campaign, sentence)
            self.troubles[about] = sentence
        campaign = bytes(self.entry.campaign)
        await self._writer.run(lambda store: store.note_trouble(campaign, about, sentence))

    async def _load(self) -> CheckedCampaign:
        """Manifest, plan and the last task: from the store, else from the collector with all claims proved."""
        campaign = self.entry.campaign
        kept = await self._writer.run(lambda store: store.documents(bytes(campaign)))
        if kept is None:
            documents = await self._fetch()
        else:
            manifest = read_manifest(kept[0], campaign, self._key.public)
            documents = CheckedCampaign(manifest, read_part(kept[1], manifest))
        served = await self._writer.run(lambda store: store.task(bytes(campaign)))
        self.task = None if served is None else Task.read(served[1])
        texts = await self._writer.run(lambda store: store.log_texts(bytes(campaign)))
        self.log = None if texts is None else read_log(*texts, documents.manifest)
        self.documents = documents
        return documents

    async def _fetch(self) -> CheckedCampaign:
        campaign = self.entry.campaign
        if self._refused is not None:
            # The id names the manifest: the same claims would be proved false again.
            raise DocumentRefused(self._refused)
        content = await self._document(f"/v1/campaigns/{campaign}", Manifest.limit)
        manifest = read_manifest(content, campaign, self._key.public)
        part = read_part(await self._document(f"/v1/plans/{part_digest(manifest)}", DevicePart.limit), manifest)
        _LOG.info("campaign %s: proving %d claims", campaign, len(route_of(manifest).claims))
        fault = await self._prove(manifest.content, part.content)
        if fault is not None:
            self._refused = fault
            raise DocumentRefused(fault)
        _LOG.info("campaign %s: all claims are proved; it is served from now on", campaign)
        await self._writer.run(
            lambda store: store.keep_documents(bytes(campaign), manifest.population, manifest.content, part.content)
        )
        return CheckedCampaign(manifest, part)

    async def _document(self, path: str, limit: int) -> bytes:
        content = await asyncio.to_thread(self.link.document, path, limit)
        if content is None:
            raise CollectorTrouble(f"the collector has no document at {path}: check id and address of the campaign")
        return content

    async def _read_task(self, manifest: Manifest) -> None:
        campaign = bytes(self.entry.campaign)
        content = await self._document(f"/v1/campaigns/{self.entry.campaign}/task", Task.limit)
        if self.task is not None and content == self.task.content:
            return
        last = None if self.task is None else (self.task.number, self.task.content)
        try:
            task = read_task(content, manifest, last)
        except PlanContradicted as error:
            given_up = await self._writer.run(lambda store: give_up_all(store, campaign, self._key))
            if not given_up:
                raise
            raise PlanContradicted(f"{error}: {given_up} of its rounds were given up unopened") from error
        await self._writer.run(lambda store: self._pin(store, manifest, task))
        self.task = task

    def _pin(self, store: Store, manifest: Manifest, task: Task) -> None:
        """Write plan and end of the round down before the first task that names it is served."""
        campaign, end = bytes(manifest.campaign), route_of(manifest).end
        with store.transaction():
            if task.round is not None and end is not None:
                store.pin(campaign, task.round, bytes(part_digest(manifest)), end)
            store.note_task(campaign, task.number, task.content)

    async def _read_signatures(self, manifest: Manifest) -> None:
        path = f"/v1/campaigns/{self.entry.campaign}/signature"
        content = await asyncio.to_thread(self.link.document, path, ManifestSignatures.limit)
        self.signatures = None if content is None else read_signatures(content, manifest)


def give_up_all(store: Store, campaign: bytes, key: SigningKey) -> int:
    """Give up every round of a campaign that is not released; returns how many."""
    open_rounds = [row for row in store.rounds() if row.campaign == campaign and row.state is State.COLLECTING]
    for row in open_rounds:
        give_up(store, row, "missed", key.sign)
    return len(open_rounds)
