/** Reports on their way: the same bytes until the server answers for them. */

import { AutoFlush } from "./auto_flush.ts";
import { fromHex } from "./bytes.ts";
import { load } from "./chunks.ts";
import { reportOutcomes } from "./documents/outcomes.ts";
import type { Device } from "./device.ts";
import { OversizedDocument } from "./errors.ts";
import type { Waiting } from "./ledgers/ledger.ts";
import type { Answer } from "./options.ts";
import { expire } from "./rules/answering.ts";
import { delay, type Outcome, readOutcome } from "./rules/retry.ts";
import { tabsOf } from "./tabs.ts";
import { TransportFailed } from "./transport.ts";

const KEEPALIVE_BYTES = 60_000;
const KEEPALIVE_REQUESTS = 8;

/** What a flush did: `waiting` reports are left, and the next one is due in `retryInS` seconds. */
export interface Flushed {
  readonly delivered: number;
  readonly refused: readonly { readonly campaign: string; readonly round: number; readonly reason: string }[];
  readonly waiting: number;
  readonly retryInS: number | null;
  readonly trouble: string | null;
}

export class Sender {
  private readonly device: Device;
  private readonly auto: AutoFlush | null;
  /** Reports of this page that were never tried: `sendNow` cannot wait for the ledger. */
  private readonly untried = new Map<string, Waiting>();
  /** Between the tabs of a page: whose owner leaves in one has left in all. */
  private readonly tabs: BroadcastChannel | null;

  constructor(device: Device, isByItself: boolean) {
    this.device = device;
    this.tabs = tabsOf(device.ledger);
    if (this.tabs) this.tabs.onmessage = ({ data }) => this.forget(data as string | null);
    this.auto = isByItself ? new AutoFlush(() => this.flushAlone(), () => this.sendNow()) : null;
  }

  /** Hears no other tab any more, and sends nothing by itself. */
  close(): void {
    this.auto?.stop();
    this.tabs?.close();
  }

  /** Sends the report of an answer at a random time of the retry window, or when the page is left before. */
  async sendLater({ campaign, round }: Answer): Promise<void> {
    const isIt = (each: Waiting) => each.campaign === campaign && each.round === round;
    const report = await this.device.transaction((state) => state.reports.find(isIt));
    if (!report) return;
    this.remember(report);
    this.sendAtRandom(report);
  }

  /** Sends what an earlier visit of the page left, at a random time, too. */
  async sendLeft(): Promise<void> {
    const [report] = await this.waiting();
    if (report) this.sendAtRandom(report);
  }

  /** Keeps a report of this page in memory until it is tried. */
  remember(report: Waiting): void {
    this.untried.set(keyOf(report), report);
  }

  /** Forgets what was never tried, of one campaign or of all: its owner left. */
  forget(campaign: string | null): void {
    for (const [key, report] of this.untried) if (campaign === null || report.campaign === campaign) this.untried.delete(key);
  }

  /**
   * Starts sending what was never tried, while the page is left: nothing is awaited, and the answer may never be seen. The
   * reports stay in the ledger and go out again as the same bytes; a server counts an id once.
   */
  sendNow(): void {
    let [bytes, requests] = [0, 0];
    for (const report of [...this.untried.values()]) {
      bytes += report.body.length / 2;
      // 64 KiB is for all such requests of a page together.
      if (bytes > KEEPALIVE_BYTES || ++requests > KEEPALIVE_REQUESTS) return;
      if (report.expiresAt !== null && this.clock() >= report.expiresAt) continue;
      // What fails is tried again by the next flush.
      this.send(report, true)
        .then((outcome) => this.settle(report, outcome))
        .catch(() => null);
    }
  }

  /**
   * Sends what is due, and waits for what is due within the patience. Of the tabs of a page one sends; where there are no
   * locks all do, and replays count once.
   */
  flush(patienceS: number, isSilent: boolean, signal?: AbortSignal): Promise<Flushed> {
    const { locks } = globalThis.navigator ?? {};
    const { ledger } = this.device;
    if (!locks || !("name" in ledger)) return this.flushHere(patienceS, isSilent, signal);
    // Another tab sends: this one only looks.
    return locks.request(`sordino:${ledger.name}`, { ifAvailable: true }, (lock) =>
      this.flushHere(patienceS, isSilent || lock === null, signal),
    ) as Promise<Flushed>;
  }

  private async flushAlone(): Promise<Flushed> {
    await this.device.transaction((state) => expire(state, this.clock()));
    return this.flush(30, false);
  }

  private sendAtRandom({ retry }: Waiting): void {
    this.auto?.later(delay(retry, 0, null, this.device.random));
  }

  private clock(): number {
    return this.device.clock();
  }

  private async flushHere(patienceS: number, isSilent: boolean, signal?: AbortSignal): Promise<Flushed> {
    const end = this.clock() + patienceS;
    const refused: { campaign: string; round: number; reason: string }[] = [];
    let [delivered, trouble]: [number, string | null] = [0, null];
    for (;;) {
      signal?.throwIfAborted();
      const waiting = await this.waiting();
      const [next] = waiting;
      const dueIn = next ? this.dueIn(next) : null;
      // What is due is sent, however little patience there is.
      const isOver = dueIn === null || isSilent || (dueIn > 0 && this.clock() + dueIn > end);
      if (isOver || !next) return { delivered, refused, waiting: waiting.length, retryInS: dueIn, trouble };
      if (dueIn > 0) {
        await pause(dueIn, signal);
        continue;
      }
      const outcome = await this.send(next);
      await this.settle(next, outcome);
      const { campaign, round } = next;
      if (outcome.kind === "counted") delivered++;
      else if (outcome.kind === "refused") refused.push({ campaign, round, reason: outcome.reason });
      else trouble = outcome.reason;
    }
  }

  /** Reports of this server that wait, the one that is due first in front. */
  private async waiting(): Promise<Waiting[]> {
    const { origin } = this.device.transport;
    const found = await this.device.transaction((state) =>
      state.leftAllAt === null ? state.reports.filter(({ campaign }) => state.campaigns[campaign]?.origin === origin) : [],
    );
    return found.sort((first, second) => this.dueIn(first) - this.dueIn(second));
  }

  /** Seconds until a report is due; 0 where the clock was set back. */
  private dueIn({ notBefore, postponedAt }: Waiting): number {
    const now = this.clock();
    return now < postponedAt ? 0 : Math.max(notBefore - now, 0);
  }

  private async send(report: Waiting, keepalive = false): Promise<Outcome> {
    const { campaign, round, body, isSealed } = report;
    this.untried.delete(keyOf(report));
    const path = `/v1/campaigns/${campaign}/rounds/${round}/${isSealed ? "sealed" : "reports"}`;
    // A token is the collector's: a shuffler learns nothing by which it could tell devices apart.
    const token = isSealed ? null : (this.device.options.uploadToken ?? null);
    try {
      const upload = { body: fromHex(body), token, keepalive };
      const answer = await this.device.transport.ask({ path, limit: reportOutcomes.limit, ...upload });
      if (isSealed) await load("shuffled");
      return readOutcome(answer, report, this.clock());
    } catch (error) {
      if (error instanceof TransportFailed) return { kind: "later", reason: error.message, afterS: null, everything: true };
      if (error instanceof OversizedDocument) {
        return { kind: "later", reason: error.message, afterS: null, everything: false };
      }
      throw error;
    }
  }

  /** Writes what became of a report: it is gone, or postponed, alone or with all others of the server. */
  private async settle(sent: Waiting, outcome: Outcome): Promise<void> {
    const isSame = (report: Waiting) => report.campaign === sent.campaign && report.round === sent.round;
    const now = this.clock();
    const seconds = outcome.kind === "later" ? delay(sent.retry, sent.failures, outcome.afterS, this.device.random) : 0;
    const { origin } = this.device.transport;
    await this.device.transaction((state) => {
      if (outcome.kind !== "later") {
        state.reports = state.reports.filter((report) => !isSame(report));
        return;
      }
      for (const report of state.reports) {
        const isHere = state.campaigns[report.campaign]?.origin === origin;
        if (isSame(report)) report.failures++;
        if (isSame(report) || (outcome.everything && isHere)) {
          report.postponedAt = now;
          report.notBefore = Math.max(report.notBefore, now + seconds);
        }
      }
    });
  }
}

function keyOf({ campaign, round }: { campaign: string; round: number }): string {
  return `${campaign} ${round}`;
}

function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });
}
