/** A device's side of sordino: joins campaigns, answers each round once, sends reports, keeps the account of ε. */

import type { Account } from "./account.ts";
import { answerRound } from "./answering.ts";
import { load } from "./chunks.ts";
import { Device } from "./device.ts";
import type { OwnerText } from "./documents/extras.ts";
import { LedgerUnavailable, NotJoined, OptedOut, WrongArgument } from "./errors.ts";
import type { FindOptions, Found } from "./finding.ts";
import { IndexedDbLedger } from "./ledgers/indexed_db.ts";
import { type Answer, type Campaign, checkOptions, type ClientOptions, idOf } from "./options.ts";
import type { Preview } from "./preview.ts";
import { expire, leave } from "./rules/answering.ts";
import type { Period } from "./rules/series.ts";
import type { Flushed, Sender } from "./sending.ts";
import { tellTabs } from "./tabs.ts";

export class Client {
  private readonly device: Device;
  private readonly isSendingByItself: boolean;
  private sending: Promise<Sender> | null = null;
  private isClosed = false;

  private constructor(device: Device) {
    this.device = device;
    const { dryRun = false, autoFlush = typeof document !== "undefined" } = device.options;
    this.isSendingByItself = autoFlush && !dryRun;
  }

  /** A client on a ledger; throws WrongArgument, also for a generator of constant bytes. */
  static async open(options: ClientOptions): Promise<Client> {
    checkOptions(options ?? {});
    if (!options.ledger && typeof indexedDB === "undefined") {
      throw new WrongArgument("name a ledger, such as FileLedger.open(folder) of sordino-client/node");
    }
    const device = new Device(options, options.ledger ?? (await IndexedDbLedger.open()));
    device.clock();
    if (new Set(device.random.bytes(64)).size < 2) throw new WrongArgument("the generator gives one byte again and again");
    const { manifestKeys, log, witnesses, quorum } = options;
    if (manifestKeys ?? log ?? witnesses ?? quorum) {
      // Proofs that are kept are read in transactions: what names of campaigns may need is there by then.
      await load("extras");
      (await load("trust")).readPinned(device);
    }
    const client = new Client(device);
    const waiting = await device.transaction((state) => state.reports.length);
    if (client.isSendingByItself && waiting) await client.sender().then((sender) => sender.sendLeft(), ignored);
    return client;
  }

  /** Pins a campaign's manifest. Throws OptedOut, PlanUnavailable, PlanRefused, ServedElsewhere. */
  async join(campaign: string): Promise<Campaign> {
    idOf(campaign);
    const known = await this.device.transaction((state) => {
      if (state.leftAllAt !== null) throw new OptedOut();
      return campaign in state.campaigns;
    });
    if (!known) await (await load("joining")).join(this.device, campaign);
    return this.device.describe(campaign);
  }

  /**
   * Randomises a value and records the report, once for each round; `flush` sends it.
   *
   * Throws NotJoined, ServedElsewhere, PlanUnavailable, PlanRefused, WrongShape, BudgetExceeded, SpoolFull: after any of
   * them nothing was spent, and the value is nowhere.
   */
  async answer(campaign: Campaign | string, value: unknown): Promise<Answer> {
    const id = idOf(campaign);
    const { evictable = "refuse" } = this.device.options;
    if (this.device.ledger.persistence === "evictable" && evictable === "refuse") {
      throw new LedgerUnavailable('the browser may delete it, and the device would answer again: say evictable: "allow"');
    }
    const session = await this.device.session(id);
    await this.expire();
    await this.device.log?.checkAgain(session.manifest, id);
    // A page that is left right after its answer sends it: the code is there by then.
    if (this.isSendingByItself) void this.sender().catch(ignored);
    const answering = session.joined.series ? (await load("series")).answerPeriod : answerRound;
    const answer = await answering(this.device, session, value);
    if (answer.status === "recorded" && this.isSendingByItself) {
      await this.sender().then((sender) => sender.sendLater(answer), ignored);
    }
    return answer;
  }

  /** The period of a series that this device is asked about now; null if there is none. Sends nothing. */
  async due(campaign: Campaign | string): Promise<Period | null> {
    return (await load("series")).due(this.device, await this.device.session(idOf(campaign)));
  }

  /** When a series asks this device next: now, or later; null if never again. Sends nothing. */
  async nextDue(campaign: Campaign | string): Promise<Date | null> {
    return (await load("series")).nextDue(this.device, await this.device.session(idOf(campaign)));
  }

  /** The version of the app that this device shows in an experiment; null where the campaign has no arms, or was left. */
  async arm(campaign: Campaign | string): Promise<string | null> {
    return (await load("extras")).armOf(this.device, idOf(campaign));
  }

  /** The text for the owner in the first of their languages that the campaign has; null: `purpose` is what there is. */
  async text(campaign: Campaign | string, languages: readonly string[]): Promise<OwnerText | null> {
    const { manifest } = await this.device.session(idOf(campaign));
    if (!Array.isArray(languages)) throw new WrongArgument('languages are a list of tags such as ["de-CH", "en"]');
    return manifest.texts.length ? (await load("extras")).textFor(manifest.texts, languages) : null;
  }

  /** What an answer would send, for the owner to see; without a value that of the first members. No request, no debit. */
  async preview(campaign: Campaign | string, ...value: [unknown?]): Promise<Preview> {
    return (await load("preview")).preview(this.device, idOf(campaign), value[0], !value.length);
  }

  /** What a value is in a campaign, in words, for the app's tests; throws WrongShape, and OutsideDomain in production too. */
  async check(campaign: Campaign | string, value: unknown): Promise<string> {
    return (await load("preview")).check(this.device, idOf(campaign), value);
  }

  /** Moves a campaign that was joined at another address of its server to this client's `address`. */
  async rehome(campaign: Campaign | string, address: string): Promise<Campaign> {
    const id = idOf(campaign);
    await (await load("extras")).rehome(this.device, id, address);
    return this.device.describe(id);
  }

  /** Joins campaigns of a population's public list, which it looks at once in 24 hours. */
  async find(population: string, options: FindOptions): Promise<Found> {
    return (await load("finding")).find(this.device, population, options);
  }

  /** Sends what waits, exactly once each, until nothing does or `patienceS` seconds are over. */
  async flush({ patienceS = 30, signal }: { patienceS?: number; signal?: AbortSignal } = {}): Promise<Flushed> {
    await this.expire();
    const { dryRun = false } = this.device.options;
    return (await this.sender()).flush(dryRun ? 0 : patienceS, dryRun, signal);
  }

  /** What this device joined, spent and left. */
  async account(): Promise<Account> {
    return (await load("account")).accountOf(this.device);
  }

  /** Leaves a campaign for good: its reports are deleted, its debits stay. */
  async optOut(campaign: Campaign | string): Promise<void> {
    const id = idOf(campaign);
    await this.device.transaction((state) => {
      if (!state.campaigns[id]) throw new NotJoined(id);
      leave(state, id, this.device.clock());
    });
    await this.forget(id);
  }

  /** Deletes every report, and joins, answers and sends nothing until `optIn`; debits stay. */
  async optOutAll(): Promise<void> {
    await this.device.transaction((state) => {
      state.leftAllAt ??= Math.floor(this.device.clock());
      state.reports = [];
    });
    await this.forget(null);
  }

  /** Ends what `optOutAll` began; campaigns that were left one by one stay left. */
  async optIn(): Promise<void> {
    await this.device.transaction((state) => {
      state.leftAllAt = null;
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.sending?.then((sender) => sender.close(), ignored);
    await this.device.ledger.close();
  }

  /** The one sender of this client; its code is loaded at the first use. */
  private sender(): Promise<Sender> {
    return (this.sending ??= this.makeSender());
  }

  private async makeSender(): Promise<Sender> {
    try {
      const sender = new (await load("sending")).Sender(this.device, this.isSendingByItself);
      if (this.isClosed) sender.close();
      return sender;
    } catch (error) {
      // What could not be loaded is asked for again.
      this.sending = null;
      throw error;
    }
  }

  private expire(): Promise<void> {
    return this.device.transaction((state) => expire(state, this.device.clock()));
  }

  /** So that no tab sends what an owner has left. */
  private async forget(campaign: string | null): Promise<void> {
    tellTabs(this.device.ledger, campaign);
    await this.sending?.then((sender) => sender.forget(campaign), ignored);
  }
}

/** Sending by itself is a service: where it fails, the report stays in the ledger. */
function ignored(): void {}
