/** What node has besides: `import { FileLedger } from "sordino-client/node"`. */

export { FileLedger } from "./ledgers/file.ts";
