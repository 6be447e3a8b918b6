/** What a device keeps, and the one way to change it. */

/** A device in one series: it answers no period before `nextPeriod`, and not before `nextAt`. */
export interface SeriesState {
  readonly phase: number;
  readonly answers: number;
  readonly nextPeriod: number;
  readonly nextAt: number;
  readonly ended: boolean;
  /** The campaign that took its place. */
  readonly replacedBy?: string;
  /** The retry window of the last task. */
  readonly retry: RetryWindow;
}

/** Seconds that a device waits before it tries again: uniform between the two. */
export interface RetryWindow {
  readonly minS: number;
  readonly maxS: number;
}

/** A joined campaign. Documents are in hexadecimal digits. */
export interface Joined {
  readonly manifest: string;
  readonly origin: string;
  readonly drawnRound: number | null;
  readonly arm: number | null;
  /** The digest of each round's device part, as the first task named it. */
  plans: Record<number, string>;
  /** The task that was read last, when, and until when it may be used without a connection. */
  task: { readonly content: string; readonly readAt: number; readonly answerUntil: number | null } | null;
  /** The highest number of a signed task. */
  taskNumber: number;
  series: SeriesState | null;
  leftAt: number | null;
}

/** What an answer cost, in nano-ε as decimal digits; never changed, deleted or refunded. */
export interface Debit {
  readonly campaign: string;
  readonly round: number;
  readonly nano: string;
  readonly at: number;
  readonly periodStart: number | null;
}

/** A report that waits: the bytes that are sent, and sent again. */
export interface Waiting {
  readonly campaign: string;
  readonly round: number;
  readonly body: string;
  readonly retry: RetryWindow;
  /** Whether it is sealed, and goes to a shuffler. */
  readonly isSealed: boolean;
  readonly expiresAt: number | null;
  readonly answeredAt: number;
  failures: number;
  postponedAt: number;
  notBefore: number;
}

/** A checkpoint of a public log that this device accepted, with the texts of proofs; or one that contradicts another. */
export interface LogMark {
  /** The verifier key of the log: another key is another log, also under the same name. */
  readonly key: string;
  /** In decimal digits. */
  readonly size: string;
  readonly root: string;
  day: number | null;
  proofs: string[];
  readonly isRefused: boolean;
}

/** A population's list at a server: the window of 24 hours, the time of the next look, the last list that was seen. */
export interface PopulationList {
  readonly windowAt: number;
  readonly dueAt: number;
  number: number;
  digest: string;
}

/** All of a ledger: what JSON holds, so that every ledger keeps the same. */
export interface LedgerState {
  readonly format: 1;
  campaigns: Record<string, Joined>;
  debits: Debit[];
  reports: Waiting[];
  /** Verified device parts by their digests, in hexadecimal digits. */
  parts: Record<string, string>;
  /** The latest time of any debit. */
  latest: number;
  leftAllAt: number | null;
  /** By campaign and round: what was drawn for a token, and the token once it is there; gone with its answer. */
  tokens?: Record<string, { readonly secret: string; readonly blind: string; readonly token: string | null }>;
  /** By server and population; and what was joined from lists. */
  lists?: Record<string, PopulationList>;
  found?: { readonly campaign: string; readonly at: number }[];
  /** Of public logs; `tried`: when the proof of a campaign was asked for in vain. */
  log?: { marks: LogMark[]; tried: Record<string, number> };
}

/** The state of a new ledger. */
export function emptyState(): LedgerState {
  return { format: 1, campaigns: {}, debits: [], reports: [], parts: {}, latest: 0, leftAllAt: null };
}

/**
 * A ledger is one method. `work` is synchronous and changes the draft that it is given; it throws to leave everything as
 * it was. It may run again after a conflict; what it returned before is dropped.
 */
export interface Ledger {
  transaction<T>(work: (state: LedgerState) => T): Promise<T>;
  /** Whether the ledger outlives the process, and whether the platform may delete it. */
  readonly persistence: "durable" | "evictable" | "memory";
  close(): Promise<void>;
}
