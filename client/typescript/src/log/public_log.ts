/**
 * What a device checks against the public log that its app pins: the same campaign, in the same list, as everybody.
 *
 * Two requests, the same for all devices: the proof of a campaign, and the list of daily checkpoints. None says what this
 * device has seen.
 */

import { fromHex, sameBytes } from "../bytes.ts";
import { type LogEntry, entryOfManifest, logEntry } from "../documents/log_entry.ts";
import type { Manifest } from "../documents/manifest.ts";
import type { Device } from "../device.ts";
import { PlanRefused, PlanUnavailable, SordinoError, WrongArgument } from "../errors.ts";
import { fetched } from "../fetching.ts";
import { contradiction, isProved, keepEvidence, keepProof, marksOf, type Shown } from "./marks.ts";
import { LogPins, TooFewWitnesses } from "./pins.ts";
import { MAX_DAYS_BYTES, MAX_PROOF_BYTES, readDays, readProof } from "./proofs.ts";

const WHAT = "log proof";
const PLAIN = "text/plain";
const DAY_S = 86_400;
/** The log may have grown between the two requests: then both are made again, once. */
const TRIES = 2;

export class PublicLog {
  readonly pins: LogPins;
  private readonly device: Device;
  private readonly prefers: boolean;

  /** Throws WrongArgument. */
  constructor(device: Device) {
    const { log, witnesses, quorum, logPolicy = "require" } = device.options;
    if (logPolicy !== "require" && logPolicy !== "prefer") throw new WrongArgument('logPolicy is "require" or "prefer"');
    this.pins = new LogPins({ log: log!, ...(witnesses && { witnesses }), ...(quorum !== undefined && { quorum }) });
    this.device = device;
    this.prefers = logPolicy === "prefer";
  }

  /**
   * Proves that a manifest is in the log before it is joined.
   *
   * Throws PlanRefused for a wrong proof, and PlanUnavailable where there is none, unless the app prefers to join then: it
   * is asked for again daily.
   */
  async checkManifest(manifest: Manifest, campaign: string): Promise<void> {
    const subject = fromHex(campaign);
    // A shuffler may have campaigns of several logs, so it is told of which this one is.
    const days = manifest.route.kind === "shuffled" ? `?campaign=${campaign}` : "";
    const isIt = ({ at }: LogEntry, content: Uint8Array) =>
      sameBytes(logEntry.write(entryOfManifest(manifest, subject, at)), content);
    try {
      await this.prove(campaign, "", days, isIt);
    } catch (error) {
      if (!(error instanceof PlanUnavailable) || !this.prefers) throw error;
      await this.keepTrial(campaign);
    }
  }

  /** Asks once a day for the proof of a campaign that was joined without one; nothing stops its answers. */
  async checkAgain(manifest: Manifest, campaign: string): Promise<void> {
    const now = this.device.clock();
    const isDue = await this.device.transaction((state) => {
      const tried = state.log?.tried[campaign] ?? -DAY_S;
      // A clock that was set back does not hold it back for years.
      return !(now >= tried && now < tried + DAY_S) && !isProved(state, this.pins, campaign);
    });
    if (!isDue) return;
    try {
      await this.checkManifest(manifest, campaign);
    } catch (error) {
      if (!(error instanceof PlanRefused || error instanceof PlanUnavailable)) throw error;
      await this.keepTrial(campaign);
    }
  }

  /** Proves that a later round's plan is in the log; a log that is down stops nobody who joined. */
  async checkPlan(campaign: string, round: number, digest: Uint8Array): Promise<void> {
    const id = fromHex(campaign);
    const isIt = ({ event, subject }: LogEntry) =>
      event.kind === "plan" && event.round === round && sameBytes(event.campaign, id) && sameBytes(subject, digest);
    try {
      await this.prove(campaign, `/rounds/${round}`, "", isIt);
    } catch (error) {
      if (!(error instanceof PlanUnavailable)) throw error;
    }
  }

  private async prove(
    campaign: string,
    place: string,
    days: string,
    isIt: (entry: LogEntry, content: Uint8Array) => boolean,
  ): Promise<void> {
    const shown = await this.shown(campaign, place, days);
    const today = Math.floor(this.device.clock() / DAY_S);
    const known = await this.device.transaction((state) => marksOf(state, this.pins));
    const isOther = !isIt(shown.proof.entry, shown.proof.content);
    const wrong = isOther ? "its entry is about something else" : contradiction(this.pins, known, shown, today);
    // Kept under the newest key: an app that ships both goes on where the one before it was.
    const key = this.pins.keys.at(-1)!.text;
    await this.device.transaction((state) => (wrong ? keepEvidence : keepProof)(state, key, shown));
    if (wrong) throw new PlanRefused(WHAT, wrong);
  }

  /** A proof and the days that lead to its checkpoint, both accepted. */
  private async shown(campaign: string, place: string, days: string): Promise<Shown> {
    const { transport } = this.device;
    for (let left = TRIES; left; left--) {
      const path = `/v1/campaigns/${campaign}${place}/log-proof`;
      const { content } = await fetched(transport, WHAT, path, MAX_PROOF_BYTES, PLAIN);
      const listed = await fetched(transport, "list of log days", `/v1/log/days${days}`, MAX_DAYS_BYTES, PLAIN);
      const shown = this.read(content, listed.content);
      if (shown.days.newest.text === shown.proof.checkpoint.text) return shown;
    }
    throw new PlanUnavailable(WHAT, "the log's proof and its list of days are of two moments");
  }

  private read(content: Uint8Array, listed: Uint8Array): Shown {
    try {
      const proof = readProof(content);
      const { at } = this.pins.accept(proof.checkpoint, this.device.clock());
      return { proof, text: new TextDecoder().decode(content), days: readDays(listed), vouchedAt: at };
    } catch (error) {
      // They cosign within seconds, or once they are back.
      if (error instanceof TooFewWitnesses) throw new PlanUnavailable(WHAT, error.message);
      throw error instanceof SordinoError ? new PlanRefused(WHAT, error.message, { cause: error }) : error;
    }
  }

  private keepTrial(campaign: string): Promise<void> {
    return this.device.transaction((state) => {
      state.log ??= { marks: [], tried: {} };
      state.log.tried[campaign] = Math.floor(this.device.clock());
    });
  }
}
