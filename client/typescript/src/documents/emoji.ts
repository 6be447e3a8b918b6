/** Emoji in a text, whose sequences hold characters that are hidden elsewhere. The sets are the protocol's. */

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

/** The text without its emoji. */
export function withoutEmoji(text: string): string {
  return text.replace(EMOJI_SEQUENCE, "");
}
