/** Finds campaigns in a population's public list, and joins those that the app accepts by their manifests alone. */

import { sameBytes, toHex } from "./bytes.ts";
import { load, withCode } from "./chunks.ts";
import { encode, type PlainMap } from "./documents/cbor.ts";
import { digestOf } from "./documents/document.ts";
import { openCampaigns } from "./documents/finding.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Device } from "./device.ts";
import { domain as domainType } from "./domains/domain.ts";
import { OptedOut, PlanRefused, PlanUnavailable, WrongArgument } from "./errors.ts";
import { fetched, fetchManifest, readManifest } from "./fetching.ts";
import { checkPinned, keepAhead } from "./joining.ts";
import type { LedgerState, PopulationList } from "./ledgers/ledger.ts";
import { drawBits } from "./randomizers/random.ts";
import { debitTime } from "./rules/caps.ts";
import { checkJoinable, pin } from "./rules/joining.ts";
import { reading } from "./rules/tasks.ts";

const DAY_S = 86_400;

/** What an app decides about campaigns of a list. */
export interface FindOptions {
  /** Whether to join: by the manifest alone, never by the value. */
  readonly accept: (manifest: Manifest) => boolean;
  /** Whether to join a campaign that asks the same as another open one that was joined. */
  readonly allowRepeats?: boolean;
}

/**
 * What became of the campaigns of a list, by their ids. Empty, with `looked` false, before the list is due in `nextInS`.
 *
 * `declined` by the app; `repeated`: another open campaign asks the same; `postponed`: the period has had its joins;
 * `refused`: what this device cannot or must not join.
 */
export interface Found {
  readonly looked: boolean;
  readonly nextInS: number;
  readonly joined: readonly string[];
  readonly declined: readonly string[];
  readonly repeated: readonly string[];
  readonly postponed: readonly string[];
  readonly refused: readonly string[];
}

interface Listed {
  readonly id: string;
  readonly manifest: Manifest;
  readonly content: Uint8Array;
}

/** Looks at the list where it is due; every listed manifest is fetched before `accept` sees the first. */
export async function find(device: Device, population: string, { accept, allowRepeats = false }: FindOptions): Promise<Found> {
  if (typeof accept !== "function") throw new WrongArgument("accept is a function of a manifest");
  const path = pathOf(population);
  const none = { joined: [], declined: [], repeated: [], postponed: [], refused: [] };
  const wait = await device.transaction((state) => {
    if (state.leftAllAt !== null) throw new OptedOut();
    return untilLook(device, state, population);
  });
  if (wait > 0) return { looked: false, nextInS: wait, ...none };
  const { ids, nextInS } = await listOf(device, population, path);
  const listed = await manifestsOf(device, population, ids);
  const refused = await refusedOf(device, listed);
  const known = await device.transaction((state) => new Set(ids.filter((id) => state.campaigns[id])));
  const candidates = listed.filter(({ id }) => !known.has(id) && !refused.includes(id));
  const accepted = candidates.filter(({ manifest }) => verdict(accept, manifest));
  const taken = listed.filter(({ id }) => known.has(id)).map(({ manifest }) => manifest);
  const [joined, repeated, postponed]: [string[], string[], string[]] = [[], [], []];
  for (const each of accepted) {
    if (!allowRepeats && taken.some((other) => asksTheSame(each.manifest, other))) repeated.push(each.id);
    else if (!(await joinListed(device, each))) postponed.push(each.id);
    else {
      joined.push(each.id);
      taken.push(each.manifest);
    }
  }
  for (const { id, manifest } of accepted) if (joined.includes(id)) await keepAhead(device, id, manifest).catch(ignored);
  const declined = candidates.filter((each) => !accepted.includes(each)).map(({ id }) => id);
  return { looked: true, nextInS, joined, declined, repeated, postponed, refused };
}

async function listOf(device: Device, population: string, path: string): Promise<{ ids: string[]; nextInS: number }> {
  const looked = () => device.transaction((state) => schedule(device, state, population, nextWindow(device, state, population)));
  let content: Uint8Array;
  try {
    ({ content } = await fetched(device.transport, "list", path, openCampaigns.limit));
  } catch (error) {
    // Without any answer nobody has seen the request: the next call may look.
    if (!(error instanceof PlanUnavailable) || error.status !== null) await looked();
    throw error;
  }
  const nextInS = await looked();
  const listed = await withCode(() => reading("list", () => openCampaigns.read(content)));
  if (listed.population !== population) throw new PlanRefused("list", "it is that of another population");
  const digest = toHex(digestOf(content));
  await device.transaction((state) => keepList(rowOf(device, state, population)!, listed.number, digest));
  return { ids: listed.campaigns.map(toHex), nextInS };
}

/** All of them, known or not: a device that left some out would show which it has. */
async function manifestsOf(device: Device, population: string, ids: readonly string[]): Promise<Listed[]> {
  const found: Listed[] = [];
  for (const id of ids) {
    const content = await fetchManifest(device.transport, id);
    const manifest = await withCode(() => readManifest(content, id));
    if (manifest.population !== population) throw new PlanRefused("list", `campaign ${id} asks another population`);
    if (manifest.rounds.length !== 1 || manifest.assignment.kind !== "every_round") {
      throw new PlanRefused("list", `campaign ${id} is not one of one round`);
    }
    found.push({ id, manifest, content });
  }
  return found;
}

async function refusedOf(device: Device, listed: readonly Listed[]): Promise<string[]> {
  const refused: string[] = [];
  for (const { id, manifest } of listed) {
    const isRefused = await fails([PlanRefused], async () => {
      checkJoinable(manifest, device.transport.origin);
      if (manifest.route.kind === "shuffled") await (await load("shuffled")).checkCanSeal();
      await checkPinned(device, manifest, id);
    });
    // A log that cannot be asked is no reason to wait for all others.
    const logged = async () => device.log?.checkManifest(manifest, id);
    if (isRefused || (await fails([PlanRefused, PlanUnavailable], logged))) refused.push(id);
  }
  return refused;
}

/** Whether it throws one of these errors. */
async function fails(errors: readonly (new (...given: any[]) => Error)[], check: () => Promise<void>): Promise<boolean> {
  try {
    await check();
    return false;
  } catch (error) {
    if (errors.some((each) => error instanceof each)) return true;
    throw error;
  }
}

/** The campaign is joined; what it would need without a connection is fetched again when it answers. */
function ignored(error: unknown): void {
  if (!(error instanceof PlanRefused || error instanceof PlanUnavailable)) throw error;
}

/** Pins a manifest of a list; false where the period has had its joins. */
function joinListed(device: Device, { id, manifest, content }: Listed): Promise<boolean> {
  const { caps, joinsPerPeriod = 3 } = device.options;
  return device.transaction((state) => {
    // Another tab was first.
    if (state.campaigns[id]) return true;
    const now = debitTime(state, device.clock());
    state.found ??= [];
    if (state.found.filter(({ at }) => at > now - caps.periodS).length >= joinsPerPeriod) return false;
    const terms = { manifest, content: toHex(content), origin: device.transport.origin, series: null };
    pin(state, id, terms, device.random);
    state.found.push({ campaign: id, at: now });
    return true;
  });
}

/** Equal domains, salts of hashes aside, and the same plan or the same purpose in words. */
export function asksTheSame(one: Manifest, other: Manifest): boolean {
  if (!sameBytes(withoutSalts(one), withoutSalts(other))) return false;
  const [first, second] = [one, other].map(({ rounds }) => rounds[0]!.plan!);
  const isSamePlan = sameBytes(first!.device, second!.device) && sameBytes(first!.analyst, second!.analyst);
  return isSamePlan || words(one.purpose) === words(other.purpose);
}

function withoutSalts({ domain }: Manifest): Uint8Array {
  const plain = domainType.write(domain) as PlainMap;
  for (const each of plain.get("attributes") as PlainMap[]) if (each.get("kind") === "hashed") each.delete("salt");
  return encode(plain);
}

function words(purpose: string): string {
  // Upper case first, as case is folded: "ß" becomes "ss".
  return purpose.toUpperCase().toLowerCase().replaceAll("ς", "σ").trim().split(/\s+/).join(" ");
}

function verdict(accept: FindOptions["accept"], manifest: Manifest): boolean {
  const found: unknown = accept(manifest);
  if (typeof found !== "boolean") throw new WrongArgument("accept returns true or false");
  return found;
}

/** Every byte of the name but letters, digits, `-`, `.`, `_` and `~` percent-encoded. */
function pathOf(population: string): string {
  const isName = typeof population === "string" && !/\//.test(population) && !["", ".", ".."].includes(population);
  if (!isName || /\p{Cs}/u.test(population)) throw new WrongArgument("a population with a list has a name without '/'");
  const quoted = encodeURIComponent(population).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  return `/v1/populations/${quoted}/open`;
}

/** Seconds until the list is due: uniform in the 24 hours after the first call, then once in every 24 hours. */
function untilLook(device: Device, state: LedgerState, population: string): number {
  const now = device.clock();
  const due = rowOf(device, state, population)?.dueAt;
  // A time that is further away than two days is drawn again: the clock was set back.
  if (due === undefined || due > now + 2 * DAY_S) return Math.max(0, schedule(device, state, population, now));
  return Math.max(0, due - now);
}

/** The first window of 24 hours that has not begun. */
function nextWindow(device: Device, state: LedgerState, population: string): number {
  const now = device.clock();
  const begun = rowOf(device, state, population)?.windowAt ?? now;
  return begun + DAY_S * (Math.floor(Math.max(0, now - begun) / DAY_S) + 1);
}

/** Draws the next time uniformly in a window; seconds until then. */
function schedule(device: Device, state: LedgerState, population: string, windowAt: number): number {
  const dueAt = windowAt + (DAY_S * Number(drawBits(device.random, 32))) / 2 ** 32;
  const { number = -1, digest = "" } = rowOf(device, state, population) ?? {};
  state.lists ??= {};
  state.lists[keyOf(device, population)] = { windowAt, dueAt, number, digest };
  return dueAt - device.clock();
}

/** Remembers a list; throws PlanRefused for an older one, and for another one of the same number. */
function keepList(row: PopulationList, number: number, digest: string): void {
  if (number < row.number) throw new PlanRefused("list", `its number is ${number}, and ${row.number} was seen before`);
  if (number === row.number && digest !== row.digest) throw new PlanRefused("list", `another list had its number ${number}`);
  row.number = number;
  row.digest = digest;
}

function rowOf(device: Device, state: LedgerState, population: string): PopulationList | undefined {
  return state.lists?.[keyOf(device, population)];
}

function keyOf(device: Device, population: string): string {
  return `${device.transport.origin} ${population}`;
}
