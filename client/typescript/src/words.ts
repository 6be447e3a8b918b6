/** Numbers in words, for people. */

const UNITS = [[604_800, "week"], [86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]] as const;

/** 1 answer, 12,000 answers. */
export function quantity(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** In the largest unit up to days of which it is a whole number: 30 days, 36 hours. */
export function duration(seconds: number): string {
  const [size, unit] = UNITS.find(([each]) => each <= 86_400 && seconds % each === 0)!;
  return quantity(seconds / size, unit);
}

/** The name of a unit of exactly so many seconds, from a minute on. */
export function unitOf(seconds: number): string | undefined {
  return UNITS.find(([each]) => each === seconds && seconds > 60)?.[1];
}
