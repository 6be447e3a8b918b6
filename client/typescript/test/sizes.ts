/**
 * How many bytes a page loads, minified and packed by gzip: `node test/sizes.ts` prints them, with the modules of the first
 * chunk.
 */

import { gzipSync } from "node:zlib";

import type { BuildOptions, Plugin } from "esbuild";

/** What a page imports. */
const PAGE = 'export { Caps, Client } from "./src/index.ts";';
const ALL = 'export { Caps, Client } from "./src/all.ts";';
const FOLDER = new URL("..", import.meta.url).pathname;

/** Code that is loaded by `import()` is another file. */
const apart: Plugin = {
  name: "apart",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined));
  },
};

interface Bundle {
  readonly bytes: number;
  readonly gzip: number;
  /** Bytes of each module, minified. */
  readonly modules: readonly (readonly [string, number])[];
}

async function bundle(contents: string, plugins: Plugin[] = []): Promise<Bundle> {
  const { build } = await import("esbuild");
  const stdin = { contents, resolveDir: FOLDER, loader: "ts" } as const;
  const { outputFiles, metafile } = await build({ ...MINIFIED, stdin, plugins, metafile: true, write: false });
  const content = outputFiles[0]!.contents;
  const modules = Object.entries(Object.values(metafile.outputs)[0]!.inputs).map(
    ([name, { bytesInOutput }]) => [name, bytesInOutput] as const,
  );
  modules.sort(([, first], [, second]) => second - first);
  return { bytes: content.length, gzip: gzipSync(content, { level: 9 }).length, modules };
}

/** As a page's bundler packs it. */
export const MINIFIED = {
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  logLevel: "silent",
} as const satisfies BuildOptions;

/** What a page needs to answer a campaign that it joined before, or to see that nothing is to do. */
export const firstChunk = () => bundle(PAGE, [apart]);
/** Everything in one file. */
export const everything = () => bundle(ALL);

if (import.meta.filename === process.argv[1]) {
  const [first, all] = [await firstChunk(), await everything()];
  for (const [name, bytes] of first.modules) console.log(String(bytes).padStart(8), name);
  console.log(`first chunk: ${first.gzip} bytes of gzip, ${first.bytes} without`);
  console.log(`everything: ${all.gzip} bytes of gzip, ${all.bytes} without`);
}
