/** A page that sends by itself: at a random time after an answer, when it is online again, and when it is left. */

import type { Flushed } from "./sending.ts";

/** No sooner than this is tried again what another tab sends, or what failed. */
const LEAST_AGAIN_S = 60;

/** What a page listens to; `stop` ends it. Elsewhere, as in node, there are no such events: there is the timer alone. */
export class AutoFlush {
  private readonly stopping = new AbortController();
  private readonly flush: () => Promise<Flushed>;
  private timer: { readonly at: number; readonly id: ReturnType<typeof setTimeout> } | null = null;

  constructor(flush: () => Promise<Flushed>, sendNow: () => void) {
    this.flush = flush;
    if (typeof document === "undefined") return;
    const { signal } = this.stopping;
    const isHidden = () => document.visibilityState === "hidden" && sendNow();
    document.addEventListener("visibilitychange", isHidden, { signal });
    addEventListener("pagehide", sendNow, { signal });
    addEventListener("online", () => void this.try(), { signal });
  }

  /** Sends in so many seconds, or before if that was said; as long as anything waits, again when that is due. */
  later(seconds: number): void {
    const at = Date.now() + 1000 * seconds;
    if (this.stopping.signal.aborted || (this.timer && this.timer.at <= at)) return;
    clearTimeout(this.timer?.id);
    this.timer = { at, id: setTimeout(() => void this.try(), 1000 * seconds) };
  }

  stop(): void {
    this.stopping.abort();
    clearTimeout(this.timer?.id);
  }

  private async try(): Promise<void> {
    clearTimeout(this.timer?.id);
    this.timer = null;
    // Nobody waits for it: what fails stays in the ledger.
    const flushed = await this.flush().catch(() => null);
    if (flushed && flushed.retryInS !== null) this.later(Math.max(flushed.retryInS, LEAST_AGAIN_S));
  }
}
