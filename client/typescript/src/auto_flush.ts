/** A page that sends by itself: at a random time after an answer, when it is online again, and when it is left. */

/** What a page listens to; `stop` ends it. Elsewhere, as in node, there are no such events and nothing happens. */
export class AutoFlush {
  private readonly stopping = new AbortController();
  private readonly flush: () => Promise<unknown>;

  constructor(flush: () => Promise<unknown>, sendNow: () => void) {
    this.flush = flush;
    if (typeof document === "undefined") return;
    const { signal } = this.stopping;
    const isHidden = () => document.visibilityState === "hidden" && sendNow();
    document.addEventListener("visibilitychange", isHidden, { signal });
    addEventListener("pagehide", sendNow, { signal });
    addEventListener("online", () => this.try(), { signal });
  }

  /** Sends in so many seconds, unless the page is left before. */
  later(seconds: number): void {
    const timer = setTimeout(() => this.try(), 1000 * seconds);
    this.stopping.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  stop(): void {
    this.stopping.abort();
  }

  private try(): void {
    // Nobody waits for it: what fails stays in the ledger.
    this.flush().catch(() => null);
  }
}
