/** Files, listeners and requests of the process beside the connections. */
export const reservedDescriptors = 64;

/** What the limit of open files would have to be for so many connections; undefined: it is enough, or nobody knows. */
export function missingDescriptors(
  connections: number,
  has: number | undefined,
): { has: number; needs: number } | undefined {
  const needs = connections + reservedDescriptors;
  return has === undefined || has >= needs ? undefined : { has, needs };
}
