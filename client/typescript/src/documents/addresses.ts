/** Names and addresses of servers, each in its one spelling. */

import { InvalidValue } from "../errors.ts";
import { checkDistinct } from "../domains/members.ts";
import { array, bytes, checked, matching, record, text } from "./schema.ts";

const URL_PATTERN =
  /^(https?):\/\/(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::([1-9][0-9]{0,4}))?(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~-]+)*$/;
const DEFAULT_PORTS: Record<string, number> = { http: 80, https: 443 };

/** 1 to 24 lower-case letters, digits and hyphens, the first of them no hyphen. */
const source = matching(/^[a-z0-9][a-z0-9-]{0,23}$/, "the name of a source");

const url = text((each) => {
  const found = each.length >= 8 && each.length <= 200 && !each.includes("\n") ? URL_PATTERN.exec(each) : null;
  const port = Number(found?.[2] ?? 0);
  if (!found || port > 65_535 || port === DEFAULT_PORTS[found[1]!]) {
    throw new InvalidValue("the address of a server must look like https://eu.telemetry.example");
  }
});

const urls = checked(array(url, 1, 4), (each) => checkDistinct(each, "addresses of a server"));

/** One of a campaign's servers. */
export const campaignServer = record({ name: source, urls });
/** Who mixes reports; `key` is an Ed25519 key. */
export const shuffler = record({ name: source, urls, key: bytes(32) });
