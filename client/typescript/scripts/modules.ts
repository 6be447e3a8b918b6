/**
 * Writes the SDK as JavaScript modules that a page imports as they are: `node scripts/modules.ts FOLDER`.
 *
 * It takes node alone: types become blanks, so that lines and columns stay those of the sources. Nothing is bundled, and
 * `FOLDER/index.js` loads each chunk when a campaign needs it. FOLDER is replaced. With `--node` it has the modules of node, too.
 */

import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";

const SOURCES = new URL("../src/", import.meta.url).pathname;
/** What only node loads. */
const NOT_FOR_PAGES = new Set(["node.ts", "ledger_contract.ts", join("ledgers", "file.ts")]);
/** The name of another module, behind `from` or in `import()`. */
const SPECIFIER = /(\bfrom |\bimport\(|\bimport )"(\.[^"]*)\.ts"/g;

/** The names of the modules that a page or a program may import, below the folder of the sources. */
function names(): string[] {
  return globSync("**/*.ts", { cwd: SOURCES }).filter((name) => isForNode || !NOT_FOR_PAGES.has(name)).sort();
}

const [folder, option] = process.argv.slice(2);
const isForNode = option === "--node";
if (!folder) {
  console.error("name the folder to write: node scripts/modules.ts FOLDER");
  process.exit(2);
}
rmSync(folder, { recursive: true, force: true });
for (const name of names()) {
  const path = join(folder, name.replace(/\.ts$/, ".js"));
  mkdirSync(dirname(path), { recursive: true });
  const stripped = stripTypeScriptTypes(readFileSync(join(SOURCES, name), "utf8"));
  writeFileSync(path, stripped.replace(SPECIFIER, '$1"$2.js"').replace(/[ \t]+$/gm, ""));
}
