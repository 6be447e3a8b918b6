/** What few manifests have: arms of an experiment, texts in other languages, several servers. */

import { checkDistinct } from "../domains/members.ts";
import { InvalidValue } from "../errors.ts";
import { campaignServer } from "./addresses.ts";
import { array, checked, matching, nullable, type Of, record, text, whole } from "./schema.ts";
import type { Manifest } from "./manifest.ts";
import { checkName, purpose } from "./text.ts";

const arm = record({
  name: matching(/^[A-Za-z0-9-]{1,24}$(?![^])/, "the name of an arm"),
  weight: whole(1, 2 ** 16),
});

export const arms = checked(array(arm, 0, 16), (each) => {
  if (!each.length) return;
  if (each.length === 1) throw new InvalidValue("one arm compares nothing");
  checkDistinct(each.map((one) => one.name.toLowerCase()), "names of arms, without regard to case,");
  if (each.reduce((sum, { weight }) => sum + weight, 0) !== 2 ** 16) throw new InvalidValue("the weights of the arms sum to 2^16");
});

/** Throws InvalidValue for a manifest whose terms do not go with its arms. */
export function checkArms({ arms, rounds, assignment, domain: { attributes } }: Manifest): void {
  if (rounds.length > 1 || assignment.kind === "rotating") {
    throw new InvalidValue("arms are compared in one round, and not in a series");
  }
  checkDistinct([...arms, ...attributes].map((each) => each.name), "names of arms and attributes");
}

const ownerText = record({
  language: matching(/^(?=.{2,35}$)[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$(?![^])/, "a BCP 47 tag"),
  purpose,
  contact: nullable(text((each) => checkName(each, "contact"))),
  link: nullable(
    matching(/^(?=.{9,200}$)https:\/\/[A-Za-z0-9[][A-Za-z0-9._~:/?#[\]@!$&'()*+,;=%-]*$(?![^])/, "an https address"),
  ),
});

export const texts = checked(array(ownerText, 0, 40), (each) => {
  const languages = each.map((one) => one.language.toLowerCase());
  if (languages.some((language, at) => at && languages[at - 1]! >= language)) {
    throw new InvalidValue("texts are in ascending order of their languages, each once");
  }
});

export const servers = checked(array(campaignServer, 0, 16), (each) => {
  checkDistinct(each.map((one) => one.name), "names of servers");
  checkDistinct(each.flatMap((one) => one.urls), "addresses of servers");
});
export type OwnerText = Of<typeof ownerText>;

/**
 * The text of the first of the owner's languages that there is one for, by lookup (RFC 4647, section 3.4): of "de-CH" first
 * "de-CH", then "de". Null where there is none.
 */
export function textFor(found: readonly OwnerText[], languages: readonly string[]): OwnerText | null {
  const byLanguage = new Map(found.map((each) => [each.language.toLowerCase(), each]));
  for (const wanted of languages) {
    const subtags = wanted.toLowerCase().split("-");
    while (subtags.length) {
      const text = byLanguage.get(subtags.join("-"));
      if (text) return text;
      // A single letter or digit is no language without what follows it.
      do subtags.pop();
      while (subtags.at(-1)?.length === 1);
    }
  }
  return null;
}
