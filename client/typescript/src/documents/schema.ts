/**
 * One table for each kind of value on the wire gives its reader, its writer and its type.
 *
 * Every field is present and no other, but for flags, which are there where they are true and nowhere else. Names are in
 * camel case here and in snake case on the wire. What a check refuses is malformed, with the path that says where.
 */

import { InvalidValue, MalformedDocument } from "../errors.ts";
import { Float, type Plain, type PlainMap } from "./cbor.ts";

/** Reads a plain value and writes it back. `absent` is what a field without an entry has; `undefined`: it must have one. */
export interface Schema<T> {
  read(plain: Plain, path: string): T;
  write(value: T): Plain;
  readonly absent?: T;
}

/** The type that a schema reads. */
export type Of<S> = S extends Schema<infer T> ? T : never;
type Fields = Record<string, Schema<any>>;
type Values<F extends Fields> = { readonly [name in keyof F]: Of<F[name]> };

function scalar<T>(what: string, read: (plain: Plain) => T | undefined, write: (value: T) => Plain): Schema<T> {
  return {
    read(plain, path) {
      const value = read(plain);
      if (value === undefined) throw new MalformedDocument(`expected ${what}`, path);
      return value;
    },
    write,
  };
}

/** The last second that a document names. */
export const MAX_TIME = 2 ** 40;

/** An integer from `low` to `high`, as a number. */
export const whole = (low: number, high: number): Schema<number> =>
  scalar(
    `an integer from ${low} to ${high}`,
    (plain) => (typeof plain === "bigint" && plain >= low && plain <= high ? Number(plain) : undefined),
    BigInt,
  );

/** An integer from `low` to `high` that may be above 2⁵³, as a bigint. */
export const word = (low: bigint, high: bigint): Schema<bigint> =>
  scalar(
    `an integer from ${low} to ${high}`,
    (plain) => (typeof plain === "bigint" && plain >= low && plain <= high ? plain : undefined),
    (value) => value,
  );

export const float: Schema<number> = scalar(
  "a float",
  (plain) => (plain instanceof Float ? plain.value : undefined),
  (value) => new Float(value),
);

/** True or false. */
export const truth: Schema<boolean> = scalar(
  "true or false",
  (plain) => (typeof plain === "boolean" ? plain : undefined),
  (value) => value,
);

/** A text; `check` throws InvalidValue for one that is refused. */
export const text = (check: (text: string) => void = () => {}): Schema<string> =>
  checked(scalar("text", (plain) => (typeof plain === "string" ? plain : undefined), (value) => value), check);

/** A text that a pattern describes whole. */
export const matching = (pattern: RegExp, what: string): Schema<string> =>
  scalar(what, (plain) => (typeof plain === "string" && pattern.test(plain) ? plain : undefined), (value) => value);

/** One of some texts. */
export const oneOf = <const T extends string>(...texts: readonly T[]): Schema<T> =>
  scalar(
    `one of ${texts.join(", ")}`,
    (plain) => texts.find((each) => each === plain),
    (value) => value,
  );

/** Bytes; `length` says how many. */
export const bytes = (length?: number): Schema<Uint8Array> =>
  scalar(
    length === undefined ? "bytes" : `${length} bytes`,
    (plain) => (plain instanceof Uint8Array && (length === undefined || plain.length === length) ? plain : undefined),
    (value) => value,
  );

/** Present and true, or left out. */
export const flag: Schema<boolean> = {
  ...scalar("true, or no field", (plain) => (plain === true ? true : undefined), (value) => value),
  absent: false,
};

/** Null or a value. */
export const nullable = <T>(inner: Schema<T>): Schema<T | null> => ({
  read: (plain, path) => (plain === null ? null : inner.read(plain, path)),
  write: (value) => (value === null ? null : inner.write(value)),
});

/** An array of `low` to `high` items. */
export const array = <T>(inner: Schema<T>, low = 0, high = Infinity): Schema<readonly T[]> => ({
  read(plain, path) {
    if (!Array.isArray(plain)) throw new MalformedDocument("expected an array", path);
    if (plain.length < low || plain.length > high) {
      throw new MalformedDocument(`expected ${low} to ${high} items, got ${plain.length}`, path);
    }
    return plain.map((item, at) => inner.read(item, `${path}/${at}`));
  },
  write: (value) => value.map((item) => inner.write(item)),
});

/** An array whose schema comes in a chunk, which an empty one does not need. */
export const unlessEmpty = <T>(inner: Schema<readonly T[]>): Schema<readonly T[]> => ({
  read: (plain, path) => (Array.isArray(plain) && !plain.length ? [] : inner.read(plain, path)),
  write: (value) => (value.length ? inner.write(value) : []),
});

/** A map of these fields and no others. */
export function record<F extends Fields>(fields: F): Schema<Values<F>> {
  const names = new Map(Object.keys(fields).map((name) => [wireName(name), name]));
  return {
    read(plain, path) {
      const map = asMap(plain, path);
      for (const key of map.keys()) {
        if (!names.has(key)) throw new MalformedDocument(`unknown field ${JSON.stringify(key)}`, path);
      }
      const found: Record<string, unknown> = {};
      for (const [key, name] of names) found[name] = readField(fields[name]!, map, key, path);
      return found as Values<F>;
    },
    write(value) {
      const map: PlainMap = new Map();
      for (const [key, name] of names) {
        const field = fields[name]!;
        const item = (value as Record<string, unknown>)[name];
        if (field.absent === undefined || item !== field.absent) map.set(key, field.write(item));
      }
      return map;
    },
  };
}

function readField(field: Schema<unknown>, map: PlainMap, key: string, path: string): unknown {
  const plain = map.get(key);
  if (plain !== undefined) return field.read(plain, `${path}/${key}`);
  if (field.absent === undefined) throw new MalformedDocument(`missing field ${JSON.stringify(key)}`, path);
  return field.absent;
}

/** A member of a union, whose field `kind` names it. */
export type Tagged<K extends string, T> = T & { readonly kind: K };

/** One of several maps, told apart by their field `kind`. A new kind is a line in `members`. */
export function union<M extends Record<string, Schema<any>>>(
  members: M,
): Schema<{ [K in keyof M & string]: Tagged<K, Of<M[K]>> }[keyof M & string]> {
  return {
    read(plain, path) {
      const kind = asMap(plain, path).get("kind");
      if (typeof kind !== "string" || !Object.hasOwn(members, kind)) {
        throw new MalformedDocument(`kind must be one of ${Object.keys(members).join(", ")}`, path);
      }
      const rest = new Map(plain as PlainMap);
      rest.delete("kind");
      const value = members[kind]!.read(rest, path) as object;
      return Object.hasOwn(value, "kind") ? value : Object.assign(value, { kind });
    },
    write(value) {
      const tagged = value as { kind: string };
      return new Map([["kind", tagged.kind], ...(members[tagged.kind]!.write(tagged) as PlainMap)]);
    },
  } as Schema<any>;
}

/** What `inner` reads, unless the check throws InvalidValue. */
export function checked<T>(inner: Schema<T>, check: (value: T) => void): Schema<T> {
  return built(inner, (value) => (check(value), value), (value) => value);
}

/** A value made of what `inner` reads; the maker throws InvalidValue for what it refuses. */
export function built<T, B>(inner: Schema<T>, make: (fields: T) => B, unmake: (value: B) => T): Schema<B> {
  return {
    read(plain, path) {
      const fields = inner.read(plain, path);
      try {
        return make(fields);
      } catch (error) {
        if (error instanceof InvalidValue) throw new MalformedDocument(error.message, path);
        throw error;
      }
    },
    write: (value) => inner.write(unmake(value)),
  };
}

function asMap(plain: Plain, path: string): PlainMap {
  if (!(plain instanceof Map)) throw new MalformedDocument("expected a map", path);
  return plain;
}

function wireName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
