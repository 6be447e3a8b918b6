/** Text that people are shown: something of it is visible, and nothing of it is hidden. The sets are the protocol's. */

import { code } from "../chunks.ts";
import { InvalidValue } from "../errors.ts";
import { text } from "./schema.ts";

// Default_Ignorable_Code_Point; every Bidi_Control is among them.
const IGNORABLE =
  "\\u{ad}\\u{34f}\\u{61c}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180b}-\\u{180f}\\u{200b}-\\u{200f}\\u{202a}-\\u{202e}" +
  "\\u{2060}-\\u{206f}\\u{3164}\\u{fe00}-\\u{fe0f}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fff8}\\u{1bca0}-\\u{1bca3}" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const CONTROLS = "\\u{0}-\\u{1f}\\u{7f}-\\u{9f}\\u{d800}-\\u{dfff}\\u{2028}\\u{2029}";
const HIDDEN = new RegExp(`[${CONTROLS}${IGNORABLE}]`, "u");
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/gu;
const EMPTY = new Set(["\u2800", "\u{13441}", "\u{13442}", "\u{1d159}"]);
const BLANK_ENDS = /^[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]$/u;

/** 1 to 200 characters on one line, one of them visible and none hidden, without blanks at either end. */
export function checkName(name: string, what: string): void {
  checkLength(name, 1, 200, what);
  if (BLANK_ENDS.test(name)) throw new InvalidValue(`${what} must neither begin nor end with a blank`);
  checkText(name, what);
}

/** `low` to `high` characters, which are Unicode code points. */
export function checkLength(shown: string, low: number, high: number, what: string): void {
  const length = shown.length > 2 * high ? shown.length : [...shown].length;
  if (length < low || length > high) throw new InvalidValue(`${what} must have ${low} to ${high} characters`);
}

/** 1 to 2000 characters that people see, on one line or more. */
export const purpose = text((each) => {
  checkLength(each, 1, 2000, "the purpose");
  checkText(each.replaceAll("\n", " "), "the purpose");
});

function checkText(shown: string, what: string): void {
  // Characters that are hidden elsewhere shape an emoji: the few texts with some need the code that finds emoji.
  const shows = (shown.match(VISIBLE) ?? []).some((character) => !EMPTY.has(character));
  if (!shows || (HIDDEN.test(shown) && HIDDEN.test(code("extras").withoutEmoji(shown)))) {
    throw new InvalidValue(`${what} must be legible: something visible, and no control or invisible characters`);
  }
}
