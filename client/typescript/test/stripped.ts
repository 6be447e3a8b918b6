/** Writes the sources without their types into a folder, for a page to import: `node test/stripped.ts FOLDER`. */

import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

const folder = process.argv[2]!;
cpSync("src", folder, { recursive: true });
for (const name of globSync("**/*.ts", { cwd: folder })) {
  const path = join(folder, name);
  writeFileSync(path, stripTypeScriptTypes(readFileSync(path, "utf8")));
}
