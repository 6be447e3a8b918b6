/** What a response to an upload means, and how long to wait before the same bytes are sent again. */

import { code } from "../chunks.ts";
import { reportOutcomes } from "../documents/outcomes.ts";
import { SordinoError } from "../errors.ts";
import type { RetryWindow, Waiting } from "../ledgers/ledger.ts";
import { drawBits, type Randomness } from "../randomizers/random.ts";
import { type Answered, problemSlug } from "../transport.ts";
import { httpDate } from "./http_dates.ts";

const MOST_DELAY_S = 86_400;
const UNAUTHORIZED_FOR_S = 30 * 86_400;
/** Said about these very bytes: they will not be counted however often they are sent. */
const FINAL = [
  "not-found",
  "round-not-open",
  "plan-mismatch",
  "wrong-route",
  "malformed-body",
  "too-large",
  "unsupported-media-type",
  "invalid-request",
];

/** What became of a report: final, or to be sent again; `everything` waits where it is not about this report alone. */
export type Outcome =
  | { readonly kind: "counted" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "later"; readonly reason: string; readonly afterS: number | null; readonly everything: boolean };

/** Reads the answer to an upload of one report. */
export function readOutcome(answer: Answered, { answeredAt, isSealed }: Waiting, now: number): Outcome {
  const later = (reason: string, everything = false): Outcome => {
    return { kind: "later", reason, afterS: retryAfter(answer, now), everything };
  };
  if (answer.status === 200) return readCounted(answer.content, isSealed === true) ?? later("the outcome does not add up");
  const slug = problemSlug(answer);
  const isRefusal = answer.status >= 400 && answer.status < 500;
  if (isRefusal && slug !== null && FINAL.includes(slug)) return { kind: "refused", reason: slug };
  const reason = `HTTP ${answer.status}${slug === null ? "" : ` (${slug})`}`;
  const isUnauthorized = answer.status === 401 || answer.status === 403;
  if (isUnauthorized && now - answeredAt > UNAUTHORIZED_FOR_S) return { kind: "refused", reason };
  return later(reason, [429, 503, 507].includes(answer.status));
}

function readCounted(content: Uint8Array, isSealed: boolean): Outcome | null {
  try {
    // A shuffler refuses no report alone.
    const { accepted, replayed, refused } = isSealed
      ? { ...code("shuffled").sealedOutcomes.read(content), refused: [] }
      : reportOutcomes.read(content);
    if (accepted + replayed + refused.length !== 1) return null;
    return refused[0] ? { kind: "refused", reason: refused[0].reason } : { kind: "counted" };
  } catch (error) {
    if (error instanceof SordinoError) return null;
    throw error;
  }
}

/** Seconds of the Retry-After header, at most a day; null where it is absent or unreadable. */
export function retryAfter({ headers }: Answered, now: number): number | null {
  const text = (headers.get("retry-after") ?? "").trim();
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text), MOST_DELAY_S);
  const moment = httpDate(text);
  return moment === null ? null : Math.min(Math.max(moment - now, 0), MOST_DELAY_S);
}

/** Uniform in the task's window, doubled with every failure; never before Retry-After, and spread beyond it. */
export function delay(
  { minS, maxS }: RetryWindow,
  failures: number,
  afterS: number | null,
  random: Randomness,
): number {
  const [low, high] = [Math.max(minS, 1), Math.max(maxS, 2)];
  const share = Number(drawBits(random, 32)) / 2 ** 32;
  const backoff = (low + share * (high - low)) * 2 ** Math.min(failures, 8);
  const asked = afterS === null ? 0 : afterS + share * high;
  return Math.min(Math.max(backoff, asked), 2 * MOST_DELAY_S);
}
