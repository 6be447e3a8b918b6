/** What an app pins, read when a client opens. */

import type { Device } from "./device.ts";
import { WrongArgument } from "./errors.ts";
import { PublicLog } from "./log/public_log.ts";
import { checkKeys } from "./signatures.ts";

/** Throws WrongArgument. */
export function readPinned(device: Device): void {
  const { manifestKeys = [], log } = device.options;
  if (log === undefined) {
    const { witnesses, quorum } = device.options;
    if (witnesses?.length || quorum !== undefined) {
      throw new WrongArgument("witnesses and quorum belong to a log: give log, its verifier key, too");
    }
  }
  checkKeys(manifestKeys);
  if (log !== undefined) device.log = new PublicLog(device);
}
