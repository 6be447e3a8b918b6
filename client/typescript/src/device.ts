/** What every call of a client works with: options, ledger, server, generator and clock, and the documents it has read. */

import { fromHex, joined, toHex } from "./bytes.ts";
import { load, withCode } from "./chunks.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Task } from "./documents/task.ts";
import { ClockUnusable, InvalidValue, NotJoined, PlanUnavailable, ServedElsewhere, WrongShape } from "./errors.ts";
import { fetchPart, fetchTask, readManifest, type VerifiedPart, verifyPart } from "./fetching.ts";
import type { Joined, Ledger, LedgerState } from "./ledgers/ledger.ts";
import type { PublicLog } from "./log/public_log.ts";
import { type Campaign, type ClientOptions, originOf } from "./options.ts";
import { type Randomness, SystemRandomness } from "./randomizers/random.ts";
import { hasLeft, isUsable, reportBody, type Terms } from "./rules/answering.ts";
import { keepPart } from "./rules/parts.ts";
import { checkPart, pinTask, readTask } from "./rules/tasks.ts";
import { Transport } from "./transport.ts";

const LARGEST_PART = 1 << 20;
const SPOOL_LIMIT = 500;
/** The last second of the year 9999. */
const LATEST_S = 253_402_300_799;

/** A campaign that was joined at this client's address. */
export interface Session {
  readonly id: string;
  readonly joined: Joined;
  readonly manifest: Manifest;
}

/** What the ledger is told of an answer that costs `nano`. */
export function chargeOf({ id, manifest }: Session, round: number, nano: bigint) {
  return { campaign: id, round, nano, device: manifest.deviceGuarantee.nano, isSealed: manifest.route.kind === "shuffled" };
}

export class Device {
  readonly options: Required<Pick<ClientOptions, "largestPart" | "spoolLimit">> & ClientOptions;
  readonly ledger: Ledger;
  readonly transport: Transport;
  readonly random: Randomness;
  /** The public log that the app pins. */
  log: PublicLog | null = null;
  private readonly manifests = new Map<string, Manifest>();
  private readonly parts = new Map<string, VerifiedPart>();

  constructor(options: ClientOptions, ledger: Ledger) {
    this.options = { largestPart: LARGEST_PART, spoolLimit: SPOOL_LIMIT, ...options };
    this.ledger = ledger;
    this.transport = new Transport(originOf(options), options.fetch ?? globalThis.fetch);
    this.random = options.random ?? new SystemRandomness();
  }

  /** Seconds since 1970; throws ClockUnusable. */
  clock(): number {
    const seconds = this.options.now ? this.options.now() : Date.now() / 1000;
    if (!Number.isFinite(seconds) || seconds > LATEST_S) throw new ClockUnusable(seconds);
    return Math.max(seconds, 0);
  }

  transaction<T>(work: (state: LedgerState) => T): Promise<T> {
    return this.ledger.transaction(work);
  }

  /** Throws NotJoined or ServedElsewhere. */
  async session(id: string): Promise<Session> {
    const joined = await this.transaction((state) => state.campaigns[id]);
    if (!joined) throw new NotJoined(id);
    if (joined.origin !== this.transport.origin) throw new ServedElsewhere(id, joined.origin);
    return { id, joined, manifest: await this.manifestOf(id, joined) };
  }

  async manifestOf(id: string, joined: Joined): Promise<Manifest> {
    const known = this.manifests.get(id) ?? (await withCode(() => readManifest(fromHex(joined.manifest), id)));
    this.manifests.set(id, known);
    return known;
  }

  /** A joined campaign, for the app. */
  async describe(id: string): Promise<Campaign> {
    const { joined, manifest } = await this.session(id);
    const { name, purpose, deviceGuarantee, arms, route } = manifest;
    const mixed = route.kind === "shuffled" ? (await load("shuffled")).mixedGuarantee(manifest) : null;
    const capConflict = joined.series && (await load("series")).capConflict(manifest, this.options.caps);
    const optedOut = await this.transaction((state) => hasLeft(state, id));
    const arm = joined.arm === null ? null : arms[joined.arm]!.name;
    return { id, name, purpose, guarantee: deviceGuarantee.nano, manifest, mixed, arm, optedOut, capConflict };
  }

  /** What is open now; without a connection the task that was read last, while its time lasts. */
  async task({ id, manifest }: Session): Promise<{ task: Task; until: number | null }> {
    try {
      const { content } = await fetchTask(this.transport, id);
      const task = readTask(content, id, manifest);
      await this.transaction((state) => pinTask(state.campaigns[id]!, task, content, this.clock()));
      return { task, until: task.acceptUntil };
    } catch (error) {
      if (!(error instanceof PlanUnavailable) || !error.offline) throw error;
      const kept = await this.transaction((state) => this.keptTask(state, id, manifest));
      if (kept === null) throw error;
      return { task: kept, until: kept.answerUntil };
    }
  }

  /** The verified part, from memory, the ledger or the server. */
  async part({ id, manifest }: Session, round: number, digest: Uint8Array): Promise<VerifiedPart> {
    const name = toHex(digest);
    // Two rounds, or two campaigns, may have one part: each has an entry of its own in the log.
    const own = `${id} ${round} ${name}`;
    const known = this.parts.get(own);
    if (known) return known;
    const kept = await this.transaction((state) => state.parts[name]);
    const content = kept ? fromHex(kept) : await fetchPart(this.transport, digest, this.options.largestPart);
    const verified = await withCode(() => verifyPart(content, digest));
    if (!manifest.rounds[round]!.plan) await this.log?.checkPlan(id, round, digest);
    if (manifest.route.kind === "shuffled") (await load("claims")).checkHeadline(manifest, verified.part);
    // What is refused takes no other part's room.
    if (!kept) await this.transaction((state) => keepPart(state, digest, content));
    this.parts.set(own, verified);
    return verified;
  }

  /** The token of a round's report; null in a campaign without tokens. */
  async token(session: Session, round: number): Promise<Uint8Array | null> {
    const { route } = session.manifest;
    return route.kind === "direct" || !route.issuer ? null : (await load("tokens")).tokenOf(this, session, round);
  }

  /** The indices of a value's members in the attributes of a part; throws WrongShape, which quotes nothing of the value. */
  codes({ part }: VerifiedPart, manifest: Manifest, round: number, value: unknown): bigint[] {
    const places = checkPart(part, manifest, round);
    try {
      manifest.domain.checkShape(value);
    } catch (error) {
      throw error instanceof InvalidValue ? new WrongShape(error.message) : error;
    }
    const codes = manifest.domain.codes(value, this.options.strict);
    return places.map((at) => codes[at]!);
  }

  /** What draws a report and makes the bytes that are sent; all that takes time is done before. */
  async drawing(
    { id, joined: { arm }, manifest }: Session,
    { part, digest }: VerifiedPart,
    codes: readonly bigint[],
    { round, epoch, token }: { round: number; epoch: number; token: Uint8Array | null },
  ): Promise<() => Uint8Array> {
    const tokens = token && (await load("tokens"));
    // The server draws what is public of the payload again, from the token's coin: each draw begins the coin anew.
    const coin = () => (tokens ? tokens.coinOf(id, round, digest, token) : this.random);
    const draw = () => joined(part.randomize(codes, this.random, coin()), token ?? new Uint8Array());
    if (manifest.route.kind !== "shuffled") return () => reportBody(digest, epoch, draw(), arm, this.random);
    const payloadBytes = part.randomizer.payloadBytes + (token?.length ?? 0);
    const { sealing } = await load("shuffled");
    const seal = await sealing({ campaign: id, round, manifest, digest, arm, payloadBytes });
    return () => seal(draw());
  }

  terms(until: number | null): Terms {
    const { caps, spoolLimit, dryRun = false } = this.options;
    return { caps, clock: this.clock(), until, spoolLimit, dryRun };
  }

  private keptTask(state: LedgerState, id: string, manifest: Manifest): Task | null {
    const kept = state.campaigns[id]!.task;
    if (kept === null) return null;
    const task = readTask(fromHex(kept.content), id, manifest);
    return task.round !== null && isUsable(state, kept.readAt, task.answerUntil, this.clock()) ? task : null;
  }
}
