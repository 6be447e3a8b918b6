/** A series: its terms, and the answers of its periods. */

export { rotating } from "../documents/series.ts";
export { successorFault, takeOver } from "../rules/successors.ts";
export { capConflict } from "../cap_conflict.ts";
export { answerPeriod, due, firstState, nextDue } from "../periods.ts";
