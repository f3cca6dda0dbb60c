/** Files, listeners and requests of the process beside the connections. */
export const spare = 64;

/** What the limit of open files would have to be for so many connections; undefined: it is enough, or nobody knows. */
export function descriptorsMissing(
  connections: number,
  has: number | undefined,
): { has: number; needs: number } | undefined {
  const needs = connections + spare;
  return has === undefined || has >= needs ? undefined : { has, needs };
}
