/**
 * A ledger of node: files in a folder of the app, one a version, which are never changed.
 *
 * A transaction writes the next version beside the others and links it to its number, which fails if another process was
 * first. Then it looks which version is the last one: a process that was stopped meanwhile may have linked a number that
 * others have passed and deleted. Only where the last version knows the transaction it is done; else its work runs again.
 */

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { LedgerUnavailable } from "../errors.ts";
import { emptyState, type Ledger, type LedgerState } from "./ledger.ts";

const VERSION = /^ledger\.([0-9]{1,15})$/;
/** How many transactions a version knows: as many may follow one before it has looked. */
const KNOWN = 64;
const STALE_MS = 3_600_000;
const ADVICE = "choose a folder on a local disk that links files, of which the app is the owner";

interface Content {
  readonly transactions: readonly string[];
  readonly state: LedgerState;
}

export class FileLedger implements Ledger {
  readonly persistence = "durable";
  private readonly folder: string;
  private isClosed = false;
  /** The last version whose name this process has synced. */
  private synced = 0;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** The ledger in a folder, which is made where it is not there. Throws LedgerUnavailable. */
  static async open(folder: string): Promise<FileLedger> {
    const ledger = new FileLedger(folder);
    await unavailable(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await ledger.removeStale();
    });
    await ledger.transaction(() => null);
    return ledger;
  }

  async transaction<T>(work: (state: LedgerState) => T): Promise<T> {
    for (;;) {
      if (this.isClosed) throw new LedgerUnavailable("it was closed");
      const [version, content] = await unavailable(() => this.last());
      const before = JSON.stringify(content.state);
      const result = work(content.state);
      // Nothing changed, and there is a version: looking needs no file.
      if (version && JSON.stringify(content.state) === before) {
        // Another process may have linked it a moment ago: a report of it is sent once it survives a power cut.
        if (version !== this.synced) await unavailable(() => this.sync(version));
        return result;
      }
      if (await unavailable(() => this.commit(version, content))) return result;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** Whether the next version was written, and is one that all others follow. */
  private async commit(version: number, { transactions, state }: Content): Promise<boolean> {
    const own = randomUUID();
    const content: Content = { transactions: [...transactions, own].slice(-KNOWN), state };
    const path = join(this.folder, `new.${own}`);
    await this.write(path, content);
    try {
      await link(path, this.path(version + 1));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      return false;
    } finally {
      await rm(path, { force: true });
    }
    const [last, found] = await this.last();
    if (last !== version + 1 && !found.transactions.includes(own)) return false;
    await this.sync(version + 1);
    await this.removeBefore(version);
    return true;
  }

  private async write(path: string, content: Content): Promise<void> {
    const text = JSON.stringify(content);
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(`${digestOf(text)}\n${text}`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** The last version and what it holds: 0, and nothing, in a new folder. */
  private async last(): Promise<[number, Content]> {
    for (;;) {
      const version = Math.max(0, ...(await this.versions()));
      if (!version) return [0, { transactions: [], state: emptyState() }];
      try {
        return [version, read(await readFile(this.path(version), "utf8"))];
      } catch (error) {
        // Others have gone on and deleted it.
        if (codeOf(error) !== "ENOENT") throw error;
      }
    }
  }

  private async versions(): Promise<number[]> {
    const names = await readdir(this.folder);
    return names.flatMap((name) => VERSION.exec(name)?.[1] ?? []).map(Number);
  }

  /** Deletes the versions before the one that the new version replaced. */
  private async removeBefore(version: number): Promise<void> {
    for (const each of await this.versions()) if (each < version) await rm(this.path(each), { force: true });
  }

  /** Deletes what processes that were killed left an hour ago. */
  private async removeStale(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      const found = name.startsWith("new.") ? await stat(path).catch(() => null) : null;
      if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(path, { force: true });
    }
  }

  /** So that the name of a version, too, survives a power cut; Windows has no such call. */
  private async sync(version: number): Promise<void> {
    if (process.platform !== "win32") await this.syncFolder();
    this.synced = version;
  }

  private async syncFolder(): Promise<void> {
    const folder = await open(this.folder, "r");
    await folder.sync().finally(() => folder.close());
  }

  private path(version: number): string {
    return join(this.folder, `ledger.${version}`);
  }
}

/** What a version holds; a damaged one is never replaced by an empty ledger, whose device would answer all again. */
function read(text: string): Content {
  const [digest, rest] = [text.slice(0, 64), text.slice(65)];
  if (text[64] !== "\n" || digestOf(rest) !== digest) throw new LedgerUnavailable("its last version is damaged");
  const content = JSON.parse(rest) as Content;
  if (content.state.format !== 1) throw new LedgerUnavailable("a later version of this SDK wrote it");
  return content;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

async function unavailable<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw error;
    throw new LedgerUnavailable(`${(error as Error).message}; ${ADVICE}`, { cause: error });
  }
}
