/** What an app decides, and what the calls of a client return. ε is in nano-ε. */

import type { Manifest } from "./documents/manifest.ts";
import { devicePart } from "./documents/part.ts";
import { WrongArgument } from "./errors.ts";
import type { Ledger } from "./ledgers/ledger.ts";
import type { Randomness } from "./randomizers/random.ts";
import type { AnswerStatus } from "./rules/answering.ts";
import { Caps } from "./rules/caps.ts";
import type { MixedGuarantee } from "./shuffled/reports.ts";

/** A function of the app's: given a campaign's id, a round and the blinded element, it gives bytes. */
export type AppCall = (campaign: string, round: number, element: Uint8Array) => Uint8Array | Promise<Uint8Array>;

export interface ClientOptions {
  /** The server's address, such as https://telemetry.example. */
  readonly server: string;
  /** Where the account is kept. A page may leave it out for its origin's IndexedDB. */
  readonly ledger?: Ledger;
  readonly caps: Caps;
  /** The campaign's upload token, the same for every device. */
  readonly uploadToken?: string;
  /** Whether the SDK sends by itself, too, as pages do by default; `flush` does so at once in any case. */
  readonly autoFlush?: boolean;
  /** Whether to answer where the browser may delete the account; the device would then answer all again. */
  readonly evictable?: "refuse" | "allow";
  /** The most bytes of a plan that are fetched and verified. */
  readonly largestPart?: number;
  readonly spoolLimit?: number;
  /** For the app's tests: throws on values that are not listed. */
  readonly strict?: boolean;
  /** Answers up to the debit and sends nothing. */
  readonly dryRun?: boolean;
  /** How many campaigns are joined from lists in a period of the caps; 3. */
  readonly joinsPerPeriod?: number;
  /** The credential for the gate `hook` of a campaign with tokens, such as an attestation of the platform. */
  readonly attest?: AppCall;
  /** Has the app's backend ask at the gate `account`: gives the bytes of its `token_evaluations`. */
  readonly issue?: AppCall;
  readonly allowHttp?: boolean;
  /** Up to four Ed25519 keys in hexadecimal digits: a manifest that none of them signed is not joined. */
  readonly manifestKeys?: readonly string[];
  /** The public log that campaigns have to be in: its verifier key, or up to four in the order of their rotation. */
  readonly log?: string | readonly string[];
  readonly witnesses?: readonly string[];
  /** How many witnesses have to vouch for a checkpoint: 1 where there are witnesses. */
  readonly quorum?: number;
  /** With "prefer" campaigns are joined also while there is no proof. */
  readonly logPolicy?: "require" | "prefer";
  /** For tests and proxies. */
  readonly fetch?: typeof globalThis.fetch;
  readonly now?: () => number;
  readonly random?: Randomness;
}

/** A joined campaign. Show `purpose` to the owner; `guarantee` is the most nano-ε that it may spend on one device. */
export interface Campaign {
  readonly id: string;
  readonly name: string;
  readonly purpose: string;
  readonly guarantee: bigint;
  readonly manifest: Manifest;
  /** What holds against the collector alone where a shuffler mixes random answers in: show it, too. */
  readonly mixed: MixedGuarantee | null;
  readonly arm: string | null;
  /** Why the cap of a period refuses some answers of a series, for the app's developer; null where it refuses none. */
  readonly capConflict: string | null;
  readonly optedOut: boolean;
}

/** What became of an answer; `spent` is what this call cost in nano-ε. `round` is the period's number in a series. */
export interface Answer {
  readonly status: AnswerStatus;
  readonly campaign: string;
  readonly round: number | null;
  readonly spent: bigint | null;
}

/** What became of an answer. */
export function answerOf(
  status: AnswerStatus,
  campaign: string,
  round: number | null = null,
  nano: bigint | null = null,
): Answer {
  return { status, campaign, round, spent: status === "recorded" ? nano : null };
}

/** The id of a campaign that is given in either way. */
export function idOf(campaign: Campaign | string): string {
  const id = typeof campaign === "string" ? campaign : campaign?.id;
  if (!/^[0-9a-f]{64}$/.test(id)) throw new WrongArgument("a campaign's id has 64 lower-case hexadecimal digits");
  return id;
}

/** Throws WrongArgument for options by which nothing could be spent, kept or sent. */
export function checkOptions({ caps, largestPart = 1, spoolLimit = 1, joinsPerPeriod = 1, uploadToken = "x" }: Partial<ClientOptions> = {}): void {
  if (!(caps instanceof Caps)) {
    throw new WrongArgument('caps are Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" })');
  }
  checkWhole(largestPart, devicePart.limit, "largestPart");
  checkWhole(joinsPerPeriod + 1, 10_001, "joinsPerPeriod + 1");
  checkWhole(spoolLimit, 100_000, "spoolLimit");
  if (!/^[!-~]+$/.test(uploadToken)) throw new WrongArgument("an upload token is printable ASCII without blanks");
}

function checkWhole(number: number, most: number, what: string): void {
  if (!Number.isInteger(number) || number < 1 || number > most) {
    throw new WrongArgument(`${what} is a whole number from 1 to ${most}`);
  }
}

/** The server's address in its one spelling; https alone, except to this machine. */
export function originOf({ server, allowHttp = false }: ClientOptions): string {
  const url = URL.canParse(server) ? new URL(server) : null;
  const isHere = url !== null && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && (allowHttp || isHere));
  if (!url || !isSafe || url.search || url.hash || url.username || url.password) {
    throw new WrongArgument("the server's address is one such as https://telemetry.example");
  }
  return url.origin + url.pathname.replace(/\/$/, "");
}
