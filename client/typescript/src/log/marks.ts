/** What a ledger keeps of public logs: the checkpoints that it accepted, with the proofs that came with them. */

import { fromHex, toHex, utf8 } from "../bytes.ts";
import { PlanUnavailable } from "../errors.ts";
import type { LedgerState, LogMark } from "../ledgers/ledger.ts";
import type { LogPins } from "./pins.ts";
import { type LogDays, type LogProof, MAX_DAYS, readProof } from "./proofs.ts";

/** A server that lies again and again does not fill the disk. */
const MOST_REFUSED = 16;
/** The clock of a device may be behind the server's by so many days. */
const DAYS_AHEAD = 1;

/** What a server showed of the log for one campaign. */
export interface Shown {
  readonly proof: LogProof;
  readonly text: string;
  readonly days: LogDays;
  /** The latest time of a witness, 0 for none. */
  readonly vouchedAt: bigint;
}

/** The accepted checkpoints of a log, by its keys; by size, ascending. */
export function marksOf(state: LedgerState, pins: LogPins): LogMark[] {
  const found = (state.log?.marks ?? []).filter(
    ({ key, isRefused }) => !isRefused && pins.keys.some(({ text }) => text === key),
  );
  return found.sort((first, second) => (BigInt(first.size) < BigInt(second.size) ? -1 : 1));
}

/** Whether the ledger has the proof of a campaign that a pinned key signed. */
export function isProved(state: LedgerState, pins: LogPins, campaign: string): boolean {
  const subject = fromHex(campaign);
  return marksOf(state, pins).some(({ proofs }) =>
    proofs.some((text) => {
      const { entry, checkpoint } = readProof(utf8(text)!);
      const isIts = entry.event.kind === "campaign" && toHex(entry.subject) === toHex(subject);
      return isIts && pins.keys.some((key) => key.isNamedBy(checkpoint));
    }),
  );
}

/** Keeps an accepted proof beside the others of its checkpoint, and the newest day; of older days those with proofs. */
export function keepProof(state: LedgerState, key: string, { proof, text, days }: Shown): void {
  const { checkpoint } = proof;
  const mark = markAt(state, key, checkpoint.size, checkpoint.root);
  if (!mark.proofs.includes(text)) mark.proofs.push(text);
  const newest = days.days.at(-1)!;
  markAt(state, key, newest.size, newest.root).day = Number(newest.day);
  const isOver = (each: LogMark) => each.key === key && !each.proofs.length && (each.day ?? 0) < Number(newest.day);
  state.log!.marks = state.log!.marks.filter((each) => each.isRefused || !isOver(each));
}

/** Keeps a refused proof that the log signed, unless it is there already or many are. */
export function keepEvidence(state: LedgerState, key: string, { proof: { checkpoint }, text }: Shown): void {
  state.log ??= { marks: [], tried: {} };
  const refused = state.log.marks.filter(({ isRefused }) => isRefused);
  if (refused.length >= MOST_REFUSED || refused.some(({ proofs }) => proofs.includes(text))) return;
  const [size, root] = [String(checkpoint.size), toHex(checkpoint.root)];
  state.log.marks.push({ key, size, root, day: null, proofs: [text], isRefused: true });
}

/**
 * Why what is shown does not continue what this ledger accepted before; null where it does.
 *
 * Throws PlanUnavailable for an older tree that a cache may have kept.
 */
export function contradiction(pins: LogPins, known: readonly LogMark[], shown: Shown, today: number): string | null {
  const { size, root } = shown.proof.checkpoint;
  if (known.some((mark) => BigInt(mark.size) === size && mark.root !== toHex(root))) {
    return `the public log has two trees of ${size} entries: it shows this device another one than before`;
  }
  const last = known.at(-1);
  if (last && BigInt(last.size) > size) return older(pins, last, shown);
  // Else this device would keep none to look for the next time.
  if (!shown.days.days.length) return "the list of days of the public log has none";
  const dated = known.findLast(({ day }) => day !== null);
  return dated ? missingDay(dated, shown.days, today) : null;
}

function older(pins: LogPins, last: LogMark, { proof, vouchedAt }: Shown): string {
  const reason = `the public log has ${proof.checkpoint.size} entries, and ${last.size} were seen before`;
  const text = last.proofs.at(-1);
  const before = text ? pins.vouchedAt(readProof(utf8(text)!).checkpoint) : 0n;
  if (before > 0n && before < vouchedAt) return `${reason}: it went back, and witnesses vouch for it later`;
  throw new PlanUnavailable("log proof", `${reason}: a cache may have kept an older answer`);
}

/** Why the daily checkpoint that was kept is not in the list; null where it is, or is older than a full list. */
function missingDay({ size, root, day }: LogMark, { days }: LogDays, today: number): string | null {
  if (days.some((each) => String(each.size) === size && toHex(each.root) === root)) return null;
  if (days.length === MAX_DAYS && days[0]!.day > BigInt(day!)) {
    // Away for longer than a full list: witnesses vouch for the time between. A shorter one has all days of the log.
    if (days.at(-1)!.day > BigInt(today + DAYS_AHEAD)) {
      throw new PlanUnavailable("log proof", "the list has days that are yet to come by this device's clock");
    }
    return null;
  }
  return `the public log no longer has the checkpoint of ${size} entries that this device saw on day ${day}`;
}

function markAt(state: LedgerState, key: string, size: bigint, root: Uint8Array): LogMark {
  state.log ??= { marks: [], tried: {} };
  const made: LogMark = { key, size: String(size), root: toHex(root), day: null, proofs: [], isRefused: false };
  const isIt = (each: LogMark) => each.key === key && each.size === made.size && each.root === made.root && !each.isRefused;
  const found = state.log.marks.find(isIt) ?? made;
  if (found === made) state.log.marks.push(made);
  return found;
}
