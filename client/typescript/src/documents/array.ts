/** Arrays on the wire: element type, shape and little-endian bytes. */

import { InvalidValue } from "../errors.ts";
import { array, built, bytes, oneOf, record, type Schema, whole } from "./schema.ts";

const WIDTHS = { "|u1": 1, "<i4": 4, "<i8": 8, "<u8": 8, "<f8": 8 } as const;
export type Element = keyof typeof WIDTHS;
const MAX_ENTRIES = 2 ** 30;

/** An array of one or two dimensions. */
export class WireArray {
  readonly element: Element;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
  private readonly view: DataView;

  constructor(element: Element, shape: readonly number[], data: Uint8Array) {
    this.element = element;
    this.shape = shape;
    this.data = data;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const expected = shape.reduce((product, size) => product * size, WIDTHS[element]);
    if (data.length !== expected) throw new InvalidValue(`the array needs ${expected} bytes, got ${data.length}`);
    if (element === "<f8" && !this.isFinite()) throw new InvalidValue("the array holds a number that is not finite");
  }

  /** How many numbers there are. */
  get length(): number {
    return this.data.length / WIDTHS[this.element];
  }

  /** Number `index` of an array of unsigned 64-bit words. */
  word(index: number): bigint {
    return this.view.getBigUint64(8 * index, true);
  }

  /** The upper and lower 32 bits of word `index`. */
  halves(index: number): readonly [number, number] {
    return [this.view.getUint32(8 * index + 4, true), this.view.getUint32(8 * index, true)];
  }

  /** Number `index` of an array of signed 32-bit integers. */
  signed(index: number): number {
    return this.view.getInt32(4 * index, true);
  }

  /** All words. */
  words(): bigint[] {
    return Array.from({ length: this.length }, (_, index) => this.word(index));
  }

  /** Throws unless the array has this element type and shape. */
  checkForm(element: Element, shape: readonly number[], what: string): void {
    if (this.element !== element || this.shape.join() !== shape.join()) {
      throw new InvalidValue(`${what} must be ${element}[${shape}], got ${this.element}[${this.shape}]`);
    }
  }

  private isFinite(): boolean {
    for (let at = 0; at < this.data.length; at += 8) {
      if (!Number.isFinite(this.view.getFloat64(at, true))) return false;
    }
    return true;
  }
}

export const wireArray: Schema<WireArray> = built(
  record({
    element: oneOf(...(Object.keys(WIDTHS) as Element[])),
    shape: array(whole(1, MAX_ENTRIES), 1, 2),
    data: bytes(),
  }),
  ({ element, shape, data }) => new WireArray(element, shape, data),
  (value) => value,
);
