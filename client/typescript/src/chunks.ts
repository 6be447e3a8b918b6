/**
 * Code that comes when a campaign needs it. A page loads a chunk by `import()`; `./all` and tests have all of them at once.
 *
 * Readers are synchronous: one that meets a kind whose code is not there throws `CodeMissing`, and `withCode` loads it and
 * reads again. So nothing is spent before all of the code is there.
 */

import type { Schema } from "./documents/schema.ts";
import { PlanUnavailable } from "./errors.ts";

/** What is in each chunk. A new chunk is a line here, in index.ts and in all.ts. */
export interface Modules {
  account: typeof import("./account.ts");
  attributes: typeof import("./chunks/attributes.ts");
  claims: typeof import("./chunks/claims.ts");
  coarsened: typeof import("./randomizers/coarsened/coarsened.ts");
  composed: typeof import("./chunks/composed.ts");
  directions: typeof import("./randomizers/directions/directions.ts");
  extras: typeof import("./chunks/extras.ts");
  finding: typeof import("./finding.ts");
  joining: typeof import("./joining.ts");
  kernel: typeof import("./randomizers/kernel.ts");
  orbit: typeof import("./randomizers/orbit.ts");
  preview: typeof import("./preview.ts");
  sending: typeof import("./sending.ts");
  series: typeof import("./chunks/series.ts");
  shuffled: typeof import("./chunks/shuffled.ts");
  strings: typeof import("./domains/strings.ts");
  subsets: typeof import("./randomizers/subsets.ts");
  tokens: typeof import("./chunks/tokens.ts");
  trust: typeof import("./chunks/trust.ts");
}
type Name = keyof Modules;

const loaded: Partial<Modules> = {};
let loaders: { readonly [name in Name]: () => Promise<Modules[name]> } | null = null;

/** Thrown by a reader that needs a chunk; `withCode` catches it. */
class CodeMissing extends Error {
  readonly chunk: Name;

  constructor(chunk: Name) {
    super(`the code of "${chunk}" is not loaded yet; sordino-client/all has all of it`);
    this.chunk = chunk;
  }
}

/** Says how each chunk is loaded. */
export function provide(given: NonNullable<typeof loaders>): void {
  loaders = given;
}

/** Gives every chunk at once. */
export function provideAll(modules: Modules): void {
  Object.assign(loaded, modules);
}

/** The chunk, loaded where it is not there yet; throws PlanUnavailable where it cannot be. */
export async function load<N extends Name>(name: N): Promise<Modules[N]> {
  try {
    return (loaded[name] ??= await loaders![name]());
  } catch (error) {
    throw new PlanUnavailable(`code of "${name}"`, (error as Error).message);
  }
}

/** The chunk, which has to be there. */
export function code<N extends Name>(name: N): Modules[N] {
  const found = loaded[name];
  if (!found) throw new CodeMissing(name);
  return found as Modules[N];
}

/** What `work` returns once the code that it needs is there: it runs again after each chunk. */
export async function withCode<T>(work: () => T): Promise<T> {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof CodeMissing)) throw error;
      await load(error.chunk);
    }
  }
}

/** A schema of a chunk. */
export function later<N extends Name, T>(name: N, pick: (module: Modules[N]) => Schema<T>): Schema<T> {
  return {
    read: (plain, path) => pick(code(name)).read(plain, path),
    write: (value) => pick(code(name)).write(value),
  };
}
