/** A device's side of sordino: joins campaigns, answers each round once, sends reports, keeps the account of ε. */

import { Account } from "./account.ts";
import { AutoFlush } from "./auto_flush.ts";
import { fromHex, toHex } from "./bytes.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Task } from "./documents/task.ts";
import {
  ClockUnusable,
  InvalidValue,
  LedgerUnavailable,
  NotJoined,
  OptedOut,
  PlanRefused,
  PlanUnavailable,
  ServedElsewhere,
  WrongArgument,
  WrongShape,
} from "./errors.ts";
import { fetchManifest, fetchPart, fetchTask, readManifest, type VerifiedPart, verifyPart } from "./fetching.ts";
import { IndexedDbLedger } from "./ledgers/indexed_db.ts";
import type { Joined, Ledger, LedgerState, Waiting } from "./ledgers/ledger.ts";
import { type Answer, answerOf, type Campaign, checkOptions, type ClientOptions, idOf, originOf } from "./options.ts";
import { drawBelow, type Randomness, SystemRandomness } from "./randomizers/random.ts";
import {
  type AnswerStatus,
  expire,
  hasLeft,
  isUsable,
  leave,
  ownRounds,
  record,
  reportBody,
  settled,
  type Terms,
} from "./rules/answering.ts";
import { checkJoinable, checkPart, pin, pinTask, readTask } from "./rules/joining.ts";
import { delay, serverTime } from "./rules/retry.ts";
import { acceptedUntil, afterAnswer, epochOf, firstState, type Period, toAnswer } from "./rules/series.ts";
import { type Flushed, Sender } from "./sending.ts";
import { Transport } from "./transport.ts";

const LARGEST_PART = 1 << 20;
const SPOOL_LIMIT = 500;
/** The last second of the year 9999. */
const LATEST_S = 253_402_300_799;

export class Client {
  private readonly options: Required<Pick<ClientOptions, "caps" | "ledger" | "largestPart" | "spoolLimit">> & ClientOptions;
  private readonly transport: Transport;
  private readonly random: Randomness;
  private readonly sender: Sender;
  private readonly auto: AutoFlush | null;
  private readonly manifests = new Map<string, Manifest>();
  private readonly parts = new Map<string, VerifiedPart>();

  private constructor(options: ClientOptions & { ledger: Ledger }) {
    this.options = { largestPart: LARGEST_PART, spoolLimit: SPOOL_LIMIT, ...options };
    this.transport = new Transport(originOf(options), options.fetch ?? globalThis.fetch);
    this.random = options.random ?? new SystemRandomness();
    const { ledger, uploadToken, dryRun = false, autoFlush = typeof document !== "undefined" } = options;
    this.sender = new Sender(ledger, this.transport, uploadToken ?? null, this.random, () => this.clock());
    this.auto = autoFlush && !dryRun ? new AutoFlush(() => this.flush(), () => this.sender.sendNow()) : null;
  }

  /** A client on a ledger; throws WrongArgument, also for a generator of constant bytes. */
  static async open(options: ClientOptions): Promise<Client> {
    checkOptions(options);
    if (!options.ledger && typeof indexedDB === "undefined") {
      throw new WrongArgument("name a ledger, such as FileLedger.open(folder) of sordino-client/node");
    }
    const client = new Client({ ...options, ledger: options.ledger ?? (await IndexedDbLedger.open()) });
    client.clock();
    const drawn = client.random.bytes(64);
    if (drawn.every((byte) => byte === drawn[0])) throw new WrongArgument("the generator gives one byte again and again");
    if (client.auto) await client.sendLeft(client.auto);
    return client;
  }

  /** Pins a campaign's manifest. Throws OptedOut, PlanUnavailable, PlanRefused, ServedElsewhere. */
  async join(campaign: string): Promise<Campaign> {
    idOf(campaign);
    const { known, hasLeftAll } = await this.read((state) => {
      return { known: campaign in state.campaigns, hasLeftAll: state.leftAllAt !== null };
    });
    if (hasLeftAll) throw new OptedOut();
    if (known) return this.describe(campaign);
    const [manifest, bytes] = await fetchManifest(this.transport, campaign);
    const { origin } = this.transport;
    checkJoinable(manifest, origin);
    const isSeries = manifest.assignment.kind === "rotating";
    const ahead = await this.fetchAhead(campaign, manifest, isSeries);
    await this.options.ledger.transaction((state) => {
      const { assignment } = manifest;
      const phase = assignment.kind === "rotating" ? Number(drawBelow(this.random, BigInt(assignment.slots))) : null;
      const series = phase === null ? null : firstState(phase, ahead.task!.retry);
      const joined = pin(state, campaign, { manifest, content: toHex(bytes), origin, series }, this.random);
      if (ahead.task) pinTask(joined, ahead.task, ahead.content!, this.clock());
      if (ahead.part) state.parts[toHex(ahead.part.digest)] = toHex(ahead.part.content);
    });
    return this.describe(campaign);
  }

  /**
   * Randomises a value and records the report, once for each round; `flush` sends it.
   *
   * Throws NotJoined, ServedElsewhere, PlanUnavailable, PlanRefused, WrongShape, BudgetExceeded, SpoolFull: after any of
   * them nothing was spent, and the value is nowhere.
   */
  async answer(campaign: Campaign | string, value: unknown): Promise<Answer> {
    const id = idOf(campaign);
    const { ledger, evictable = "refuse" } = this.options;
    if (ledger.persistence === "evictable" && evictable === "refuse") {
      throw new LedgerUnavailable('the browser may delete it, and the device would answer again: say evictable: "allow"');
    }
    const { joined, manifest } = await this.session(id);
    await this.options.ledger.transaction((state) => expire(state, this.clock()));
    const isSeries = joined.series !== null;
    const answer = await (isSeries ? this.answerPeriod(id, manifest, value) : this.answerRound(id, manifest, value));
    if (answer.status === "recorded" && this.auto) await this.sendLater(this.auto, answer);
    return answer;
  }

  /** The period of a series that this device is asked about now; null if there is none. Sends nothing. */
  async due(campaign: Campaign | string): Promise<Period | null> {
    const id = idOf(campaign);
    const { manifest } = await this.session(id);
    const asked = await this.read((state) => this.periodOf(state, id, manifest));
    return typeof asked === "string" ? null : asked;
  }

  /** The version of the app that this device shows in an experiment; null where the campaign has no arms, or was left. */
  async arm(campaign: Campaign | string): Promise<string | null> {
    const { arm, optedOut } = await this.describe(idOf(campaign));
    return optedOut ? null : arm;
  }

  /** Sends what waits, exactly once each, until nothing does or `patienceS` seconds are over. */
  async flush({ patienceS = 30, signal }: { patienceS?: number; signal?: AbortSignal } = {}): Promise<Flushed> {
    await this.options.ledger.transaction((state) => expire(state, this.clock()));
    return this.sender.flush(this.options.dryRun ? 0 : patienceS, this.options.dryRun ?? false, signal);
  }

  /** What this device joined, spent and left. */
  async account(): Promise<Account> {
    const state = await this.read((each) => {
      expire(each, this.clock());
      return structuredClone(each);
    });
    const names = new Map(Object.entries(state.campaigns).map(([id, joined]) => [id, this.manifestOf(id, joined)]));
    return new Account(state, names, this.options.caps, this.clock(), this.options.ledger);
  }

  /** Leaves a campaign for good: its reports are deleted, its debits stay. */
  async optOut(campaign: Campaign | string): Promise<void> {
    const id = idOf(campaign);
    await this.options.ledger.transaction((state) => {
      if (!state.campaigns[id]) throw new NotJoined(id);
      leave(state, id, this.clock());
    });
    this.sender.forget(id);
  }

  /** Deletes every report, and joins, answers and sends nothing until `optIn`; debits stay. */
  async optOutAll(): Promise<void> {
    await this.options.ledger.transaction((state) => {
      state.leftAllAt ??= Math.floor(this.clock());
      state.reports = [];
    });
    this.sender.forget(null);
  }

  /** Ends what `optOutAll` began; campaigns that were left one by one stay left. */
  async optIn(): Promise<void> {
    await this.options.ledger.transaction((state) => {
      state.leftAllAt = null;
    });
  }

  close(): Promise<void> {
    this.auto?.stop();
    this.sender.close();
    return this.options.ledger.close();
  }

  /** Sends the report at a random time of the retry window, or when the page is left before. */
  private async sendLater(auto: AutoFlush, { campaign, round }: Answer): Promise<void> {
    const isIt = (each: Waiting) => each.campaign === campaign && each.round === round;
    const report = await this.read((state) => state.reports.find(isIt));
    if (!report) return;
    this.sender.remember(report);
    this.sendAtRandom(auto, report);
  }

  /** Sends what an earlier visit of the page left, at a random time, too. */
  private async sendLeft(auto: AutoFlush): Promise<void> {
    const { origin } = this.transport;
    const report = await this.read((state) =>
      state.reports.find(({ campaign }) => state.campaigns[campaign]?.origin === origin),
    );
    if (report) this.sendAtRandom(auto, report);
  }

  private sendAtRandom(auto: AutoFlush, { retry }: Waiting): void {
    auto.later(delay(retry, 0, null, this.random));
  }

  private async answerRound(id: string, manifest: Manifest, value: unknown): Promise<Answer> {
    const { joined } = await this.session(id);
    const rounds = ownRounds(manifest, joined);
    const over = await this.read((state) => settled(state, id, rounds));
    if (over) return answerOf(over, id);
    const { task, until } = await this.task(id, manifest);
    if (task.round === null) return answerOf("not_open", id);
    if (!rounds.includes(task.round)) return answerOf("not_assigned", id);
    const round = task.round;
    const verified = await this.part(task.deviceParts[round]!);
    const codes = this.codes(verified, manifest, round, value);
    const { acceptUntil: expiresAt, retry, epoch } = task;
    const report = () => this.report(verified, codes, epoch, joined.arm);
    const nano = verified.proved;
    const device = manifest.deviceGuarantee.nano;
    const draw = { campaign: id, round, nano, device, retry, expiresAt, periodStart: null, report };
    const status = await this.options.ledger.transaction((state) => record(state, draw, this.terms(until)));
    return answerOf(status, id, round, nano);
  }

  private async answerPeriod(id: string, manifest: Manifest, value: unknown): Promise<Answer> {
    const law = seriesOf(manifest);
    const asked = await this.read((state) => this.periodOf(state, id, manifest));
    if (typeof asked === "string") return answerOf(asked, id);
    const retry = await this.retryOf(id, manifest, law.periodS);
    if (typeof retry === "string") return answerOf(retry, id, asked.number);
    const verified = await this.part(manifest.rounds[0]!.plan!.device);
    const codes = this.codes(verified, manifest, 0, value);
    const nano = verified.proved;
    const status = await this.options.ledger.transaction((state): AnswerStatus => {
      const again = this.periodOf(state, id, manifest);
      if (typeof again === "string") return again;
      // The period ended while the server was asked: the value is about the one before.
      if (again.number !== asked.number) return "not_this_period";
      const joined = state.campaigns[id]!;
      const report = () => this.report(verified, codes, epochOf(again.number), joined.arm);
      const expiresAt = acceptedUntil(law, again.number);
      const device = manifest.deviceGuarantee.nano;
      const round = again.number;
      const draw = { campaign: id, round, nano, device, retry, expiresAt, periodStart: again.start, report };
      const found = record(state, draw, this.terms(null));
      if (found === "recorded") joined.series = afterAnswer(law, joined.series!, again, Math.floor(this.clock()));
      return found;
    });
    return answerOf(status, id, asked.number, nano);
  }

  /** The retry window of the task that a series has now, or why nothing is answered. */
  private async retryOf(id: string, manifest: Manifest, periodS: number): Promise<Task["retry"] | AnswerStatus> {
    try {
      const answer = await fetchTask(this.transport, id);
      const shown = serverTime(answer);
      if (shown !== null && Math.abs(shown - this.clock()) > periodS) return "clock_differs";
      const task = readTask(answer.content, id, manifest);
      await this.options.ledger.transaction((state) => pinTask(state.campaigns[id]!, task, answer.content, this.clock()));
      return task.round === null ? "not_open" : task.retry;
    } catch (error) {
      if (!(error instanceof PlanUnavailable) || !error.offline) throw error;
      return (await this.session(id)).joined.series!.retry;
    }
  }

  /** What is open now; without a connection the task that was read last, while its time lasts. */
  private async task(id: string, manifest: Manifest): Promise<{ task: Task; until: number | null }> {
    try {
      const { content } = await fetchTask(this.transport, id);
      const task = readTask(content, id, manifest);
      await this.options.ledger.transaction((state) => pinTask(state.campaigns[id]!, task, content, this.clock()));
      return { task, until: task.acceptUntil };
    } catch (error) {
      if (!(error instanceof PlanUnavailable) || !error.offline) throw error;
      const kept = await this.read((state) => this.keptTask(state, id, manifest));
      if (kept === null) throw error;
      return { task: kept, until: kept.answerUntil };
    }
  }

  private keptTask(state: LedgerState, id: string, manifest: Manifest): Task | null {
    const kept = state.campaigns[id]!.task;
    if (kept === null) return null;
    const task = readTask(fromHex(kept.content), id, manifest);
    return task.round !== null && isUsable(state, kept.readAt, task.answerUntil, this.clock()) ? task : null;
  }

  /** The verified part, from memory, the ledger or the server. */
  private async part(digest: Uint8Array): Promise<VerifiedPart> {
    const name = toHex(digest);
    const known = this.parts.get(name);
    if (known) return known;
    const kept = await this.read((state) => state.parts[name]);
    const content = kept ? fromHex(kept) : await fetchPart(this.transport, digest, this.options.largestPart);
    const verified = verifyPart(content, digest);
    if (!kept) await this.options.ledger.transaction((state) => (state.parts[name] = toHex(content)));
    this.parts.set(name, verified);
    return verified;
  }

  /** Task and part before joining, the same for every device; only a series cannot do without. */
  private async fetchAhead(id: string, manifest: Manifest, isNeeded: boolean): Promise<Ahead> {
    const ahead: Ahead = {};
    try {
      const { content } = await fetchTask(this.transport, id);
      const task = readTask(content, id, manifest);
      Object.assign(ahead, { task, content });
      const round = task.round ?? task.deviceParts.length - 1;
      const digest = task.deviceParts[round]!;
      const bytes = await fetchPart(this.transport, digest, this.options.largestPart);
      checkPart(verifyPart(bytes, digest).part, manifest, round);
      ahead.part = { digest, content: bytes };
    } catch (error) {
      const isUnavailable = error instanceof PlanUnavailable || error instanceof PlanRefused;
      if (isNeeded || !isUnavailable) throw error;
    }
    return ahead;
  }

  private codes({ part }: VerifiedPart, manifest: Manifest, round: number, value: unknown): bigint[] {
    const places = checkPart(part, manifest, round);
    try {
      manifest.domain.checkShape(value);
    } catch (error) {
      throw error instanceof InvalidValue ? new WrongShape(error.message) : error;
    }
    const codes = manifest.domain.codes(value, this.options.strict);
    return places.map((at) => codes[at]!);
  }

  private report({ part, digest }: VerifiedPart, codes: readonly bigint[], epoch: number, arm: number | null): Uint8Array {
    return reportBody(digest, epoch, part.randomize(codes, this.random), arm, this.random);
  }

  private terms(until: number | null): Terms {
    const { caps, spoolLimit, dryRun = false } = this.options;
    return { caps, clock: this.clock(), until, spoolLimit, dryRun };
  }

  private periodOf(state: LedgerState, id: string, manifest: Manifest): ReturnType<typeof toAnswer> | "opted_out" {
    if (hasLeft(state, id)) return "opted_out";
    return toAnswer(seriesOf(manifest), state.campaigns[id]!.series!, Math.floor(this.clock()));
  }

  private async session(id: string): Promise<{ joined: Joined; manifest: Manifest }> {
    const joined = await this.read((state) => state.campaigns[id]);
    if (!joined) throw new NotJoined(id);
    if (joined.origin !== this.transport.origin) throw new ServedElsewhere(id, joined.origin);
    return { joined, manifest: this.manifestOf(id, joined) };
  }

  private manifestOf(id: string, joined: Joined): Manifest {
    const known = this.manifests.get(id) ?? readManifest(fromHex(joined.manifest), id);
    this.manifests.set(id, known);
    return known;
  }

  private async describe(id: string): Promise<Campaign> {
    const { joined, manifest } = await this.session(id);
    const { name, purpose, deviceGuarantee, arms } = manifest;
    const optedOut = await this.read((state) => hasLeft(state, id));
    const arm = joined.arm === null ? null : arms[joined.arm]!.name;
    return { id, name, purpose, guarantee: deviceGuarantee.nano, manifest, arm, optedOut };
  }

  private read<T>(look: (state: LedgerState) => T): Promise<T> {
    return this.options.ledger.transaction(look);
  }

  private clock(): number {
    const seconds = this.options.now ? this.options.now() : Date.now() / 1000;
    if (!Number.isFinite(seconds) || seconds > LATEST_S) throw new ClockUnusable(seconds);
    return Math.max(seconds, 0);
  }
}

interface Ahead {
  task?: Task;
  content?: Uint8Array;
  part?: { digest: Uint8Array; content: Uint8Array };
}

function seriesOf({ assignment }: Manifest): Extract<Manifest["assignment"], { kind: "rotating" }> {
  if (assignment.kind !== "rotating") throw new WrongArgument("the campaign is no series: it has no periods");
  return assignment;
}

