/** Proofs that an entry is in a public log, and the daily checkpoints of a log: texts, the same for all devices. */

import { sameBytes } from "../bytes.ts";
import { logEntry, type LogEntry } from "../documents/log_entry.ts";
import { MalformedDocument, OversizedDocument } from "../errors.ts";
import { type Checkpoint, readCheckpoint } from "./notes.ts";
import { after, parted, readBase64, readHash, readNumber, readText } from "./text.ts";
import { isConsistent, leafHash, rootOfPath } from "./tree.ts";

export const MAX_PROOF_BYTES = 12_288;
export const MAX_DAYS_BYTES = 65_536;
export const MAX_DAYS = 32;
const MAX_PATH = 40;

/** An entry with its bytes, its index, and the checkpoint to whose root its path leads. */
export interface LogProof {
  readonly entry: LogEntry;
  readonly content: Uint8Array;
  readonly index: bigint;
  readonly checkpoint: Checkpoint;
}

/** The first checkpoint of a day, counted from 1970-01-01 in UTC. */
export interface LogDay {
  readonly day: bigint;
  readonly size: bigint;
  readonly root: Uint8Array;
}

/** Days in ascending order, each proved to be a beginning of the newest checkpoint. */
export interface LogDays {
  readonly days: readonly LogDay[];
  readonly newest: Checkpoint;
}

/** Throws OversizedDocument, and MalformedDocument, also for a path that leads to another root. */
export function readProof(bytes: Uint8Array): LogProof {
  if (bytes.length > MAX_PROOF_BYTES) throw new OversizedDocument(bytes.length, MAX_PROOF_BYTES);
  const [head, , note] = parted(readText(bytes), "\n\n");
  const [header, extra, place, ...hashes] = head.split("\n");
  if (header !== "c2sp.org/tlog-proof@v1" || hashes.length > MAX_PATH) {
    throw new MalformedDocument("a proof begins with its name, and has at most 40 hashes");
  }
  const content = readBase64(after("extra", extra));
  const index = readNumber(after("index", place));
  const path = hashes.map(readHash);
  const checkpoint = readCheckpoint(note);
  const root = rootOfPath(index, checkpoint.size, leafHash(content), path);
  if (!root || !sameBytes(root, checkpoint.root)) {
    throw new MalformedDocument("the path of the proof does not lead to the checkpoint's root");
  }
  return { entry: logEntry.read(content), content, index, checkpoint };
}

/** Throws OversizedDocument, and MalformedDocument, also for a day that is no beginning of the newest checkpoint. */
export function readDays(bytes: Uint8Array): LogDays {
  if (bytes.length > MAX_DAYS_BYTES) throw new OversizedDocument(bytes.length, MAX_DAYS_BYTES);
  const [head, isWhole, note] = parted(readText(bytes), "\n\n");
  const [header, ...lines] = head.split("\n");
  if (!isWhole || header !== "sordino/log-days@v1") throw new MalformedDocument("a list of days begins with its name");
  const newest = readCheckpoint(note);
  const blocks: string[][] = [];
  for (const line of lines) {
    if (line.startsWith("day ")) blocks.push([]);
    if (!blocks.length) throw new MalformedDocument("the first line of a day is `day`, its number, size and root");
    blocks.at(-1)!.push(line);
  }
  const days = blocks.map((block) => readDay(block, newest));
  if (days.length > MAX_DAYS || days.some(({ day }, at) => at && days[at - 1]!.day >= day)) {
    throw new MalformedDocument(`a list has at most ${MAX_DAYS} days, ascending`);
  }
  return { days, newest };
}

function readDay([first, ...hashes]: string[], { size: newest, root: last }: Checkpoint): LogDay {
  const words = first!.split(" ");
  if (words.length !== 4 || hashes.length > MAX_PATH + 1) {
    throw new MalformedDocument("a day has its number, size and root, and at most 41 hashes");
  }
  const [day, size] = [readNumber(words[1]!), readNumber(words[2]!)];
  const root = readHash(words[3]!);
  if (!isConsistent([size, root], [newest, last], hashes.map(readHash))) {
    throw new MalformedDocument(`the checkpoint of day ${day} is no beginning of the newest one`);
  }
  return { day, size, root };
}
