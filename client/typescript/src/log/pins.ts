/** Keys of a public log and of its witnesses, and which checkpoints they make acceptable (C2SP notes, cosignatures). */

import { bigEndian, joined, sameBytes, toHex } from "../bytes.ts";
import { verify } from "../curve/ed25519.ts";
import { decoded, hasSmallOrder } from "../curve/edwards.ts";
import { digestOf } from "../documents/document.ts";
import { InvalidValue, WrongArgument } from "../errors.ts";
import type { Checkpoint } from "./notes.ts";
import { parted, readBase64, writtenBase64 } from "./text.ts";

const LOG_KIND = 1;
const WITNESS_KIND = 4;
const MAX_WITNESSES = 8;
const MAX_KEYS = 4;
/** A witness whose clock is further ahead could vouch for a tree that is yet to come. */
const MOST_AHEAD_S = 86_400n;
const TEXT = new TextEncoder();

/** The log signed it, and too few of the pinned witnesses have cosigned it so far. */
export class TooFewWitnesses extends InvalidValue {}

/** A public key of notes, written as name, first four bytes of its id, base64 of kind and key. */
export class NoteKey {
  readonly text: string;
  readonly name: string;
  readonly kind: number;
  readonly key: Uint8Array;
  private readonly id: Uint8Array;

  /** Throws WrongArgument. */
  constructor(text: string) {
    const [name, , rest] = parted(String(text), "+");
    const [id, , encoded] = parted(rest, "+");
    const content = bytesOf(encoded);
    if (content.length !== 33 || !/^[!-*,-~]{1,200}$/.test(name) || !/^[0-9a-f]{8}$/.test(id)) {
      throw new WrongArgument("a verifier key is written as telemetry.example/log+8fa3c201+AX…");
    }
    [this.text, this.name, this.kind, this.key] = [text, name, content[0]!, content.subarray(1)];
    const point = decoded(this.key);
    if ((this.kind !== LOG_KIND && this.kind !== WITNESS_KIND) || !point || hasSmallOrder(point)) {
      throw new WrongArgument(`the key of ${name} is none of Ed25519 for a log or a witness`);
    }
    this.id = digestOf(TEXT.encode(`${name}\n`), content).subarray(0, 4);
    if (`${name}+${toHex(this.id)}+${writtenBase64(content)}` !== text) {
      throw new WrongArgument(`the key of ${name} has another id than ${id}: copy it again`);
    }
  }

  /** Whether a checkpoint has a line of this key; the signature itself is not checked. */
  isNamedBy(checkpoint: Checkpoint): boolean {
    return this.own(checkpoint).length > 0;
  }

  /** Whether a checkpoint has the signature of this log. */
  signed(checkpoint: Checkpoint): boolean {
    const message = TEXT.encode(checkpoint.text);
    return this.own(checkpoint).some((signature) => verify(this.key, signature, message));
  }

  /** When this witness cosigned a checkpoint, in Unix seconds, by each signature that holds. */
  cosignedAt(checkpoint: Checkpoint): bigint[] {
    return this.own(checkpoint).flatMap((signature) => {
      const time = bigEndian(signature.subarray(0, 8));
      const message = TEXT.encode(`cosignature/v1\ntime ${time}\n${checkpoint.text}`);
      return signature.length === 72 && verify(this.key, signature.subarray(8), message) ? [time] : [];
    });
  }

  private own({ signatures }: Checkpoint): Uint8Array[] {
    const named = signatures.filter(({ name, keyId }) => name === this.name && sameBytes(keyId, this.id));
    return named.map(({ signature }) => signature);
  }
}

/** What an app pins of a public log. */
export interface LogOptions {
  /** The verifier key of the log, or up to four in the order of their rotation. */
  readonly log: string | readonly string[];
  readonly witnesses?: readonly string[];
  /** How many witnesses have to vouch for a checkpoint: 1 where there are witnesses. */
  readonly quorum?: number;
}

/** Up to four keys of one log, the newest last, its witnesses, and how many of them have to vouch for a checkpoint. */
export class LogPins {
  readonly keys: readonly NoteKey[];
  readonly witnesses: readonly NoteKey[];
  readonly quorum: number;

  /** Throws WrongArgument. */
  constructor({ log, witnesses = [], quorum }: LogOptions) {
    this.keys = (typeof log === "string" ? [log] : [...log]).map((each) => new NoteKey(each));
    this.witnesses = [...witnesses].map((each) => new NoteKey(each));
    this.quorum = quorum ?? (this.witnesses.length ? 1 : 0);
    if (!this.keys.length) throw new WrongArgument("log is a verifier key, or several of one log");
    if (this.keys.some(({ kind }) => kind !== LOG_KIND)) throw new WrongArgument("a key of the log is a witness's");
    if (new Set(this.keys.map(({ name }) => name)).size > 1) throw new WrongArgument("the keys are those of two logs");
    if (this.witnesses.some(({ kind }) => kind !== WITNESS_KIND)) {
      throw new WrongArgument("the key of a witness has kind 4: its base64 begins with B");
    }
    checkDifferent(this.keys, MAX_KEYS);
    checkDifferent(this.witnesses, MAX_WITNESSES);
    if (!Number.isInteger(this.quorum) || this.quorum < 0 || this.quorum > this.witnesses.length) {
      throw new WrongArgument(`the quorum is 0 to ${this.witnesses.length}, the number of witnesses`);
    }
  }

  /**
   * The witnesses who vouched for a checkpoint at `now`, each once.
   *
   * Throws InvalidValue where no pinned key signed it, and TooFewWitnesses unless enough of them did, by no time that is
   * more than a day ahead.
   */
  accept(checkpoint: Checkpoint, now: number): { names: string[]; at: bigint } {
    const { name } = this.keys[0]!;
    if (checkpoint.origin !== name) throw new InvalidValue(`the checkpoint is not one of ${name}`);
    if (!this.keys.some((key) => key.signed(checkpoint))) {
      throw new InvalidValue(`the checkpoint has no valid signature of ${name}`);
    }
    const latest = BigInt(Math.floor(now)) + MOST_AHEAD_S;
    const usable = this.witnesses.map((each) => [each.name, each.cosignedAt(checkpoint).filter((at) => at <= latest)] as const);
    const names = new Set(usable.flatMap(([each, times]) => (times.length ? [each] : [])));
    if (names.size < this.quorum) {
      throw new TooFewWitnesses(`${names.size} of its witnesses vouch for it, ${this.quorum} are needed`);
    }
    return { names: [...names], at: latestOf(usable.flatMap(([, times]) => times)) };
  }

  /** The latest time at which a pinned witness vouched for a checkpoint, 0 for none. */
  vouchedAt(checkpoint: Checkpoint): bigint {
    return latestOf(this.witnesses.flatMap((each) => each.cosignedAt(checkpoint)));
  }
}

function checkDifferent(keys: readonly NoteKey[], most: number): void {
  if (keys.length > most || new Set(keys.map(({ key }) => toHex(key))).size < keys.length) {
    throw new WrongArgument(`up to ${most} different keys are pinned`);
  }
}

function latestOf(times: readonly bigint[]): bigint {
  return times.reduce((latest, time) => (time > latest ? time : latest), 0n);
}

function bytesOf(encoded: string): Uint8Array {
  try {
    return readBase64(encoded);
  } catch {
    return joined();
  }
}
