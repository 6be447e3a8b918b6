/** Joining a campaign: everything is fetched and checked first, then pinned in one transaction. */

import { fromHex, toHex } from "./bytes.ts";
import { load, withCode } from "./chunks.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Rotating } from "./documents/series.ts";
import type { Task } from "./documents/task.ts";
import type { Device } from "./device.ts";
import { OptedOut, PlanRefused, PlanUnavailable } from "./errors.ts";
import { fetchManifest, fetchPart, fetchTask, readManifest, verifyPart } from "./fetching.ts";
import type { Joined, LedgerState, SeriesState } from "./ledgers/ledger.ts";
import { drawBelow } from "./randomizers/random.ts";
import { ownRounds } from "./rules/answering.ts";
import { checkJoinable, pin } from "./rules/joining.ts";
import { keepPart } from "./rules/parts.ts";
import { checkPart, pinTask, readTask } from "./rules/tasks.ts";

interface Ahead {
  task?: Task;
  content?: Uint8Array;
  part?: { digest: Uint8Array; content: Uint8Array };
}

/** Pins a campaign that this ledger does not know. */
export async function join(device: Device, campaign: string): Promise<void> {
  const known = await device.transaction((state) => {
    if (state.leftAllAt !== null) throw new OptedOut();
    return campaign in state.campaigns;
  });
  if (known) return;
  const { transport, random } = device;
  const bytes = await fetchManifest(transport, campaign);
  const manifest = await withCode(() => readManifest(bytes, campaign));
  checkJoinable(manifest, transport.origin);
  if (manifest.route.kind === "shuffled") await (await load("shuffled")).checkCanSeal();
  await checkTrusted(device, manifest, campaign);
  const { assignment } = manifest;
  const series = assignment.kind === "rotating" ? { law: assignment, rules: await load("series") } : null;
  const old = series?.law.replaces ? await replaced(device, campaign, manifest, toHex(series.law.replaces)) : null;
  const ahead = await fetchAhead(device, campaign, manifest, series !== null);
  await device.transaction((state) => {
    // Another tab was first.
    if (state.leftAllAt === null && state.campaigns[campaign]) return;
    const phase = series && Number(drawBelow(random, BigInt(series.law.slots)));
    const drawn = series && series.rules.firstState(phase!, ahead.task!.retry);
    const first = old ? old.takeOver(state, drawn!) : drawn;
    const content = toHex(bytes);
    const joined = pin(state, campaign, { manifest, content, origin: transport.origin, series: first }, random);
    old?.close(state, joined);
    if (ahead.task) pinTask(joined, ahead.task, ahead.content!, device.clock());
    if (ahead.part) keepPart(state, ahead.part.digest, ahead.part.content);
  });
  await tokenAhead(device, campaign, ahead.task);
}

/** Gets the token of the open round now, so that it answers without the issuer. */
async function tokenAhead(device: Device, campaign: string, task: Task | undefined): Promise<void> {
  const session = await device.session(campaign);
  const { route } = session.manifest;
  const round = task?.round ?? null;
  if (round === null || route.kind === "direct" || !route.issuer) return;
  if (ownRounds(session.manifest, session.joined).includes(round)) await (await load("tokens")).tokenAhead(device, session, round);
}

/** The series whose place a new one takes: it must have been joined, and the new one be allowed to. */
async function replaced(device: Device, campaign: string, manifest: Manifest, id: string) {
  const { successorFault, takeOver } = await load("series");
  const joined = await device.transaction((state) => state.campaigns[id]);
  if (!joined) throw new PlanRefused("manifest", `it replaces campaign ${id}, which this device did not join`);
  const old = await device.manifestOf(id, joined);
  const fault = successorFault(old, fromHex(id), manifest);
  if (fault) throw new PlanRefused("manifest", fault);
  const [before, law] = [old.assignment as Rotating, manifest.assignment as Rotating];
  return {
    takeOver: (state: LedgerState, drawn: SeriesState) => takeOver(law, drawn, before, state.campaigns[id]!.series!),
    close(state: LedgerState, own: Joined): void {
      const was = state.campaigns[id]!;
      was.series = { ...was.series!, ended: true, replacedBy: campaign };
      // Who left the old one has left the new one.
      own.leftAt = was.leftAt;
    },
  };
}

/** Fetches and keeps what answers without a connection need, for a campaign that was joined from a list. */
export async function keepAhead(device: Device, id: string, manifest: Manifest): Promise<void> {
  const { task, content, part } = await fetchAhead(device, id, manifest, false);
  await device.transaction((state) => {
    if (task) pinTask(state.campaigns[id]!, task, content!, device.clock());
    if (part) keepPart(state, part.digest, part.content);
  });
  await tokenAhead(device, id, task);
}

/** Throws PlanRefused where the app pins keys and none of them signed, or a public log that does not have it. */
async function checkTrusted(device: Device, manifest: Manifest, campaign: string): Promise<void> {
  await checkPinned(device, manifest, campaign);
  await device.log?.checkManifest(manifest, campaign);
}

/** Throws PlanRefused where the app pins keys, and none of them signed. */
export async function checkPinned(device: Device, manifest: Manifest, campaign: string): Promise<void> {
  const { manifestKeys = [] } = device.options;
  if (manifestKeys.length) {
    const { fetchSignatures, checkSigned } = await load("trust");
    checkSigned(manifest, campaign, await fetchSignatures(device.transport, campaign), manifestKeys);
  }
}

/** Task and part before joining, the same for every device; only a series cannot do without. */
async function fetchAhead(device: Device, id: string, manifest: Manifest, isNeeded: boolean): Promise<Ahead> {
  const ahead: Ahead = {};
  try {
    const { content } = await fetchTask(device.transport, id);
    const task = readTask(content, id, manifest);
    Object.assign(ahead, { task, content });
    const round = task.round ?? task.deviceParts.length - 1;
    const digest = task.deviceParts[round]!;
    const bytes = await fetchPart(device.transport, digest, device.options.largestPart);
    const { part } = await withCode(() => verifyPart(bytes, digest));
    checkPart(part, manifest, round);
    if (manifest.route.kind === "shuffled") (await load("claims")).checkHeadline(manifest, part);
    // After the claim is proved: a log is not asked about what is refused.
    if (!manifest.rounds[round]!.plan) await device.log?.checkPlan(id, round, digest);
    ahead.part = { digest, content: bytes };
  } catch (error) {
    const isUnavailable = error instanceof PlanUnavailable || error instanceof PlanRefused;
    if (isNeeded || !isUnavailable) throw error;
  }
  return ahead;
}
