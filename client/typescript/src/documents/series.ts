/** The terms of a series: one question that comes back every period. */

import { InvalidValue } from "../errors.ts";
import { digest } from "./document.ts";
import { checked, MAX_TIME, nullable, oneOf, type Of, record, whole } from "./schema.ts";

export const rotating = checked(
  record({
    start: whole(0, MAX_TIME),
    periodS: whole(1, 2 ** 31),
    slots: whole(1, 4096),
    answersMax: whole(1, 10 ** 6),
    valueOf: oneOf("current", "previous"),
    lateS: whole(0, MAX_TIME),
    replaces: nullable(digest),
  }),
  ({ slots, lateS, periodS }) => {
    if (slots > 1 && lateS >= (slots - 1) * periodS) {
      throw new InvalidValue("late_s must be below the seconds between two periods of a device");
    }
  },
);
export type Rotating = Of<typeof rotating>;
