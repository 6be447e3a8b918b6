/** Whether the owner's cap leaves room for every answer of a series, and what would. */

import { decimal } from "./bytes.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Rotating } from "./documents/series.ts";
import type { Caps } from "./rules/caps.ts";
import { answeringS, mostDrawn } from "./rules/series.ts";
import { quantity } from "./words.ts";

const DAY_S = 86_400;

/** Why the cap of a period refuses some answers of a series; null where it refuses none. */
export function capConflict({ assignment, rounds }: Manifest, { perPeriod, periodDays, periodS }: Caps): string | null {
  const law = assignment as Rotating;
  const { nano } = rounds[0]!.guarantee;
  const room = Math.min(Number(perPeriod / nano), law.answersMax);
  const needed = mostDrawn(law, periodS);
  if (needed <= room) return null;
  const days = quantity(periodDays, "day");
  const longest = room * law.slots * law.periodS - answeringS(law);
  const inTime = longest < DAY_S ? "" : `, nor does ε ${decimal(BigInt(room) * nano)} in ${quantity(Math.floor(longest / DAY_S), "day")}`;
  return (
    `the cap has room for ${quantity(room, "answer")} in ${days}, and this series may draw ${needed}: the others are refused. ` +
    `ε ${decimal(BigInt(needed) * nano)} in ${days} refuses none${inTime}`
  );
}
