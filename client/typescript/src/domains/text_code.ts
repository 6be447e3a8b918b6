/** A public code of text in bits: canonical words of bytes and tokens, taken by longest match from the left. */

import { compareBytes, toHex } from "../bytes.ts";
import { InvalidValue } from "../errors.ts";

const BYTES = 256;
const MAX_TOKENS = 4096;
const MAX_WORD_BITS = 32;
const MAX_TOKENS_BYTES = 48 << 10;

/** The word of byte b has lengths[b] bits, then come those of the tokens, of END and of NONE. */
export class TextCode {
  readonly tokens: readonly Uint8Array[];
  readonly lengths: Uint8Array;
  private readonly words: readonly bigint[];
  private readonly places: ReadonlyMap<string, number>;
  private readonly tokenLengths: readonly number[];

  constructor(tokens: readonly Uint8Array[], lengths: Uint8Array) {
    this.tokens = tokens;
    this.lengths = lengths;
    this.checkTokens();
    this.checkLengths();
    this.words = canonicalWords(lengths);
    this.places = new Map(tokens.map((token, at) => [toHex(token), BYTES + at]));
    this.tokenLengths = [...new Set(tokens.map((token) => token.length))].sort((first, second) => second - first);
  }

  /** The first `depth` bits of the code of UTF-8 bytes, or of no text, as an integer. */
  firstBits(text: Uint8Array | null, depth: number): bigint {
    let code = 0n;
    let bits = 0;
    for (const place of this.wordsOf(text)) {
      code = (code << BigInt(this.lengths[place]!)) | this.words[place]!;
      bits += this.lengths[place]!;
      if (bits >= depth) return code >> BigInt(bits - depth);
    }
    return code << BigInt(depth - bits);
  }

  private *wordsOf(text: Uint8Array | null): Generator<number> {
    if (text === null) {
      yield this.lengths.length - 1;
      return;
    }
    for (let at = 0; at < text.length; ) {
      const [place, length] = this.longest(text, at);
      yield place;
      at += length;
    }
    yield this.lengths.length - 2;
  }

  private longest(text: Uint8Array, at: number): [number, number] {
    for (const length of this.tokenLengths) {
      const place = this.places.get(toHex(text.subarray(at, at + length)));
      if (place !== undefined) return [place, length];
    }
    return [text[at]!, 1];
  }

  private checkTokens(): void {
    if (this.tokens.length > MAX_TOKENS) throw new InvalidValue(`there are at most ${MAX_TOKENS} tokens`);
    if (this.tokens.some((token) => token.length < 2 || token.length > 64)) {
      throw new InvalidValue("a token has 2 to 64 bytes");
    }
    if (this.tokens.some((token, at) => at && compareBytes(this.tokens[at - 1]!, token) >= 0)) {
      throw new InvalidValue("tokens are in ascending order, each once");
    }
    if (this.tokens.reduce((sum, token) => sum + token.length, 0) > MAX_TOKENS_BYTES) {
      throw new InvalidValue(`all tokens have at most ${MAX_TOKENS_BYTES} bytes together`);
    }
  }

  private checkLengths(): void {
    const words = BYTES + this.tokens.length + 2;
    if (this.lengths.length !== words) throw new InvalidValue(`there are ${words} words`);
    if (this.lengths.some((length) => length < 1 || length > MAX_WORD_BITS)) {
      throw new InvalidValue(`a word has 1 to ${MAX_WORD_BITS} bits`);
    }
    const whole = this.lengths.reduce((sum, length) => sum + 2 ** (MAX_WORD_BITS - length), 0);
    if (whole !== 2 ** MAX_WORD_BITS) throw new InvalidValue("the words are no whole code");
  }
}

/** The bits of each word by place: numbered in order of (length, place). */
function canonicalWords(lengths: Uint8Array): bigint[] {
  const places = Array.from(lengths.keys()).sort((first, second) => lengths[first]! - lengths[second]! || first - second);
  const words = new Array<bigint>(lengths.length);
  let word = 0n;
  let before = 0;
  for (const place of places) {
    word <<= BigInt(lengths[place]! - before);
    before = lengths[place]!;
    words[place] = word++;
  }
  return words;
}
