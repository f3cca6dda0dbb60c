// Sizes and steps of laws.
import fc from "fast-check";

/**
 * Scales the runs of a law. Each run draws new values, so that a third of them in `npm test` checks
 * as much over time. `npm run test:long` does all of them, for example before a release.
 *
 * @param all - Runs of the long suite.
 */
export const runs = (all: number): number =>
  process.env["LAWS"] === "all" ? all : Math.ceil(all / 3);

/** True in .ci/run, which sets `LONG=brief`: it has no time for the complete long suite. */
export const isBrief = process.env["LONG"] === "brief";

/**
 * Scales the rounds of a test of the long suite. `LONG=brief`, which .ci/run sets, does a tenth.
 *
 * @param all - Rounds of the complete suite.
 */
export const rounds = (all: number): number => (isBrief ? Math.max(2, Math.ceil(all / 10)) : all);

/** Draws the steps of a law. */
export const weighted = <K extends string>(weights: Readonly<Record<K, number>>): fc.Arbitrary<K> =>
  fc.oneof(
    ...(Object.entries(weights) as [K, number][]).map(([step, weight]) => ({
      weight,
      arbitrary: fc.constant(step),
    })),
  );
