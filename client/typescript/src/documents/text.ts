/** Text that people are shown: something of it is visible, and nothing of it is hidden. The sets are the protocol's. */

import { InvalidValue } from "../errors.ts";
import { text } from "./schema.ts";

// Default_Ignorable_Code_Point; every Bidi_Control is among them.
const IGNORABLE =
  "\\u{ad}\\u{34f}\\u{61c}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180b}-\\u{180f}\\u{200b}-\\u{200f}\\u{202a}-\\u{202e}" +
  "\\u{2060}-\\u{206f}\\u{3164}\\u{fe00}-\\u{fe0f}\\u{feff}\\u{ffa0}\\u{fff0}-\\u{fff8}\\u{1bca0}-\\u{1bca3}" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const CONTROLS = "\\u{0}-\\u{1f}\\u{7f}-\\u{9f}\\u{d800}-\\u{dfff}\\u{2028}\\u{2029}";
const HIDDEN = new RegExp(`[${CONTROLS}${IGNORABLE}]`, "u");
const EMOJI =
  "[\\u{a9}\\u{ae}\\u{203c}\\u{2049}\\u{2122}\\u{2139}\\u{2194}-\\u{21aa}\\u{231a}-\\u{23ff}\\u{24c2}\\u{25aa}-\\u{27bf}" +
  "\\u{2934}\\u{2935}\\u{2b05}-\\u{2b55}\\u{3030}\\u{303d}\\u{3297}\\u{3299}\\u{1f000}-\\u{1faff}]";
const SHAPED = `${EMOJI}[\\u{1f3fb}-\\u{1f3ff}]?[\\u{fe0e}\\u{fe0f}]?`;
const EMOJI_SEQUENCE = new RegExp(
  "[0-9#*]\\u{fe0f}\\u{20e3}" +
    "|\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}" +
    `|${SHAPED}(?:\\u{200d}${SHAPED})*`,
  "gu",
);
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
  const shows = (shown.match(VISIBLE) ?? []).some((character) => !EMPTY.has(character));
  if (!shows || (HIDDEN.test(shown) && HIDDEN.test(shown.replace(EMOJI_SEQUENCE, "")))) {
    throw new InvalidValue(`${what} must be legible: something visible, and no control or invisible characters`);
  }
}
