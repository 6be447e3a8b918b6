/**
 * A ledger of a page: one record of an IndexedDB database of its origin, `durability: "strict"`.
 *
 * Looking, work and writing are in one `readwrite` transaction, so that two tabs are one device. Nothing is awaited in it:
 * it would end at the first foreign `await`. The browser may delete the storage of an origin; `persistence` says whether it
 * promised not to.
 */

import { LedgerUnavailable } from "../errors.ts";
import { emptyState, type Ledger, type LedgerState } from "./ledger.ts";

const STORE = "ledger";
const KEY = "state";
const BLOCKED_MS = 10_000;
/** How long a browser's user is waited for, who may be asked whether the storage is kept. */
const PROMPT_MS = 2_000;

export class IndexedDbLedger implements Ledger {
  readonly persistence: "durable" | "evictable";
  /** The name of the ledger, one an origin: apps of one origin that share an owner's caps share it. */
  readonly name: string;
  private readonly database: IDBDatabase;
  private isClosed = false;

  private constructor(name: string, database: IDBDatabase, persistence: "durable" | "evictable") {
    this.name = name;
    this.database = database;
    this.persistence = persistence;
    // A later version of the SDK waits for this connection to end.
    database.onversionchange = () => void this.close();
    database.onclose = () => (this.isClosed = true);
  }

  /** The ledger of this origin; asks the browser not to delete it. Throws LedgerUnavailable. */
  static async open(name = "sordino"): Promise<IndexedDbLedger> {
    if (typeof indexedDB === "undefined") throw new LedgerUnavailable("this platform has no IndexedDB");
    const database = await opened(name).catch(refused);
    const ledger = new IndexedDbLedger(name, database, (await isKept()) ? "durable" : "evictable");
    await ledger.transaction(() => null);
    return ledger;
  }

  transaction<T>(work: (state: LedgerState) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.isClosed) throw new LedgerUnavailable("it was closed");
      const transaction = this.database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE);
      const reading = store.get(KEY) as IDBRequest<string | undefined>;
      let result: T;
      let thrown: unknown = null;
      reading.onsuccess = () => {
        try {
          const text = reading.result;
          const state = read(text);
          result = work(state);
          const changed = JSON.stringify(state);
          if (changed !== text) store.put(changed, KEY);
          transaction.commit();
        } catch (error) {
          thrown = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(thrown ?? unavailable(transaction.error));
    }).catch(refused);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.database.close();
  }
}

/** Whether the browser promised to keep the storage of this origin. */
async function isKept(): Promise<boolean> {
  const { storage } = navigator;
  if (await storage?.persisted?.()) return true;
  // Firefox asks its user, who may never answer: then the next visit is told.
  const unanswered = new Promise<boolean>((resolve) => setTimeout(resolve, PROMPT_MS, false));
  return Promise.race([storage?.persist?.() ?? false, unanswered]);
}

function opened(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE).put(JSON.stringify(emptyState()), KEY);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(unavailable(request.error));
    request.onblocked = () => {
      const refuse = () => reject(new LedgerUnavailable("another tab keeps an older version of it open; close that tab"));
      setTimeout(refuse, BLOCKED_MS);
    };
  });
}

/** The state of a record; a lost one is never replaced by an empty ledger, whose device would answer all again. */
function read(text: string | undefined): LedgerState {
  if (text === undefined) throw new LedgerUnavailable("its record is gone");
  const state = parsed(text);
  if (state.format !== 1) throw new LedgerUnavailable("a later version of this SDK wrote it");
  return state;
}

function parsed(text: string): LedgerState {
  try {
    return JSON.parse(text) as LedgerState;
  } catch (error) {
    throw new LedgerUnavailable("its record is damaged", { cause: error });
  }
}

/** Thrown by calls themselves: where the connection ended, or an origin such as that of a sandbox has no storage. */
function refused(error: unknown): never {
  throw error instanceof DOMException ? unavailable(error) : error;
}

function unavailable(error: DOMException | null): LedgerUnavailable {
  const reason = error?.name === "QuotaExceededError" ? "the browser has no room for it" : (error?.message ?? "aborted");
  return new LedgerUnavailable(reason, { cause: error });
}
