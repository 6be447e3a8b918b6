/** Numbers among the values that an app may pass, and exact arithmetic on doubles. */

import { InvalidValue } from "../errors.ts";
import { bitLength } from "../bytes.ts";

const DECIMAL = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const BLANK_ENDS = /^[ \t\r\n]+|[ \t\r\n]+$/g;

/** A number or bigint as it is; null for anything else, and for what is no number (NaN). */
export function exactNumber(value: unknown): number | bigint | null {
  return typeof value === "bigint" || (typeof value === "number" && !Number.isNaN(value)) ? value : null;
}

/** The double nearest to a decimal number in ASCII, blanks around it aside; null for other text. */
export function writtenNumber(value: unknown): number | null {
  if (typeof value !== "string") return null;
  const text = withoutBlanks(value);
  return DECIMAL.test(text) ? Number(text) : null;
}

/** Without the blanks of ASCII at both ends. */
export function withoutBlanks(text: string): string {
  return text.replace(BLANK_ENDS, "");
}

/** A double as `numerator`/2^`shift`, exactly. */
export function exact(value: number): { numerator: bigint; shift: number } {
  let shift = 0;
  while (!Number.isInteger(value)) {
    value *= 2;
    shift++;
  }
  return { numerator: BigInt(value), shift };
}

/** numerator/2^shift as the nearest double, ties to even; throws InvalidValue beyond all doubles. */
export function nearestDouble(numerator: bigint, shift: number): number {
  const size = numerator < 0n ? -numerator : numerator;
  // The exponent of the last place: 53 places, fewer where numbers end at 2^-1074.
  const last = Math.max(bitLength(size) - shift - 53, -1074);
  const dropped = last + shift;
  const places = dropped <= 0 ? size << BigInt(-dropped) : roundedHalfEven(size, BigInt(dropped));
  const found = scaled(Number(places), last);
  if (!Number.isFinite(found)) throw new InvalidValue("the number is beyond every double");
  return numerator < 0n ? -found : found;
}

function roundedHalfEven(size: bigint, dropped: bigint): bigint {
  const kept = size >> dropped;
  const rest = size - (kept << dropped);
  const half = 1n << (dropped - 1n);
  return rest > half || (rest === half && kept & 1n) ? kept + 1n : kept;
}

/** value·2^exponent; two steps, since 2^exponent alone may be no double. */
function scaled(value: number, exponent: number): number {
  const first = Math.trunc(exponent / 2);
  return value * 2 ** first * 2 ** (exponent - first);
}

/** A number as C's `%.{digits}g` writes it. */
export function general(value: number, digits: number): string {
  if (value === 0) return "0";
  return positional(value.toExponential(digits - 1), digits);
}

/** The shortest text that reads as this double, as Python's `repr` writes it. */
export function shortest(value: number): string {
  const text = positional(value.toExponential(), 16);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function positional(scientific: string, digits: number): string {
  const [, sign, first, fraction = "", power] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(scientific)!;
  const exponent = Number(power);
  const all = (first + fraction).replace(/0+$/, "") || "0";
  if (exponent < -4 || exponent >= digits) {
    const rest = all.slice(1);
    const places = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${all[0]}${rest && `.${rest}`}e${exponent < 0 ? "-" : "+"}${places}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${all}`;
  const padded = all.padEnd(exponent + 1, "0");
  const rest = padded.slice(exponent + 1);
  return `${sign}${padded.slice(0, exponent + 1)}${rest && `.${rest}`}`;
}
