/** Times in the headers of an answer. */

import type { Answered } from "../transport.ts";

/** Unix seconds by the response's Date, its Age in a cache added; null where it shows none. */
export function serverTime({ headers }: Answered): number | null {
  const moment = httpDate(headers.get("date") ?? "");
  const age = (headers.get("age") ?? "").trim();
  return moment === null || !/^[0-9]+$/.test(age) ? moment : moment + Number(age);
}

/** Unix seconds of a date in a header; null where it is none. */
export function httpDate(text: string): number | null {
  // Without a zone, as asctime writes it, it is Greenwich's all the same, and not this device's.
  const zoned = /(GMT|UTC|[+-][0-9]{4})$/.test(text) ? text : `${text} GMT`;
  const moment = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(zoned) : NaN;
  return Number.isNaN(moment) ? null : moment / 1000;
}
